"""The API reference as one HTML page, made from the OpenAPI document.

No script and nothing from other hosts: the page works offline and under the strictest content security policy.
"""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b;
  background: #fff; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { background: #f3f3f3; padding: 0.75rem; overflow-x: auto; }
section { border-top: 1px solid #bbb; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #ddd; }
a { color: #0b4f9e; }
"""


def render_reference(document: Mapping[str, Any]) -> str:
    """Writes the page of an OpenAPI document; everything from the document is escaped."""
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}")
    body = "\n".join([*_operations(document), "<h2>Schemas</h2>", *_schemas(document)])
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p>{_words(info['description'])}</p>\n"
        '<p>The same for programs: <a href="openapi.json">openapi.json</a></p>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"<section><h2><code>{escape(method.upper())} {escape(path)}</code></h2>"
            yield f"<p>{_words(operation.get('description', operation.get('summary', '')))}</p>"
            yield from _body(document, operation)
            yield from _answers(operation)
            yield "</section>"


def _body(document: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[str]:
    content = operation.get("requestBody", {}).get("content", {})
    for kind, described in content.items():
        schema = described["schema"]
        yield f"<h3>Body</h3><p><code>{escape(kind)}</code>: {_type(schema)}</p>"
        resolved = document["components"]["schemas"].get(_name(schema), {})
        for example in resolved.get("examples", ()):
            yield f"<pre>{escape(json.dumps(example, indent=2, ensure_ascii=False))}</pre>"


def _answers(operation: Mapping[str, Any]) -> Iterator[str]:
    yield "<h3>Answers</h3><table><tr><th>Status</th><th>When</th><th>Body</th></tr>"
    for status, answer in operation["responses"].items():
        kinds = [_type(described["schema"]) for described in answer.get("content", {}).values()]
        cells = (escape(status), _words(answer["description"]), ", ".join(kinds))
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</table>"


def _schemas(document: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in document["components"]["schemas"].items():
        yield f'<section id="{escape(name)}"><h3>{escape(name)}</h3>'
        yield f"<p>{_words(schema.get('description', ''))}</p>"
        yield "<table><tr><th>Field</th><th>Type</th><th>Meaning</th></tr>"
        required = schema.get("required", ())
        for field, described in schema.get("properties", {}).items():
            mark = " (required)" if field in required else ""
            cells = (f"<code>{escape(field)}</code>{mark}", _type(described), _words(described.get("description", "")))
            yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        yield "</table></section>"


def _type(schema: Mapping[str, Any]) -> str:
    """Writes a type in words, with links to named schemas, as HTML."""
    if "$ref" in schema:
        name = escape(_name(schema))
        return f'<a href="#{name}">{name}</a>'
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return " or ".join(_type(choice) for choice in choices)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if values:
        return " | ".join(f"<code>{escape(json.dumps(value))}</code>" for value in values)
    if schema.get("type") == "array":
        return f"list of ({_type(schema.get('items', {}))})"
    return escape(str(schema.get("type", "any"))) + escape(_bounds(schema))


def _bounds(schema: Mapping[str, Any]) -> str:
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}
    given = [f"{word} {schema[key]}" for key, word in words.items() if key in schema]
    return " " + " ".join(given) if given else ""


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _words(text: str) -> str:
    """Escapes a description and sets its `code` in type."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
