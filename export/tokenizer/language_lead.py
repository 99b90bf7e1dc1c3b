"""What a tokenizer puts around a language piece in front of a text, read off by encoding such texts.

A package adds the language as a number and encodes the text alone, which must give what the checkpoint's own tokenizer
gives for both together: whether a lone space mark precedes the piece differs from model to model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from export.tokenizer.corpus import NATURAL_LINES
from export.tokenizer.oracle import SideOracle
from export.tokenizer.original import PieceSide
from export.tokenizer.sentencepiece_model import SentencePieceModel

Encode: TypeAlias = Callable[[str], Sequence[int]]

_TRIED_PIECES = 3


def find_lead(pieces: Mapping[str, int], together: Encode, alone: Encode) -> tuple[int, ...] | None:
    """Returns the ids before a language piece in front of a text; None when the text is not cut as it is alone.

    pieces: language piece to id. together: encodes piece and text as the checkpoint does. alone: encodes a text as the
    package will.
    """
    tried = sorted(pieces)[:_TRIED_PIECES]
    texts = [(line, list(alone(line))) for line in NATURAL_LINES]
    leads = {_before(list(together(f"{piece} {line}")), pieces[piece], ids) for piece in tried for line, ids in texts}
    return leads.pop() if len(leads) == 1 else None


def read_lead(side: PieceSide, pieces: Mapping[str, int]) -> tuple[tuple[int, ...], PieceSide] | None:
    """Reads off the lead of a model whose ids are SentencePiece's own.

    Returns it with the side that encodes a text alone as the model does after a language piece: a model that puts no
    space in front of texts still has one between piece and text. None when there is no such side.
    """
    processor = SentencePieceProcessor(model_proto=side.model.content)
    sides = [side] if side.model.normalization.add_dummy_prefix else [side, replace(side, model=_prefixed(side.model))]
    for candidate in sides:
        lead = find_lead(pieces, processor.encode, SideOracle(candidate).ids)
        if lead is not None:
            return lead, candidate
    return None


def _before(both: Sequence[int], language_id: int, text: Sequence[int]) -> tuple[int, ...] | None:
    """Ids before the language in the ids of language and text; None when what follows is not the text."""
    if language_id not in both:
        return None
    place = both.index(language_id)
    return tuple(both[:place]) if both[place + 1 :] == text else None


def _prefixed(model: SentencePieceModel) -> SentencePieceModel:
    """The model with a space put in front of every text."""
    proto: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined] # classes are made at import
    proto.ParseFromString(model.content)
    proto.normalizer_spec.add_dummy_prefix = True
    return replace(
        model,
        content=proto.SerializeToString(),
        normalization=replace(model.normalization, add_dummy_prefix=True),
    )
