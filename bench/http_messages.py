"""Just enough of HTTP/1.1 to send JSON and to read answers that say how long they are."""


class HttpError(Exception):
    """Something that cannot be read as an answer."""


def http_request(port: int, body: bytes, path: str = "/translate") -> bytes:
    """Returns a POST request with a JSON body."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


class AnswerReader:
    """Puts the bytes of one connection together to answers."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Takes bytes; returns status and body of every answer that is complete now. Raises HttpError."""
        self._buffer += data
        answers = []
        while (answer := self._next()) is not None:
            answers.append(answer)
        return answers

    def _next(self) -> tuple[int, bytes] | None:
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return None
        length = _content_length(head)
        if len(rest) < length:
            return None
        self._buffer = rest[length:]
        return int(head[9:12]), rest[:length]


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise HttpError("an answer does not say how long it is")
