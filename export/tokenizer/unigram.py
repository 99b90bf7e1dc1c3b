"""Unigram segmentation with ids of its own: SentencePiece scores in the order of a translation model's vocabulary."""

from tokenizers import Tokenizer
from tokenizers.models import Unigram

from export.tokenizer.layout import Layout


def build_unigram(layout: Layout, unk_id: int) -> Tokenizer:
    """Returns the tokenizer without normalisation and without special tokens.

    Byte fallback is left to the service, which spells unknown stretches with the hidden byte entries: the library
    would need them under plain names, and then a text could contain them.
    """
    return Tokenizer(Unigram(list(layout.entries), unk_id, byte_fallback=False))
