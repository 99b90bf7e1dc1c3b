"""The entries of a source tokenizer: SentencePiece pieces at the ids of a translation model's vocabulary.

The same for Unigram and BPE. A family says which id each piece has, which pieces are special and how many rows its
embedding has; this module lays the entries out, and `unigram` and `bpe` make tokenizers of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from export.tokenizer.original import PieceSide
from export.tokenizer.sentencepiece_model import Piece, PieceKind, SentencePieceModel
from service.package.tokenizer import EntryRole, hidden_name

_HIDDEN_SCORE = 0.0
"""Never used for matching. A low one would lower the score of unknown characters, which follows the minimum."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Entries of a source tokenizer in id order.

    entries: name and score; the first `num_rows` are those of the vocabulary, then come the added ones.
    added: pieces that segmentation needs although the vocabulary lacks them; their ids mean unknown.
    atoms: user-defined piece to the one character that stands for it in normalised text.
    """

    entries: tuple[tuple[str, float], ...]
    added: tuple[str, ...]
    atoms: Mapping[str, str]


def lay_out(side: PieceSide, atoms: Mapping[str, str]) -> Layout:
    """Returns the entries that make a tokenizer yield the vocabulary's ids.

    Pieces that occur in text keep names and scores; everything else of the vocabulary gets a hidden name.
    """
    model, vocabulary = side.model, side.vocabulary
    scores = segmentation_scores(model)
    rows = [(hidden_name(EntryRole.ROW, str(row)), _HIDDEN_SCORE) for row in range(vocabulary.num_rows)]
    bytes_ = {piece.text for piece in model.of_kind(PieceKind.BYTE)} if model.byte_fallback else frozenset()
    for text, token_id in vocabulary.ids.items():
        if text in vocabulary.special:
            rows[token_id] = (hidden_name(EntryRole.SPECIAL, text), _HIDDEN_SCORE)
        elif text in scores:
            rows[token_id] = (atoms.get(text, text), scores[text])
        else:
            role = EntryRole.BYTE if text in bytes_ else EntryRole.SURFACE
            rows[token_id] = (hidden_name(role, text), _HIDDEN_SCORE)
    added = tuple(text for text in scores if text not in vocabulary.ids and text not in vocabulary.special)
    unnamed_bytes = sorted(bytes_ - vocabulary.ids.keys())
    rows.extend((atoms.get(text, text), scores[text]) for text in added)
    rows.extend((hidden_name(EntryRole.BYTE, text), _HIDDEN_SCORE) for text in unnamed_bytes)
    return Layout(tuple(rows), (*added, *unnamed_bytes), atoms)


def segmentation_scores(model: SentencePieceModel) -> dict[str, float]:
    """Returns the scores of the pieces that occur in text, in SentencePiece's order."""
    normal = model.of_kind(PieceKind.NORMAL)
    best = max((piece.score for piece in normal), default=0.0)
    scores = {piece.text: piece.score for piece in normal}
    scores.update((piece.text, _user_defined_score(piece, best)) for piece in model.of_kind(PieceKind.USER_DEFINED))
    return scores


def _user_defined_score(piece: Piece, best_normal_score: float) -> float:
    """The score SentencePiece's Unigram gives a user-defined piece instead of the stored one."""
    return len(piece.text.encode()) * best_normal_score - 0.1
