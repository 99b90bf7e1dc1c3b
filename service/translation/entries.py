"""The segments of a request on their way: what each consists of, and what became of it.

Values only. `preparation` makes entries, `unit_work` says what becomes of a unit, `completion` writes both down.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from service.search.hypothesis import Hypothesis
from service.text.document import Item, Segment, Span
from service.translation.asking import Question
from service.translation.translation import Treatment

Items = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """What a model can hold of a segment: mostly all of it.

    source, span: as they stand in the document; of a segment with markup that had to be cut, the whole segment's.
    """

    source: str
    span: Span
    items: Items


@dataclass(frozen=True, slots=True)
class Target:
    """One translation of a unit: its items in the target language, and the hypotheses they were made of.

    hypotheses: one for each question, in order; empty unless details are wanted.
    """

    items: Items
    score: float
    hypotheses: tuple[Hypothesis, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class UnitResult:
    """What became of a unit: its targets, best first, at least one; and how they came about.

    num_source_tokens, num_target_tokens: of what the best target is made of, special tokens included. ended_at_limit:
    whether a length limit cut it. questions: what the model was given; empty unless details are wanted.
    """

    targets: tuple[Target, ...]
    num_source_tokens: int
    num_target_tokens: int
    ended_at_limit: bool
    treatment: Treatment
    questions: tuple[Question, ...] = ()


@dataclass(slots=True, eq=False)
class Entry:
    """A segment: its units, and what stands between them and is only copied; joined in order they are its items.

    escape: how its target text is written. results: one for each unit, once they are there.
    """

    segment: Segment
    escape: Callable[[str], str]
    pieces: tuple[Unit | Items, ...] = ()
    results: list[UnitResult] = field(default_factory=list)

    @property
    def units(self) -> tuple[Unit, ...]:
        """What is given to the model."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Unit))
