"""Byte-pair segmentation with ids of its own: merges read off the pieces of a SentencePiece model.

SentencePiece stores no merges: it joins the neighbours whose joined text is the piece with the best score, the leftmost
ones first. Every way to cut a piece into two pieces is therefore a merge of that piece's rank. Merges of one piece
cannot share a rank here, so that overlapping ones may be taken in another order; `parity` counts them as ties.
"""

from collections.abc import Iterator, Set

from tokenizers import Tokenizer
from tokenizers.models import BPE

from export.tokenizer.layout import Layout
from export.tokenizer.original import PieceSide
from export.tokenizer.sentencepiece_model import PieceKind


def build_bpe(side: PieceSide, layout: Layout) -> Tokenizer:
    """Returns the tokenizer without normalisation and without special tokens; the service spells unknown stretches.

    Single characters that only occur inside pieces are added, since the library merges nothing it has no entry for.
    """
    mergeable = {piece.text for piece in side.model.of_kind(PieceKind.NORMAL)} - side.vocabulary.special
    names = [name for name, _ in layout.entries]
    inner = sorted(set("".join(mergeable)) - mergeable - set(names))
    ids = {name: token_id for token_id, name in enumerate([*names, *inner])}
    return Tokenizer(
        BPE(
            vocab=ids,
            merges=list(_merges(side, mergeable | set(inner))),
            unk_token=names[side.vocabulary.roles.unk],
            fuse_unk=True,
        )
    )


def _merges(side: PieceSide, parts: Set[str]) -> Iterator[tuple[str, str]]:
    """Yields the pairs of parts that make a piece, the best piece first."""
    joined = [piece for piece in side.model.of_kind(PieceKind.NORMAL) if piece.text in parts and len(piece.text) > 1]
    for piece in sorted(joined, key=lambda piece: -piece.score):
        text = piece.text
        for cut in range(1, len(text)):
            if text[:cut] in parts and text[cut:] in parts:
                yield text[:cut], text[cut:]
