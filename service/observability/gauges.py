"""Gauges that are read from the loaded models at scrape time, so that they can never drift from the truth."""

from collections.abc import Iterator
from typing import Protocol

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from service.translation.registry import ModelInfo, QueueGauges


class GaugeSource(Protocol):
    """The part of the registry of models that gauges are read from."""

    def models(self) -> tuple[ModelInfo, ...]: ...

    def ready(self) -> bool: ...

    def load_gauges(self) -> QueueGauges: ...


class Loaded(Protocol):
    """Gives the registry of models once they are loaded, and None before."""

    def __call__(self) -> GaugeSource | None: ...


class QueueCollector(Collector):
    """Gives queue lengths, running work and facts about each loaded model; zero and nothing before loading."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    def collect(self) -> Iterator[Metric]:
        """Reads all gauges once."""
        source = self._loaded()
        load = QueueGauges(0, 0, 0, 0) if source is None else source.load_gauges()
        yield GaugeMetricFamily("verso_waiting_sequences", "Segments waiting for a place.", load.waiting_sequences)
        yield GaugeMetricFamily("verso_waiting_tokens", "Source tokens waiting for a place.", load.waiting_tokens)
        yield GaugeMetricFamily("verso_running_sequences", "Segments being decoded.", load.running_sequences)
        yield GaugeMetricFamily("verso_running_rows", "Rows being decoded.", load.running_rows)
        ready = source is not None and source.ready()
        yield GaugeMetricFamily("verso_ready", "1 when every model has shown that it translates.", float(ready))
        yield _model_info(() if source is None else source.models())

    def describe(self) -> Iterator[Metric]:
        """Names the metrics without reading them, so that registering needs no models."""
        return iter(())


def _model_info(models: tuple[ModelInfo, ...]) -> Metric:
    family = GaugeMetricFamily(
        "verso_model_info", "Loaded models, each 1.", labels=["model", "revision", "precision", "provider", "threads"]
    )
    for model in models:
        values = [model.name, model.revision, model.precision, model.provider, str(model.num_threads)]
        family.add_metric(values, 1)
    return family
