"""Unigram segmentation with ids of its own: SentencePiece scores in the order of a translation model's vocabulary.

Shared by the families whose SentencePiece model is Unigram. A family says which id each piece has, which pieces are
special and how many rows its embedding has; this module lays the entries out.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from tokenizers import Tokenizer
from tokenizers.models import Unigram

from export.tokenizer.normalization import build_normalizer, build_pre_tokenizer, splits_before_spaces
from export.tokenizer.sentencepiece_model import Piece, PieceKind, SentencePieceModel
from service.package.tokenizer import EntryRole, hidden_name

_HIDDEN_SCORE = 0.0
"""Never used for matching. A low one would lower the score of unknown characters, which follows the minimum."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The ids of one side of a translation model.

    ids: piece to id, each id once and below `num_rows`; special pieces included.
    num_rows: rows of the embedding table, at least one more than the largest id.
    special: pieces that a text must never yield.
    unk_id: the id of everything the vocabulary lacks.
    """

    ids: Mapping[str, int]
    num_rows: int
    special: Set[str]
    unk_id: int


@dataclass(frozen=True, slots=True)
class UnigramLayout:
    """Entries of a Unigram tokenizer in id order.

    entries: name and score; the first `num_rows` are those of the vocabulary, then come the added ones.
    added: pieces that segmentation needs although the vocabulary lacks them; their ids mean unknown.
    """

    entries: tuple[tuple[str, float], ...]
    added: tuple[str, ...]


def lay_out_unigram(model: SentencePieceModel, vocabulary: Vocabulary) -> UnigramLayout:
    """Returns the entries that make a Unigram tokenizer yield the vocabulary's ids.

    Pieces of the SentencePiece model keep their scores; everything else of the vocabulary gets a hidden name.
    """
    scores = segmentation_scores(model)
    rows = [(hidden_name(EntryRole.ROW, str(row)), _HIDDEN_SCORE) for row in range(vocabulary.num_rows)]
    bytes_ = {piece.text for piece in model.of_kind(PieceKind.BYTE)} if model.byte_fallback else frozenset()
    for text, token_id in vocabulary.ids.items():
        if text in vocabulary.special:
            rows[token_id] = (hidden_name(EntryRole.SPECIAL, text), _HIDDEN_SCORE)
        elif text in scores:
            rows[token_id] = (text, scores[text])
        else:
            role = EntryRole.BYTE if text in bytes_ else EntryRole.SURFACE
            rows[token_id] = (hidden_name(role, text), _HIDDEN_SCORE)
    added = tuple(text for text in scores if text not in vocabulary.ids)
    unnamed_bytes = sorted(bytes_ - vocabulary.ids.keys())
    rows.extend((text, scores[text]) for text in added)
    rows.extend((hidden_name(EntryRole.BYTE, text), _HIDDEN_SCORE) for text in unnamed_bytes)
    return UnigramLayout(tuple(rows), (*added, *unnamed_bytes))


def build_unigram(model: SentencePieceModel, layout: UnigramLayout, unk_id: int) -> Tokenizer:
    """Returns the tokenizer with the model's normalisation and no special tokens.

    Byte fallback is left to the service, which spells unknown stretches with the hidden byte entries: the library
    would need them under plain names, and then a text could contain them.
    """
    tokenizer = Tokenizer(Unigram(list(layout.entries), unk_id, byte_fallback=False))
    tokenizer.normalizer = build_normalizer(model.normalization)
    if splits_before_spaces(model):
        tokenizer.pre_tokenizer = build_pre_tokenizer()
    return tokenizer


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
