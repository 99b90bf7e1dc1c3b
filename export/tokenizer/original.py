"""A checkpoint's own tokenizer as it is: pieces, and the ids a family gives them.

Filled by the families' readers; converted by `conversion`, and the measure of the result in `oracle`.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TypeAlias

from export.tokenizer.sentencepiece_model import PieceKind, SentencePieceModel


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids of the special pieces in one vocabulary."""

    eos: int
    unk: int
    pad: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The ids of one side of a translation model.

    ids: piece to id, each id once and below `num_rows`; special pieces included.
    num_rows: rows of the embedding table, at least one more than the largest id.
    special: pieces that a text must never yield: end, padding, unknown, language and other control tokens.
    roles: the unknown id stands for everything the vocabulary lacks.
    """

    ids: Mapping[str, int]
    num_rows: int
    special: Set[str]
    roles: SpecialIds


@dataclass(frozen=True, slots=True)
class PieceSide:
    """One side of a tokenizer that cuts text with a SentencePiece model and then looks ids up.

    file: the model's file name, for messages.
    """

    file: str
    model: SentencePieceModel
    vocabulary: Vocabulary

    @property
    def hidden(self) -> frozenset[str]:
        """Pieces of the model that a text must not yield though SentencePiece would find them."""
        kinds = (PieceKind.NORMAL, PieceKind.USER_DEFINED)
        return frozenset(piece.text for piece in self.model.of_kind(*kinds) if piece.text in self.vocabulary.special)


@dataclass(frozen=True, slots=True)
class PieceOriginal:
    """A tokenizer made of SentencePiece models and vocabularies; both sides are the same object where they are shared.

    language_ids, language_lead_ids, decisions: as in `ConvertedTokenizers`.
    """

    source: PieceSide
    target: PieceSide
    language_ids: Mapping[str, int]
    language_lead_ids: tuple[int, ...] = ()
    decisions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileOriginal:
    """A tokenizer that exists only as a tokenizer.json of the `tokenizers` library.

    content: the file. vocabulary: of both sides.
    """

    content: str
    vocabulary: Vocabulary
    language_ids: Mapping[str, int]
    language_lead_ids: tuple[int, ...] = ()
    decisions: tuple[str, ...] = ()


Original: TypeAlias = PieceOriginal | FileOriginal
