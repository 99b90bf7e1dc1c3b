"""Metrics that the decode threads feed: encoder runs, decoder steps and finished sequences."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from service.scheduler.stats import EncodeStats, SharedKind, StepStats
from service.search.hypothesis import StopReason

STAGES = ("preparation", "queue", "encode", "decode", "completion")
OTHER_REASON = "other"
_STAGE_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class StepMetrics:
    """A StatsSink that counts; every label child exists beforehand, so calls are quick and never raise."""

    def __init__(self, registry: CollectorRegistry) -> None:
        stages = Histogram(
            "verso_stage_duration_seconds",
            "Time in a stage: preparation and completion per request, queue, encode and decode per segment.",
            ["stage"],
            buckets=_STAGE_BUCKETS,
            registry=registry,
        )
        self._stages = {stage: stages.labels(stage) for stage in STAGES}
        sequences = Counter("verso_sequences_total", "Segments that ended, by reason.", ["reason"], registry=registry)
        reasons = [*(reason.value for reason in StopReason), OTHER_REASON]
        self._sequences = {reason: sequences.labels(reason) for reason in reasons}
        shared = Counter(
            "verso_shared_sequences_total",
            "Segments that took the result of an identical one, kept from before or still open, and were not decoded.",
            ["kind"],
            registry=registry,
        )
        self._shared: dict[SharedKind, Counter] = {"kept": shared.labels("kept"), "open": shared.labels("open")}
        self._define_encoder(registry)
        self._define_decoder(registry)

    def encoded(self, stats: EncodeStats) -> None:
        """Counts what was encoded between two steps."""
        self._encode_sources.observe(stats.num_sources)
        self._encode_tokens.inc(stats.num_tokens)
        self._encode_seconds.inc(stats.seconds)

    def shared(self, kind: SharedKind) -> None:
        """Counts a sequence that was not decoded."""
        self._shared[kind].inc()

    def stepped(self, stats: StepStats) -> None:
        """Counts one decoder step."""
        self._steps.inc()
        self._step_rows.observe(stats.num_rows)
        self._step_sources.observe(stats.num_sources)
        self._engine_seconds.inc(stats.engine_seconds)
        self._step_seconds.inc(stats.total_seconds)

    def finished(self, reason: str, queue_seconds: float, encode_seconds: float, decode_seconds: float) -> None:
        """Counts a sequence that ended; a reason of no StopReason counts as `other`."""
        self._sequences[reason if reason in self._sequences else OTHER_REASON].inc()
        self.stage("queue", queue_seconds)
        self.stage("encode", encode_seconds)
        self.stage("decode", decode_seconds)

    def restarted(self) -> None:
        """Counts a decode process that ended by itself and was started again."""
        self._restarts.inc()

    def stage(self, stage: str, seconds: float) -> None:
        """Adds a duration to one of STAGES."""
        self._stages[stage].observe(seconds)

    def _define_encoder(self, registry: CollectorRegistry) -> None:
        self._encode_sources = Histogram(
            "verso_encode_sources", "Sources encoded between two steps.", buckets=_SIZE_BUCKETS, registry=registry
        )
        self._encode_tokens = Counter("verso_encode_tokens_total", "Tokens given to the encoder.", registry=registry)
        self._encode_seconds = Counter(
            "verso_encode_engine_seconds_total", "Time of encoder runs in ONNX Runtime.", registry=registry
        )

    def _define_decoder(self, registry: CollectorRegistry) -> None:
        self._steps = Counter("verso_decode_steps_total", "Decoder steps.", registry=registry)
        self._restarts = Counter(
            "verso_decode_restarts_total", "Decode processes that ended by themselves.", registry=registry
        )
        self._step_rows = Histogram(
            "verso_step_rows", "Rows in one decoder step.", buckets=_SIZE_BUCKETS, registry=registry
        )
        self._step_sources = Histogram(
            "verso_step_sources", "Sources in one decoder step.", buckets=_SIZE_BUCKETS, registry=registry
        )
        self._engine_seconds = Counter(
            "verso_decode_engine_seconds_total", "Time of decoder steps in ONNX Runtime.", registry=registry
        )
        self._step_seconds = Counter(
            "verso_decode_step_seconds_total", "Time of decoder steps, with all work around them.", registry=registry
        )
