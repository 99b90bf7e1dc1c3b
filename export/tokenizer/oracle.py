"""Tokenization done the original way, by SentencePiece itself: the measure of converted tokenizers.

Pieces first, ids by look-up then. It differs from the Hugging Face classes in one respect, on purpose: special and
language tokens that a text spells out are ordinary text. For pieces that SentencePiece would find in a text, it runs on
a model in which those pieces have been put out of reach.
"""

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from export.tokenizer.atoms import find_atoms
from export.tokenizer.layout import segmentation_scores
from export.tokenizer.original import PieceOriginal, PieceSide
from export.tokenizer.sentencepiece_model import SPACE_MARK, ModelType, PieceKind, SentencePieceModel

_WHITE_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""Unicode's white space; Python's own has four control characters more."""

_FLOAT32_EPSILON = 2.0**-23
_UNKNOWN_PENALTY = 10.0
"""What SentencePiece takes off the lowest score for a character without a piece."""


def trim(text: str) -> str:
    """Returns a text without white space at its ends."""
    return text.strip(_WHITE_SPACE)


class Oracle(Protocol):
    """What a comparison asks a checkpoint's own tokenizer."""

    def source_ids(self, text: str) -> list[int]:
        """Returns the ids of a source text without special ids."""

    def target_ids(self, text: str) -> list[int]:
        """Returns the ids of a target text without special ids, as training saw them."""

    def target_text(self, ids: Sequence[int]) -> str:
        """Returns the text of target ids; special ids and rows without a piece leave no trace."""

    def normalized(self, text: str) -> str:
        """Returns the source text that is cut into pieces."""

    def restored(self, normalized: str) -> str:
        """Returns a text that the converted normaliser made, with original pieces where it uses placeholders."""

    def is_tie(self, text: str, pieces: Sequence[str]) -> bool:
        """Whether other pieces of a source text are as good as the original ones."""


class PieceOracle:
    """Encodes source texts and decodes target ids with the SentencePiece models of a checkpoint."""

    def __init__(self, original: PieceOriginal) -> None:
        source, target = original.source, original.target
        self._source = SideOracle(source)
        self._target = self._source if target is source else SideOracle(target)
        self._target_pieces = {token_id: piece for piece, token_id in target.vocabulary.ids.items()}
        self._invisible = target.vocabulary.special
        self._plain = SentencePieceProcessor(model_proto=_without(source.model, source.hidden, spells=False))
        self._model = source.model
        self._atoms = {placeholder: text for text, placeholder in find_atoms(source).items()}
        self._scores = segmentation_scores(source.model)
        normal = source.model.of_kind(PieceKind.NORMAL)
        self._unknown_score = min((piece.score for piece in normal), default=0.0) - _UNKNOWN_PENALTY

    def source_ids(self, text: str) -> list[int]:
        """Returns the ids of a source text."""
        return self._source.ids(text)

    def target_ids(self, text: str) -> list[int]:
        """Returns the ids of a target text."""
        return self._target.ids(text)

    def target_text(self, ids: Sequence[int]) -> str:
        """Returns the text of target ids, special ones left out."""
        pieces = [self._target_pieces[token_id] for token_id in ids if token_id in self._target_pieces]
        visible = [piece for piece in pieces if piece not in self._invisible]
        text: str = self._target.processor.decode_pieces(visible)
        return trim(text.replace(SPACE_MARK, " "))

    def normalized(self, text: str) -> str:
        """Returns the text that SentencePiece cuts."""
        return str(self._plain.normalize(text))

    def restored(self, normalized: str) -> str:
        """Returns the text with user-defined pieces in place of the characters that stand for them."""
        for placeholder, piece in self._atoms.items():
            normalized = normalized.replace(placeholder, piece)
        return normalized

    def is_tie(self, text: str, pieces: Sequence[str]) -> bool:
        """Unigram: equal scores, but for rounding. BPE: the same pieces in another order."""
        expected = list(self._plain.encode(text, out_type=str))
        if self._model.model_type is ModelType.BPE:
            return sorted(expected) == sorted(pieces)
        first, second = self._score(expected), self._score(pieces)
        # Each of the additions may be off by half a unit in the last place of the running sum.
        rounding = _FLOAT32_EPSILON * abs(first) * max(len(expected), len(pieces))
        return abs(first - second) <= rounding and expected != list(pieces)

    def _score(self, pieces: Sequence[str]) -> float:
        """The log-probability of a Unigram segmentation, with unknown characters counted one by one."""
        return sum(self._scores.get(piece, self._unknown_score * len(piece)) for piece in pieces)


class SideOracle:
    """One side: pieces by SentencePiece, then ids."""

    def __init__(self, side: PieceSide) -> None:
        self.processor = SentencePieceProcessor(model_proto=_without(side.model, side.hidden))
        self._vocabulary = side.vocabulary

    def ids(self, text: str) -> list[int]:
        """Ids of a text, one for each piece."""
        vocabulary = self._vocabulary
        unk_id = vocabulary.roles.unk
        return [
            unk_id if piece in vocabulary.special else vocabulary.ids.get(piece, unk_id)
            for piece in self.processor.encode(text, out_type=str)
        ]


def _without(model: SentencePieceModel, hidden: Collection[str], *, spells: bool = True) -> bytes:
    """The model with some pieces out of reach, under names that hold a plain space; `spells` keeps byte fallback."""
    if not hidden and (spells or not model.byte_fallback):
        return model.content
    proto: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined] # classes are made at import
    proto.ParseFromString(model.content)
    for piece in proto.pieces:
        if piece.piece in hidden or (piece.type == PieceKind.BYTE and not spells):
            piece.piece = f"hidden {piece.piece}"
            piece.type = PieceKind.UNUSED
    proto.trainer_spec.byte_fallback &= spells
    content: bytes = proto.SerializeToString()
    return content
