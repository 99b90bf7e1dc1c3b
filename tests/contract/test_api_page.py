"""docs/api.md says what the service does."""

import json
import re
from pathlib import Path

import pytest

from service import errors
from service.api.problems import status_of
from service.api.schemas import INCLUDES, DecodingBody, ErrorAnswer, LanguageAnswer, TranslateBody

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


@pytest.mark.parametrize("request_body", [example for example in EXAMPLES if "q" in example], ids=str)
def test_its_requests_are_taken(client, request_body):
    assert client.post("/translate", json=request_body).status_code == 200


def test_its_answers_have_the_shapes_of_the_service():
    for example in EXAMPLES:
        if isinstance(example, list):
            assert LanguageAnswer.model_validate(example[0]).model_dump() == example[0]
        elif "error" in example:
            assert ErrorAnswer.model_validate(example).model_dump() == example


def test_it_lists_every_route(client):
    paths = {*client.get("/openapi.json").json()["paths"], "/openapi.json", "/docs"}
    assert set(re.findall(r"`(?:GET|POST) (/\w[\w.]*)`", PAGE)) == paths


def test_it_explains_every_field_option_and_part():
    explained = set(re.findall(r"`(\w+)`", "".join(line.split(" | ")[0] for line in PAGE.splitlines() if "|" in line)))
    assert {*TranslateBody.model_fields, *DecodingBody.model_fields, *INCLUDES} <= explained


def test_its_codes_have_the_statuses_of_the_service():
    rows = re.findall(r"^\| (\d{3}(?:, \d{3})*) \| (`[^|]+`) \|", PAGE, re.MULTILINE)
    listed = {
        (code.strip("` "), status)
        for statuses, codes in rows
        for code in codes.split(",")
        for status in map(int, statuses.split(", "))
    }
    public = (errors.CallerError, errors.MomentError, errors.EngineError)
    kinds = [kind for branch in public for kind in (*branch.__subclasses__(), branch) if not kind.__subclasses__()]
    for kind in kinds:
        error = kind("x", 1.0) if kind is errors.QueueFullError else kind("x")
        if kind is not errors.RequestCancelledError:
            assert (kind.code, status_of(error)) in listed, kind
