"""The API describes itself, offline, and the description in the repository is the one that is served."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from service.api.reference_page import render_reference

SNAPSHOT = Path(__file__).parents[2] / "docs" / "openapi.json"


def test_the_openapi_document_in_the_repository_is_the_one_served(client):
    served = json.dumps(client.get("/openapi.json").json(), indent=2, ensure_ascii=False) + "\n"
    assert SNAPSHOT.read_text(encoding="utf-8") == served, "write it anew: python -m tests.contract.write_openapi"


def test_every_reference_in_the_document_leads_somewhere(client):
    document = client.get("/openapi.json").json()
    names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert names <= set(document["components"]["schemas"])
    assert {"TranslateBody", "TranslateAnswer", "ErrorAnswer"} <= names


def test_the_examples_of_the_document_are_valid_requests(client):
    document = client.get("/openapi.json").json()
    for example in document["components"]["schemas"]["TranslateBody"]["examples"]:
        assert client.post("/translate", json=example).status_code == 200


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.ids = set(), [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        self.ids |= {value for name, value in attrs if name == "id"}


def test_the_reference_page_needs_no_script_and_no_other_host(client):
    answer = client.get("/docs")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    page = Links()
    page.feed(answer.text)
    assert not page.tags & {"script", "link", "img", "iframe", "object"}
    assert "//" not in answer.text.replace("<!doctype", "")
    assert {link for link in page.links if not link.startswith("#")} == {"openapi.json"}
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids


def test_everything_on_the_reference_page_is_escaped():
    evil = '<script>alert("x")</script>`'
    schema = {"description": evil, "properties": {evil: {"type": evil, "description": evil, "enum": [evil]}}}
    operation = {
        "description": evil,
        "responses": {evil: {"description": evil, "content": {evil: {"schema": {"$ref": f"#/{evil}"}}}}},
        "requestBody": {"content": {evil: {"schema": {"type": evil}}}},
    }
    page = render_reference(
        {
            "info": {"title": evil, "version": evil, "description": evil},
            "paths": {evil: {evil: operation}},
            "components": {"schemas": {evil: schema}},
        }
    )
    assert "<script" not in page
    assert 'alert("' not in page
