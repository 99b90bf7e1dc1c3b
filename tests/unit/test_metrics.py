"""Metrics of steps and pairs, without an app."""

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from service.observability.metrics import MAX_PAIRS, Metrics
from service.observability.step_metrics import StepMetrics
from service.scheduler.stats import EncodeStats, StatsSink, StepStats
from service.search.hypothesis import StopReason
from service.translation.registry import LanguagePairInfo, ModelInfo, QueueGauges


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def steps(registry):
    return StepMetrics(registry)


def test_step_metrics_are_a_sink_of_the_decode_thread(steps):
    sink: StatsSink = steps
    assert sink is steps


def test_steps_and_encoder_runs_add_up(registry, steps):
    steps.encoded(EncodeStats(num_sources=3, num_tokens=20, seconds=0.5))
    steps.stepped(StepStats(num_rows=8, num_sources=2, engine_seconds=0.25, total_seconds=0.3))
    steps.stepped(StepStats(num_rows=4, num_sources=1, engine_seconds=0.25, total_seconds=0.3))
    value = registry.get_sample_value
    assert value("verso_encode_tokens_total") == 20
    assert value("verso_encode_sources_sum") == 3
    assert value("verso_decode_steps_total") == 2
    assert value("verso_step_rows_sum") == 12
    assert value("verso_step_sources_bucket", {"le": "1.0"}) == 1
    assert value("verso_decode_engine_seconds_total") == 0.5
    assert value("verso_decode_step_seconds_total") == 0.6


def test_sequences_are_counted_by_reason_and_stage(registry, steps):
    for reason in (*StopReason, "something new"):
        steps.finished(str(reason), 0.1, 0.2, 0.3)
    for reason in (*StopReason, "other"):
        assert registry.get_sample_value("verso_sequences_total", {"reason": str(reason)}) == 1
    assert registry.get_sample_value("verso_stage_duration_seconds_sum", {"stage": "decode"}) == pytest.approx(
        0.3 * (len(StopReason) + 1)
    )


class Models:
    def models(self):
        return (ModelInfo('a"b\n', "int8", "cpu", 1, "r"),)

    def ready(self):
        return True

    def load_gauges(self):
        return QueueGauges(1, 2, 3, 4)


def series(metrics):
    text = metrics.expose("")[0].decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_before_models_are_loaded_gauges_are_zero():
    found = series(Metrics([], lambda: None))
    assert found["verso_ready", frozenset()] == 0
    assert found["verso_waiting_tokens", frozenset()] == 0
    assert not [name for name, _ in found if name == "verso_model_info"]


def test_model_names_are_escaped():
    found = series(Metrics([], Models))
    (labels,) = [dict(labels) for name, labels in found if name == "verso_model_info"]
    assert labels["model"] == 'a"b\n'


def test_pairs_beyond_the_bound_share_one_label():
    metrics = Metrics([], lambda: None)
    metrics.models_loaded(LanguagePairInfo("en", f"x{n:03}", "m") for n in range(MAX_PAIRS + 50))
    assert metrics.pair_label("en", "x000") == "en-x000"
    assert metrics.pair_label("en", f"x{MAX_PAIRS:03}") == "other"
    assert metrics.pair_label(None, None) == "other"
    pairs = {dict(labels).get("pair") for _, labels in series(metrics)} - {None}
    assert len(pairs) == MAX_PAIRS + 1


def test_versions_are_shown():
    (labels,) = [dict(labels) for name, labels in series(Metrics([], lambda: None)) if name == "verso_build_info"]
    assert labels["version"]
    assert labels["onnxruntime"] != "unknown"


def test_two_apps_in_one_process_do_not_share_numbers():
    first, second = Metrics([("/x", "GET")], lambda: None), Metrics([("/x", "GET")], lambda: None)
    first.observe_request("/x", "GET", 200, 0.1)
    key = "verso_http_requests_total", frozenset({"route": "/x", "method": "GET", "code": "200"}.items())
    assert (series(first)[key], series(second)[key]) == (1, 0)
