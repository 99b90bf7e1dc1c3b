"""Alerts watch metrics that the service really has, and fire when they should."""

import re
import shutil
import subprocess

import pytest

NAME = re.compile(r"\bverso_[a-z_]+\b")
# Prometheus makes these series of one histogram.
SUFFIX = re.compile(r"_(?:bucket|sum|count)$")
PROMTOOL = shutil.which("promtool")


def unknown_metrics(rules: str, code: str) -> list[str]:
    """Metric names in alert rules that no string in the code defines."""
    defined = set(re.findall(r"\"(verso_[a-z_]+)\"", code))
    return sorted({name for name in NAME.findall(rules) if name not in defined and SUFFIX.sub("", name) not in defined})


def test_every_metric_in_the_alerts_exists(root, texts):
    code = "".join(text for path, text in texts.items() if path.startswith("service/observability/"))
    rules = (root / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8")
    assert NAME.search(rules)
    assert unknown_metrics(rules, code) == []


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
@pytest.mark.parametrize(
    "command",
    [["check", "config", "prometheus.yml"], ["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]],
)
def test_prometheus_accepts_its_files(root, command):
    done = subprocess.run(
        [PROMTOOL, *command], cwd=root / "deploy/prometheus", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rule_sees_an_unknown_metric():
    code = 'Counter("verso_steps_total", "") Histogram("verso_queue_seconds", "")'
    rules = "expr: rate(verso_steps_total[5m]) > verso_gone and verso_queue_seconds_bucket"
    assert unknown_metrics(rules, code) == ["verso_gone"]
