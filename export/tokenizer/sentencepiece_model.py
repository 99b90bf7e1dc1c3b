"""What a SentencePiece `.model` file says, read from its protobuf: file names tell nothing reliable.

Only reads; which models can be expressed as a package tokenizer is decided by those who build one.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # protobuf comes without types
from sentencepiece import sentencepiece_model_pb2

from service.errors import ExportError

SPACE_MARK = "\N{LOWER ONE EIGHTH BLOCK}"
"""U+2581, which stands for a space inside pieces."""


class ModelType(IntEnum):
    """How pieces are chosen; values as in the protobuf schema."""

    UNIGRAM = 1
    BPE = 2
    WORD = 3
    CHAR = 4


class PieceKind(IntEnum):
    """What a piece is for; values as in the protobuf schema. Only the first and `USER_DEFINED` occur in text."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, slots=True)
class Piece:
    """One vocabulary entry of a SentencePiece model; `score` is a log-probability in Unigram, a merge rank in BPE."""

    text: str
    score: float
    kind: PieceKind


@dataclass(frozen=True, slots=True)
class Normalization:
    """What happens to a text before segmentation.

    charsmap: compiled character replacements, empty for none.
    """

    name: str
    charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool


@dataclass(frozen=True, slots=True)
class SentencePieceModel:
    """The parts of a SentencePiece model that decide ids and text.

    content: the file.
    pieces: in the order of SentencePiece's own ids, which need not be the ids of the translation model.
    rewrites_output: the model has a denormaliser, which changes decoded text.
    """

    content: bytes = field(repr=False)
    pieces: tuple[Piece, ...]
    model_type: ModelType
    byte_fallback: bool
    whitespace_as_suffix: bool
    rewrites_output: bool
    normalization: Normalization

    def of_kind(self, *kinds: PieceKind) -> tuple[Piece, ...]:
        """Pieces of the given kinds in id order."""
        return tuple(piece for piece in self.pieces if piece.kind in kinds)


def read_sentencepiece_model(path: Path) -> SentencePieceModel:
    """Reads one model file. Raises ExportError when it is missing or is not a SentencePiece model."""
    proto: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined] # classes are made at import
    try:
        content = path.read_bytes()
        proto.ParseFromString(content)
        pieces = tuple(Piece(piece.piece, piece.score, PieceKind(piece.type)) for piece in proto.pieces)
    except OSError as error:
        raise ExportError(f"{path.name} cannot be read: {error.strerror}") from None
    except (DecodeError, UnicodeError) as error:
        raise ExportError(f"{path.name} is not a SentencePiece model: {error}") from None
    if not pieces:
        raise ExportError(f"{path.name} is not a SentencePiece model: it has no pieces")
    return SentencePieceModel(
        content=content,
        pieces=pieces,
        model_type=ModelType(proto.trainer_spec.model_type),
        byte_fallback=proto.trainer_spec.byte_fallback,
        whitespace_as_suffix=proto.trainer_spec.treat_whitespace_as_suffix,
        rewrites_output=bool(proto.denormalizer_spec.precompiled_charsmap),
        normalization=_normalization(proto.normalizer_spec),
    )


def _normalization(spec: Any) -> Normalization:
    return Normalization(
        name=spec.name,
        charsmap=spec.precompiled_charsmap,
        add_dummy_prefix=spec.add_dummy_prefix,
        remove_extra_whitespaces=spec.remove_extra_whitespaces,
        escape_whitespaces=spec.escape_whitespaces,
    )
