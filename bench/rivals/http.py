"""What a request for one text, or for a document, looks like to each server."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.http_messages import http_request


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server is asked: body of one text, and of a text as sentences; a beam of None is the server's own."""

    text: Callable[[str, int | None], dict[str, object]]
    document: Callable[[Sequence[str], int | None], dict[str, object]]


def verso_dialect(source: str, target: str) -> Dialect:
    """Gives Verso's requests for one language pair; a document is one text."""

    def body(text: str, beam_size: int | None) -> dict[str, object]:
        decoding = {} if beam_size is None else {"decoding": {"beam_size": beam_size}}
        return {"q": text, "source": source, "target": target, **decoding}

    return Dialect(text=body, document=lambda sentences, beam_size: body(" ".join(sentences), beam_size))


def plain_dialect() -> Dialect:
    """Gives the plain server's requests; a document is split already, which such servers leave to the caller."""

    def body(texts: Sequence[str], beam_size: int | None) -> dict[str, object]:
        return {"texts": list(texts), "beam_size": beam_size}

    return Dialect(text=lambda text, beam_size: body([text], beam_size), document=body)


def encoded(port: int, body: dict[str, object]) -> bytes:
    """Returns the whole request."""
    return http_request(port, json.dumps(body, ensure_ascii=False).encode())
