"""Making a run of pieces as simple as what a reader sees of it.

Pairs without text become one atom, marks that touch become one, halves without their other half become marks, and white
space is told once though the source has some on both sides of a tag.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from service.text.markup.pieces import Piece, PieceKind


def tidied(run: Iterable[Piece]) -> list[Piece]:
    """Return the pieces of a run, tidied; halves are balanced and nested, and every pair has something to see in it."""
    return list(_with_single_spaces(_with_pairs_closed(run)))


@dataclass(slots=True)
class _Opened:
    """A first half: where it is among the pieces, and how many texts and words to see were before it."""

    index: int
    texts: int
    words: int


def _with_pairs_closed(run: Iterable[Piece]) -> list[Piece]:
    done: list[Piece] = []
    opened: list[_Opened] = []
    texts = words = 0
    for piece in run:
        match piece.kind:
            case PieceKind.OPEN:
                opened.append(_Opened(len(done), texts, words))
                done.append(piece)
            case PieceKind.CLOSE if opened and done[opened[-1].index].pair == piece.pair:
                first = opened.pop()
                if texts == first.texts:
                    _close_textless(done, first.index, piece, is_word=words > first.words)
                else:
                    done.append(piece)
            case PieceKind.CLOSE | PieceKind.MARK:
                _append_mark(done, replace(piece, kind=PieceKind.MARK))
            case _:
                texts += piece.kind is PieceKind.TEXT and piece.is_visible
                words += piece.kind is PieceKind.WORD
                done.append(piece)
    for half in opened:
        done[half.index] = replace(done[half.index], kind=PieceKind.MARK)
    return done


def _close_textless(done: list[Piece], index: int, closing: Piece, *, is_word: bool) -> None:
    """Make one atom of a pair in which no text is to be seen; white space in it goes on behind it."""
    inside = done[index:]
    del done[index:]
    values = tuple(value for piece in (*inside, closing) for value in piece.values)
    kind = PieceKind.WORD if is_word else PieceKind.MARK
    seen = " ".join(piece.text for piece in inside if piece.kind is PieceKind.WORD)
    _append_mark(done, Piece(kind, inside[0].start, closing.end, seen, values=values))
    if any(piece.text for piece in inside if piece.kind is PieceKind.TEXT):
        done.append(Piece(PieceKind.TEXT, closing.end, closing.end, " "))


def _append_mark(done: list[Piece], piece: Piece) -> None:
    """Append an atom, as one with a mark that it touches."""
    before = done[-1] if done else None
    if before is not None and before.kind is piece.kind is PieceKind.MARK and before.end == piece.start:
        done[-1] = replace(before, end=piece.end, values=before.values + piece.values)
    else:
        done.append(piece)


def _with_single_spaces(pieces: Sequence[Piece]) -> Iterator[Piece]:
    behind_space = True
    for piece in pieces:
        if piece.kind is PieceKind.TEXT:
            told = piece.sliced(1, len(piece.text)) if behind_space and piece.text.startswith(" ") else piece
            if told.text:
                behind_space = told.text.endswith(" ")
            if told.text or told.breaks:
                yield told
        else:
            # What stands between words may be seen (an image), and then has its white space on both sides.
            behind_space = behind_space and piece.kind in (PieceKind.OPEN, PieceKind.CLOSE)
            yield piece
