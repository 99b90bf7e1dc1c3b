"""Status codes: every expected failure has one, and its words stay within bounds."""

import json

import pytest
from pydantic import BaseModel, ValidationError

from service import errors
from service.api.field_problems import MAX_PROBLEMS, field_problems
from service.api.problems import STATUSES, problem_response, status_of
from service.api.routes.translate import _OUTCOMES
from service.api.schemas import DecodingBody
from service.observability.metrics import OUTCOMES
from service.search.options import DecodingOptions, PartialOptions


def all_errors(kind=errors.VersoError):
    return {kind, *(found for child in kind.__subclasses__() for found in all_errors(child))}


def of(kind):
    return kind("message", 1.0) if kind is errors.QueueFullError else kind("message")


def test_who_can_fix_a_failure_decides_its_hundred():
    for kind in all_errors():
        status = status_of(of(kind))
        if issubclass(kind, errors.OperatorError):
            assert status == 500, kind
        elif issubclass(kind, errors.CallerError):
            assert 400 <= status < 500, kind
    assert set(STATUSES) <= all_errors()


def test_a_new_kind_of_failure_takes_the_status_of_its_branch():
    class NewCallerError(errors.CallerError):
        pass

    class NewMomentError(errors.MomentError):
        pass

    assert status_of(NewCallerError("x")) == 422
    assert status_of(NewMomentError("x")) == 503


@pytest.mark.parametrize("kind", sorted(all_errors(), key=lambda kind: kind.__name__))
def test_every_failure_can_be_answered(kind):
    error = json.loads(problem_response(of(kind), "id").body)["error"]
    assert error["code"] == kind.code
    assert error["retryable"] == kind.retryable
    assert error["request_id"] == "id"


def test_what_an_operator_must_fix_is_not_shown_to_callers():
    body = problem_response(errors.PackageInvalidError("/srv/models is broken", ["/srv/x"]), "id").body
    assert b"srv" not in body


def test_every_outcome_that_a_request_can_have_is_a_known_label():
    assert {"ok", *_OUTCOMES.values()} == set(OUTCOMES)


class Inner(BaseModel, extra="forbid"):
    size: int


class Outer(BaseModel, extra="forbid"):
    inner: Inner
    many: list[int] = []


def problems_of(value):
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(value)
    return field_problems(caught.value, Outer)


def test_a_problem_is_named_by_its_path_in_the_schema():
    assert problems_of({"inner": {"size": "x"}, "many": [1, "x"]}) == [
        "inner.size: Input should be a valid integer, unable to parse string as an integer",
        "many[1]: Input should be a valid integer, unable to parse string as an integer",
    ]


def test_names_that_the_schema_does_not_know_are_not_repeated():
    assert problems_of({"inner": {"size": 1, "secret": 2}, "other": 3}) == [
        "inner: has an unknown field; known are size",
        "body: has an unknown field; known are inner, many",
    ]


def test_long_lists_of_problems_are_cut():
    problems = problems_of({"inner": {"size": 1}, "many": ["x"] * 1000})
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == "body: has more problems than are listed"


def test_the_documented_bounds_of_options_are_the_real_ones():
    """Each bound is taken, and the next number is refused by the rules of the search too."""
    assert set(DecodingBody.model_fields) == set(PartialOptions.__slots__)
    enough = {"beam_size": 16, "max_new_tokens": 100_000}
    for name, field in DecodingBody.model_fields.items():
        for rule in field.metadata:
            low, high = getattr(rule, "ge", None), getattr(rule, "le", None)
            if low is None and high is None:
                continue
            bound, step = (low, -1) if high is None else (high, 1)
            DecodingOptions(**(enough | {name: bound}))
            with pytest.raises(errors.InvalidOptionError):
                DecodingOptions(**(enough | {name: bound + step}))
