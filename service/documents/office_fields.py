"""Fields in Word paragraphs: rows of pieces that begin, say what to compute, and end.

A link's text is translated between its halves; any other field is one word that a program writes anew. What does not
begin and end in one paragraph never moves.
"""

from collections.abc import Sequence
from typing import Final

from service.documents.office_pieces import OfficeParagraph, OfficePiece, Written

_TRANSLATED: Final = frozenset({"HYPERLINK"})


def with_fields(paragraph: OfficeParagraph, pieces: Sequence[OfficePiece]) -> list[OfficePiece]:
    """Returns pieces in which fields are words, or halves around their text."""
    ends = _ends(pieces)
    done: list[OfficePiece] = []
    index = 0
    while index < len(pieces):
        end = ends.get(index)
        if end is None:
            done.append(pieces[index])
            index += 1
        else:
            done += _field(paragraph, pieces[index : end + 1])
            index = end + 1
    return done


def _ends(pieces: Sequence[OfficePiece]) -> dict[int, int]:
    """Returns where each field ends that begins; both must stand in the same containers."""
    ends: dict[int, int] = {}
    begun: list[tuple[int, int]] = []
    containers = [0]
    number = 0
    for index, piece in enumerate(pieces):
        if piece.kind == "open":
            number += 1
            containers.append(number)
        elif piece.kind == "close":
            containers.pop()
        elif piece.part == "begin":
            begun.append((index, containers[-1]))
        elif piece.part == "end" and begun:
            first, container = begun.pop()
            if container == containers[-1]:
                ends[first] = index
    return ends


def _field(paragraph: OfficeParagraph, pieces: Sequence[OfficePiece]) -> list[OfficePiece]:
    depth = 0
    separator = None
    for index, piece in enumerate(pieces):
        depth += (piece.part == "begin") - (piece.part == "end")
        if piece.part == "separate" and depth == 1:
            separator = index
    instruction = "".join(piece.instruction for piece in pieces[:separator]).split()
    shown = "" if separator is None else "".join(piece.text for piece in pieces[separator:])
    if separator is None or not instruction or instruction[0].upper() not in _TRANSLATED or not shown.strip():
        return [OfficePiece("word" if shown else "mark", written=_written(paragraph, pieces), shown=shown)]
    opening = OfficePiece("open", written=_written(paragraph, pieces[: separator + 1]))
    closing = OfficePiece("close", written=_written(paragraph, pieces[-1:]))
    return [opening, *with_fields(paragraph, pieces[separator + 1 : -1]), closing]


def _written(paragraph: OfficeParagraph, pieces: Sequence[OfficePiece]) -> Written:
    written: list[tuple[int, int] | bytes] = []
    for piece in pieces:
        written += paragraph.text_run(piece.format, piece.text) if piece.kind == "text" else piece.written
    return tuple(written)
