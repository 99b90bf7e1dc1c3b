"""Makes the two tokenizer files of a package from SentencePiece models and vocabularies, for every family alike.

Nothing here knows a family: which piece has which id, and which pieces a text must never yield, is in the original.
"""

from tokenizers import AddedToken, Tokenizer, normalizers
from tokenizers.models import WordLevel

from export.tokenizer.atoms import atom_steps, find_atoms
from export.tokenizer.bpe import build_bpe
from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.layout import Layout, lay_out
from export.tokenizer.normalization import (
    build_decoder,
    build_normalizer,
    build_pre_tokenizer,
    composes,
    splits_before_spaces,
)
from export.tokenizer.original import PieceOriginal, PieceSide, Vocabulary
from export.tokenizer.sentencepiece_model import ModelType, PieceKind
from export.tokenizer.unigram import build_unigram


def convert_pieces(original: PieceOriginal) -> ConvertedTokenizers:
    """Converts both sides of a tokenizer."""
    source, target = original.source.vocabulary, original.target.vocabulary
    tokenizer, decisions = _build_source(original.source)
    return ConvertedTokenizers(
        source_json=tokenizer.to_str(),
        target_json=_build_target(original.target).to_str(),
        source_vocabulary_size=source.num_rows,
        target_vocabulary_size=target.num_rows,
        source_special=source.roles,
        target_special=target.roles,
        language_ids=original.language_ids,
        original=original,
        language_lead_ids=original.language_lead_ids,
        decisions=(*original.decisions, *decisions),
    )


def build_target(vocabulary: Vocabulary, *, hidden: tuple[str, ...] = (), spells_bytes: bool = False) -> Tokenizer:
    """Returns a tokenizer that only decodes: special and `hidden` pieces are marked, so that decoding drops them."""
    by_id = {token_id: piece for piece, token_id in vocabulary.ids.items()}
    roles = vocabulary.roles
    names = (by_id[token_id] for token_id in (roles.eos, roles.unk, roles.pad))
    others = sorted(vocabulary.special & vocabulary.ids.keys(), key=vocabulary.ids.__getitem__)
    tokenizer = Tokenizer(WordLevel(dict(vocabulary.ids), unk_token=by_id[roles.unk]))
    invisible = dict.fromkeys([*names, *hidden, *others])
    tokenizer.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in invisible])
    tokenizer.decoder = build_decoder(spells_bytes=spells_bytes)
    return tokenizer


def _build_source(side: PieceSide) -> tuple[Tokenizer, tuple[str, ...]]:
    """Returns the source tokenizer and what was decided for it."""
    model = side.model
    composing = composes(model)
    normalizer = build_normalizer(model.normalization, composing=composing)
    atoms = find_atoms(side)
    layout = lay_out(side, atoms)
    if model.model_type is ModelType.BPE:
        tokenizer = build_bpe(side, layout)
    else:
        tokenizer = build_unigram(layout, side.vocabulary.roles.unk)
    tokenizer.normalizer = normalizers.Sequence([*atom_steps(atoms), normalizer]) if atoms else normalizer
    by_word = splits_before_spaces(model)
    if by_word:
        tokenizer.pre_tokenizer = build_pre_tokenizer()
    return tokenizer, _decisions(side, layout, composing=composing, by_word=by_word)


def _build_target(side: PieceSide) -> Tokenizer:
    control = tuple(piece.text for piece in side.model.of_kind(PieceKind.CONTROL) if piece.text in side.vocabulary.ids)
    return build_target(side.vocabulary, hidden=control, spells_bytes=bool(side.model.of_kind(PieceKind.BYTE)))


def _decisions(side: PieceSide, layout: Layout, *, composing: bool, by_word: bool) -> tuple[str, ...]:
    model = side.model
    composition = " between compositions (NFC)" if composing else ""
    lines = [
        f"pieces of {side.file} that the vocabulary lacks, read as unknown: {len(layout.added)}",
        f"normalization: {model.normalization.name or 'none'}{composition}",
        f"segmentation: {model.model_type.name}, {'word by word' if by_word else 'whole texts'}",
    ]
    if model.byte_fallback:
        lines.append("unknown characters are spelled in bytes")
    if layout.atoms:
        lines.append(f"user-defined pieces behind placeholders: {len(layout.atoms)}")
    return tuple(lines)
