"""The text that pieces are cut from, and how."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from service.text.segmentation import UNSPACED_LANGUAGES, SegmentationOptions


@dataclass(frozen=True, slots=True)
class Source:
    """A text in a language.

    options: whether its sentences are cut, and what is never cut. breaks_end_sentences: whether line breaks end them,
    as in plain text. escape: how target text is written, where not as everywhere in the document.
    """

    text: str
    language: str
    options: SegmentationOptions = field(default_factory=SegmentationOptions)
    breaks_end_sentences: bool = False
    escape: Callable[[str], str] | None = None

    @property
    def between_lines(self) -> str:
        """What a line break inside a sentence is for the model."""
        return "" if self.language in UNSPACED_LANGUAGES else " "

    def written(self, escape: Callable[[str], str]) -> "Source":
        """Return the same text with another escape."""
        return replace(self, escape=escape)
