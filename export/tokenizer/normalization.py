"""SentencePiece's text normalisation and its inverse, expressed with the building blocks of a tokenizer file.

The same for every model family that uses SentencePiece. The steps and their order are those of SentencePiece's own
normaliser; what the building blocks cannot do exactly is counted by `parity`.
"""

from collections.abc import Iterable

from sentencepiece import SentencePieceProcessor
from tokenizers import Regex, decoders, normalizers, pre_tokenizers

from export.tokenizer.corpus import NATURAL_LINES, stress_lines
from export.tokenizer.sentencepiece_model import SPACE_MARK, Normalization, PieceKind, SentencePieceModel

_ORDERED_MARKS = "\u0651\u05bc\u05c1\u05c2"
"""Arabic shadda, Hebrew dagesh, shin and sin dot: typed before vowel marks, where NFC would move them behind."""

_JOINER = "\N{COMBINING GRAPHEME JOINER}"
"""Invisible and without a combining class: nothing is reordered across it."""

_MATCHED_KINDS = (PieceKind.NORMAL, PieceKind.USER_DEFINED)


def build_normalizer(normalization: Normalization, *, composing: bool) -> normalizers.Normalizer:
    """Returns the normaliser that turns a text into what is segmented, with U+2581 for spaces."""
    steps: list[normalizers.Normalizer] = []
    if normalization.charsmap:
        composition = _composition() if composing else []
        steps += [*composition, normalizers.Precompiled(normalization.charsmap), *composition]
    if normalization.remove_extra_whitespaces:
        # Space marks that a text itself ends with go too: SentencePiece trims after it has replaced the spaces.
        steps.append(normalizers.Replace(Regex(rf"\A +|[ {SPACE_MARK}]+\z"), ""))
        steps.append(normalizers.Replace(Regex(" {2,}"), " "))
    if normalization.add_dummy_prefix:
        steps.append(normalizers.Prepend(" "))
    steps.append(normalizers.Replace(" ", SPACE_MARK))
    return normalizers.Sequence(steps)


def composes(model: SentencePieceModel) -> bool:
    """Whether canonical composition goes before and after the charsmap.

    The charsmap of an NFKC kind composes by itself, but the building block that applies it looks at whole graphemes
    and gets decomposed ones wrong (huggingface/tokenizers#2334): every decomposed Hangul syllable and most Vietnamese
    ones without composition before it, half-width katakana with voicing marks without composition after it. The name
    of a charsmap does not say what it does, so both ways are compared with SentencePiece: natural lines count first.
    """
    if not model.normalization.charsmap:
        return False
    processor = SentencePieceProcessor(model_proto=model.content)
    as_is, composed = (build_normalizer(model.normalization, composing=composing) for composing in (False, True))
    for lines in (NATURAL_LINES, stress_lines()):
        expected = [processor.normalize(line) for line in lines]
        different = [
            sum(normalizer.normalize_str(line) != text for line, text in zip(lines, expected, strict=True))
            for normalizer in (as_is, composed)
        ]
        if different[0] != different[1]:
            return bool(different[1] < different[0])
    return False


def _composition() -> list[normalizers.Normalizer]:
    """Returns steps that compose without moving what stands behind the marks in `_ORDERED_MARKS`."""
    guards = [normalizers.Replace(mark, mark + _JOINER) for mark in _ORDERED_MARKS]
    return [*guards, normalizers.NFC(), normalizers.Replace(Regex(f"(?<=[{_ORDERED_MARKS}]){_JOINER}"), "")]


def splits_before_spaces(model: SentencePieceModel) -> bool:
    """Whether segmenting word by word gives the same pieces, which is cheaper than whole texts.

    It does when no piece reaches over the start of a word and when the mark itself is a piece: otherwise unknown
    stretches could reach over it.
    """
    texts = {piece.text for piece in model.of_kind(*_MATCHED_KINDS)}
    return SPACE_MARK in texts and all(SPACE_MARK not in text[1:] for text in texts)


def build_pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    """Returns the splitter for models that `splits_before_spaces` allows."""
    return pre_tokenizers.Split(SPACE_MARK, "merged_with_next")


def build_decoder(*, spells_bytes: bool) -> decoders.Decoder:
    """Returns the decoder that joins pieces into text and trims white space at both ends."""
    joining: Iterable[decoders.Decoder] = (
        decoders.Fuse(),
        decoders.Replace(SPACE_MARK, " "),
        decoders.Replace(Regex(r"\A\s+|\s+\z"), ""),
    )
    return decoders.Sequence([*((decoders.ByteFallback(),) if spells_bytes else ()), *joining])
