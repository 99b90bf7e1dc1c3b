"""Putting new stretches into a text or bytes by position; everything between them is copied as it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import AnyStr, Generic

Copy = Callable[[int, int], AnyStr]
"""Gives what stands at start to end, stretches inside it already replaced."""


@dataclass(frozen=True, slots=True)
class Splice(Generic[AnyStr]):
    """What is written instead of start to end; `write` may copy from inside that stretch, where others may lie."""

    start: int
    end: int
    write: Callable[[Copy[AnyStr]], AnyStr]


def replacing(start: int, end: int, content: AnyStr) -> Splice[AnyStr]:
    """Returns the splice that puts a content in place of start to end."""
    return Splice(start, end, lambda _: content)


def spliced(data: AnyStr, splices: Sequence[Splice[AnyStr]]) -> AnyStr:
    """Returns the data with all stretches replaced; two stretches are apart, or one lies in the other."""
    ordered = sorted(splices, key=lambda splice: (splice.start, -splice.end))

    def copier(behind: int) -> Copy[AnyStr]:
        return lambda start, end: copied(start, end, behind)

    def copied(start: int, end: int, behind: int) -> AnyStr:
        """Copies, with the splices of these bounds that come behind an index in their order."""
        pieces: list[AnyStr] = []
        position = start
        for index in range(behind, len(ordered)):
            splice = ordered[index]
            if splice.start >= end and end < len(data):
                break
            if splice.start < position or splice.end > end:
                continue
            pieces += [data[position : splice.start], splice.write(copier(index + 1))]
            position = splice.end
        pieces.append(data[position:end])
        return data[:0].join(pieces)

    return copied(0, len(data), 0)
