"""User-defined pieces, which SentencePiece takes out of a text before it normalises or cuts anything.

Where the building blocks of a tokenizer file would change or cut such a piece, a private-use character takes its place
in the text from the beginning, and in the vocabulary. The longest piece wins, as in SentencePiece.
"""

from collections.abc import Mapping

from tokenizers import normalizers

from export.tokenizer.normalization import build_normalizer
from export.tokenizer.original import PieceSide
from export.tokenizer.sentencepiece_model import SPACE_MARK, ModelType, PieceKind

_FIRST_PLACEHOLDER = 0x10F000

_STRANGER = chr(_FIRST_PLACEHOLDER - 1)
"""Stands for a placeholder that a text holds itself: another private character, as unknown as that one."""


def find_atoms(side: PieceSide) -> dict[str, str]:
    """Returns the pieces that need a placeholder, the longest first, and their placeholders."""
    user_defined = [piece.text for piece in side.model.of_kind(PieceKind.USER_DEFINED)]
    visible = [text for text in user_defined if text not in side.vocabulary.special]
    if side.model.model_type is ModelType.UNIGRAM:
        normalizer = build_normalizer(side.model.normalization, composing=False)
        visible = [text for text in visible if not _survives(text, normalizer)]
    ordered = sorted(visible, key=lambda text: (-len(text), text))
    return {text: chr(_FIRST_PLACEHOLDER + index) for index, text in enumerate(ordered)}


def atom_steps(atoms: Mapping[str, str]) -> list[normalizers.Normalizer]:
    """Returns the first steps of a normaliser: placeholders a text itself holds go, then pieces become placeholders."""
    protection = [normalizers.Replace(placeholder, _STRANGER) for placeholder in atoms.values()]
    return [*protection, *(normalizers.Replace(text, placeholder) for text, placeholder in atoms.items())]


def _survives(text: str, normalizer: normalizers.Normalizer) -> bool:
    return normalizer.normalize_str(f"x{text}x").lstrip(SPACE_MARK) == f"x{text}x"
