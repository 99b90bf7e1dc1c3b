"""From pieces to the segments of a document: runs between cuts, tidied, cut into sentences, assembled."""

from collections.abc import Iterable, Iterator, Sequence

from service.text.document import Part, Segment
from service.text.markup.assembly import assembled, filled
from service.text.markup.pieces import Piece, PieceKind
from service.text.markup.references import reads_on
from service.text.markup.sentence_cuts import sentence_chunks
from service.text.markup.source import Source
from service.text.markup.tidying import tidied
from service.text.segmentation import is_translatable


def parts_of(source: Source, pieces: Iterable[Piece]) -> tuple[Part, ...]:
    """Return the parts of a document; what no piece stands for is a gap, and so is what has no letter."""
    return filled(source.text, segments_of(source, pieces), 0, len(source.text))


def segments_of(source: Source, pieces: Iterable[Piece]) -> Iterator[Segment]:
    """Give the segments of pieces, in order, with those inside tags that do not stand in a sentence."""
    run: list[Piece] = []
    for piece in pieces:
        if piece.kind is PieceKind.CUT:
            yield from _run_segments(source, run)
            yield from piece.values
            run = []
        else:
            run.append(piece)
    yield from _run_segments(source, run)


def _run_segments(source: Source, run: Sequence[Piece]) -> Iterator[Segment]:
    if not any(piece.kind is PieceKind.TEXT and is_translatable(piece.text) for piece in run):
        for piece in run:
            yield from piece.values
        return
    is_first = True
    for chunk in _standing_apart(source.text, sentence_chunks(source, tidied(run))):
        yield from assembled(source, chunk, is_first=is_first)
        is_first = False


def _standing_apart(text: str, chunks: Iterable[list[Piece]]) -> Iterator[list[Piece]]:
    """Join chunks where the first ends with what would read on into the translation of the second."""
    pending: list[Piece] = []
    for chunk in chunks:
        start = next((piece.start for piece in chunk if piece.is_visible or piece.kind is PieceKind.OPEN), None)
        if pending and start is not None and reads_on(text, start) < start:
            pending += chunk
            continue
        if pending:
            yield pending
        pending = chunk
    if pending:
        yield pending
