"""Metrics of requests and translations, in a registry of the app instance.

Labels come from closed sets only (route templates, loaded pairs, fixed reasons), and their children exist from the
start, so that rates begin at zero and no caller can create a series. Numbers of the decode threads come through
`step_metrics`, queue gauges through `gauges`.
"""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Generic, TypeVar, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import choose_encoder

from service import VERSION
from service.observability.gauges import Loaded, QueueCollector
from service.observability.step_metrics import StepMetrics
from service.translation.registry import LanguagePairInfo
from service.translation.translation import PlaceholderWay, RetryReason, TranslationResult

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "other")
UNMATCHED = "unmatched"
OTHER_PAIR = "other"
MAX_PAIRS = 64
OUTCOMES = (
    "ok",
    "invalid",
    "too_large",
    "unsupported_pair",
    "overloaded",
    "deadline",
    "cancelled",
    "draining",
    "not_ready",
    "error",
)
REJECTIONS = ("queue_full", "not_ready", "draining", "too_large", "slow_body")
_HTTP_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_STATUSES = ("200", "400", "404", "408", "413", "415", "422", "429", "499", "500", "503", "504")

M = TypeVar("M", Counter, Histogram)


class _Children(Generic[M]):
    """The children of a metric by their labels, looked up once; the library takes longer for it than for counting."""

    def __init__(self, metric: M) -> None:
        self._metric: M = metric
        self._children: dict[tuple[str, ...], M] = {}

    def __call__(self, *labels: str) -> M:
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = self._metric.labels(*labels)
        return child


class Metrics:
    """All metrics of one app instance; safe to call from any thread."""

    def __init__(self, routes: Iterable[tuple[str, str]], models: Loaded) -> None:
        # Creation times double the series of every counter and histogram; nothing here reads them.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves this function untyped
        self._registry = CollectorRegistry()
        self._routes = frozenset(routes)
        self._pairs: frozenset[str] = frozenset()
        self.steps = StepMetrics(self._registry)
        self._define_requests()
        self._define_translations()
        self._create_children()
        self._registry.register(QueueCollector(models))
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        build = Gauge("verso_build_info", "Versions in use.", ["version", "onnxruntime"], registry=self._registry)
        build.labels(VERSION, _onnxruntime_version()).set(1)

    def models_loaded(self, pairs: Iterable[LanguagePairInfo]) -> None:
        """Creates the series of the loaded pairs; pairs after the first MAX_PAIRS share the label `other`."""
        labels = sorted({f"{pair.source}-{pair.target}" for pair in pairs})[:MAX_PAIRS]
        self._pairs = frozenset(labels)
        for label in labels:
            self._create_pair(label)

    def observe_request(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """Counts an HTTP request; a route or method that is not served goes to the catch-all labels."""
        method = method if method in METHODS else "other"
        served = route is not None and (route, method) in self._routes
        name = route if route is not None and served else UNMATCHED
        self._requests(name, method, str(status)).inc()
        self._request_seconds(name).observe(seconds)

    def observe_outcome(self, source: str | None, target: str | None, outcome: str) -> None:
        """Counts a translation request by how it ended; a pair that is not loaded counts as `other`."""
        self._translations(self.pair_label(source, target), outcome).inc()

    def observe_result(self, result: TranslationResult) -> None:
        """Counts the tokens and the event-loop side stages of a finished request."""
        pair = self.pair_label(result.source, result.target)
        self._source_tokens(pair).inc(result.num_source_tokens)
        self._target_tokens(pair).inc(result.num_target_tokens)
        self._length_stops(pair).inc(result.num_length_stops)
        for way, count in result.placeholders.items():
            self._placeholder_segments(pair, way).inc(count)
        for reason, count in result.retries.items():
            self._retries(pair, reason).inc(count)
        self.steps.stage("preparation", result.timings.preparation_seconds)
        self.steps.stage("completion", result.timings.completion_seconds)

    def pair_label(self, source: str | None, target: str | None) -> str:
        """Gives the label of a pair, whatever a caller wrote: a loaded pair's own, or `other`."""
        label = f"{source}-{target}"
        return label if label in self._pairs else OTHER_PAIR

    def observe_rejection(self, reason: str) -> None:
        """Counts a request that was turned away before it became work."""
        self._rejections(reason).inc()

    def expose(self, accept: str) -> tuple[bytes, str]:
        """Writes all metrics in the text format that the Accept header prefers; gives body and content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def _define_requests(self) -> None:
        requests = Counter(
            "verso_http_requests_total", "HTTP requests.", ["route", "method", "code"], registry=self._registry
        )
        seconds = Histogram(
            "verso_http_request_duration_seconds",
            "Time from the request's head to the end of its answer.",
            ["route"],
            buckets=_HTTP_BUCKETS,
            registry=self._registry,
        )
        rejections = Counter(
            "verso_rejections_total", "Requests turned away before any work.", ["reason"], registry=self._registry
        )
        self._requests, self._rejections = _Children(requests), _Children(rejections)
        self._request_seconds = _Children(seconds)

    def _define_translations(self) -> None:
        def by_pair(name: str, text: str, *labels: str) -> _Children[Counter]:
            return _Children(Counter(name, text, ["pair", *labels], registry=self._registry))

        self._translations = by_pair("verso_translations_total", "Translation requests by outcome.", "outcome")
        self._source_tokens = by_pair("verso_source_tokens_total", "Source tokens of finished requests.")
        self._target_tokens = by_pair("verso_target_tokens_total", "Target tokens of finished requests.")
        self._length_stops = by_pair("verso_length_stops_total", "Segments that ended at their length limit.")
        self._placeholder_segments = by_pair(
            "verso_placeholder_segments_total", "Segments with placeholders, by how these came back.", "way"
        )
        self._retries = by_pair("verso_retries_total", "Segments the model was asked about again, by why.", "reason")

    def _create_children(self) -> None:
        for route, method in self._routes:
            self._request_seconds(route)
            for status in _STATUSES if method == "POST" else ("200", "500", "503"):
                self._requests(route, method, status)
        self._request_seconds(UNMATCHED)
        for method in METHODS:
            for status in ("404", "405", "500"):
                self._requests(UNMATCHED, method, status)
        for reason in REJECTIONS:
            self._rejections(reason)
        self._create_pair(OTHER_PAIR)

    def _create_pair(self, label: str) -> None:
        for outcome in OUTCOMES:
            self._translations(label, outcome)
        for counter in (self._source_tokens, self._target_tokens, self._length_stops):
            counter(label)
        for way in get_args(PlaceholderWay):
            self._placeholder_segments(label, way)
        for reason in get_args(RetryReason):
            self._retries(label, reason)


def _onnxruntime_version() -> str:
    for distribution in ("onnxruntime", "onnxruntime-gpu"):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return "unknown"
