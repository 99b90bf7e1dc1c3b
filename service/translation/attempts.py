"""The attempts at a unit, one after the other: what the model is given, and what is made of what it says.

Which ways there are to bring placeholders back is for `text.attempts`; here they meet tokens and attention weights. The
last attempt holds whatever the model says.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from service.search.hypothesis import Hypothesis
from service.text import attempts as ways
from service.text.document import Placeholder
from service.translation.asking import Question
from service.translation.direction import Direction
from service.translation.entries import Items
from service.translation.linking import links_of
from service.translation.translation import PlaceholderWay

Said = tuple[Question, Hypothesis]


class Attempt(Protocol):
    """One way to translate the items of a unit.

    way: how placeholders are to come back; None if there are none. texts: what the model is given, at least one.
    """

    @property
    def way(self) -> PlaceholderWay | None: ...

    @property
    def texts(self) -> tuple[str, ...]: ...

    @property
    def needs_alignment(self) -> bool: ...

    def woven(self, said: Sequence[Said], direction: Direction) -> Items | None:
        """Returns the items of the target, from what was said to each text; None if the attempt does not hold."""
        ...


@dataclass(frozen=True, slots=True)
class PlainAttempt:
    """Text without placeholders."""

    text: str
    way: PlaceholderWay | None = None
    needs_alignment: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The text."""
        return (self.text,)

    def woven(self, said: Sequence[Said], direction: Direction) -> Items:
        """Returns what the model said; where it said nothing, the text stays as it is rather than being lost."""
        return (direction.text_of(said[0][1]) or self.text,)


@dataclass(frozen=True, slots=True)
class WovenAttempt:
    """Text from which placeholders were taken, and to which they come back in one of the ways."""

    attempt: ways.Attempt

    @property
    def way(self) -> PlaceholderWay:
        """How placeholders come back; those that are no words are always put where attention leads."""
        return self.attempt.way or "aligned"

    @property
    def texts(self) -> tuple[str, ...]:
        """What the model is given."""
        return tuple(model.text for model in self.attempt.texts)

    @property
    def needs_alignment(self) -> bool:
        """Whether words must be linked."""
        return self.attempt.needs_links

    def woven(self, said: Sequence[Said], direction: Direction) -> Items | None:
        """Returns the items of the target, if every placeholder has found its place."""
        results = []
        for model, (question, hypothesis) in zip(self.attempt.texts, said, strict=True):
            target = direction.text_of(hypothesis)
            texts, ids = (model.text, target), question.source_ids.tolist()
            results.append((target, links_of(texts, ids, hypothesis, direction) if self.needs_alignment else ()))
        return self.attempt.weave(results)


def attempts_at(items: Items, is_known: Callable[[str], bool]) -> Iterator[Attempt]:
    """Gives attempts at items, the best first; the last one always holds."""
    if any(isinstance(item, Placeholder) for item in items):
        yield from map(WovenAttempt, ways.attempts(items, is_known))
    else:
        yield PlainAttempt("".join(item for item in items if isinstance(item, str)))
