"""Requests drawn from the OpenAPI document, right and wrong ones, are answered as it says."""

import io

import pytest
from hypothesis import HealthCheck, Phase, settings

from service.app import create_app
from service.observability.logs import create_logger
from service.settings import Settings
from tests.contract.scripted_backend import scripted_backend

schemathesis = pytest.importorskip("schemathesis")

app = create_app(Settings(), create_logger(io.StringIO(), "info", "json"), lambda settings, sink: scripted_backend())
app.state.services.lifecycle.load(scripted_backend())
schema = schemathesis.openapi.from_asgi("/openapi.json", app)


@schema.parametrize()
@settings(
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_drawn_requests_are_answered_as_documented(case):
    # What the document allows may still be refused: options contradict each other, and some limits are settings.
    case.call_and_validate(excluded_checks=[schemathesis.checks.positive_data_acceptance])
