"""Sizes of a request that settings bound, checked after its fields and before any work."""

from dataclasses import dataclass

from service.errors import InvalidRequestError, TooLargeError


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Texts per request, code points per text, and seconds by default and at most."""

    max_texts: int
    max_text_characters: int
    default_timeout_seconds: float
    max_timeout_seconds: float

    def check_texts(self, texts: tuple[str, ...]) -> None:
        """Raises TooLargeError for too many texts or a text that is too long."""
        if len(texts) > self.max_texts:
            raise TooLargeError("the request has too many texts", [f"q: at most {self.max_texts} texts"])
        if any(len(text) > self.max_text_characters for text in texts):
            raise TooLargeError("a text is too long", [f"q: at most {self.max_text_characters} characters in a text"])

    def timeout(self, wanted: float | None) -> float:
        """Gives the seconds a request has; raises InvalidRequestError above the maximum."""
        if wanted is None:
            return self.default_timeout_seconds
        if wanted > self.max_timeout_seconds:
            problem = f"timeout_seconds: at most {self.max_timeout_seconds:g}"
            raise InvalidRequestError("the request is not valid", [problem])
        return wanted
