"""MarianMT (OPUS-MT) tokenizer files to package tokenizer files.

Pieces come from source.spm and target.spm, ids from vocab.json (and target_vocab.json when the vocabularies are
separate); SentencePiece's own ids mean nothing to the model. Pieces that the vocabulary lacks segment the text all
the same and become the unknown id one by one. Punctuation is not normalised first: the Hugging Face tokenizer only
sets that up and never calls it. Language tokens (`>>xxx<<`) exist in the vocabulary only and are never found in texts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel

from export.tokenizer.marian_files import MarianFiles, read_marian_files
from export.tokenizer.normalization import build_decoder, composes, splits_before_spaces
from export.tokenizer.sentencepiece_model import PieceKind
from export.tokenizer.unigram import UnigramLayout, Vocabulary, build_unigram, lay_out_unigram


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids of the special pieces in one vocabulary."""

    eos: int
    unk: int
    pad: int


@dataclass(frozen=True, slots=True)
class MarianTokenizers:
    """The converted tokenizers and what the service has to know beside them.

    source_json, target_json: contents of the two tokenizer files.
    source_vocabulary_size, target_vocabulary_size: rows of the embedding tables; source ids from there on are unknown.
    language_ids: token (`>>deu<<`) to source id, empty for models of one pair.
    decisions: sentences for the export log.
    """

    source_json: str
    target_json: str
    source_vocabulary_size: int
    target_vocabulary_size: int
    source_special: SpecialIds
    target_special: SpecialIds
    language_ids: Mapping[str, int]
    decisions: tuple[str, ...]


def convert_marian(checkpoint: Path) -> MarianTokenizers:
    """Converts the tokenizer files in a checkpoint folder. Raises ExportError with every problem found."""
    files = read_marian_files(checkpoint)
    vocabulary = Vocabulary(
        ids=files.source_ids,
        num_rows=files.num_source_rows,
        special=files.hidden_source_pieces,
        unk_id=files.source_ids[files.special.unk],
    )
    layout = lay_out_unigram(files.source_model, vocabulary)
    return MarianTokenizers(
        source_json=build_unigram(files.source_model, layout, vocabulary.unk_id).to_str(),
        target_json=_build_target(files).to_str(),
        source_vocabulary_size=files.num_source_rows,
        target_vocabulary_size=files.num_target_rows,
        source_special=_special_ids(files, files.source_ids),
        target_special=_special_ids(files, files.target_ids),
        language_ids=files.language_ids,
        decisions=_decisions(files, layout),
    )


def _build_target(files: MarianFiles) -> Tokenizer:
    """Returns a tokenizer that only decodes: special pieces are marked so that decoding can leave them out."""
    tokenizer = Tokenizer(WordLevel(dict(files.target_ids), unk_token=files.special.unk))
    control = [piece.text for piece in files.target_model.of_kind(PieceKind.CONTROL) if piece.text in files.target_ids]
    invisible = dict.fromkeys([*files.special.all, *control])
    tokenizer.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in invisible])
    tokenizer.decoder = build_decoder(files.target_model)
    return tokenizer


def _special_ids(files: MarianFiles, ids: Mapping[str, int]) -> SpecialIds:
    return SpecialIds(eos=ids[files.special.eos], unk=ids[files.special.unk], pad=ids[files.special.pad])


def _decisions(files: MarianFiles, layout: UnigramLayout) -> tuple[str, ...]:
    normalization = files.source_model.normalization
    special = _special_ids(files, files.source_ids)
    composition = " between compositions (NFC)" if composes(normalization) else ""
    lines = [
        f"vocabularies: {'separate' if files.separate else 'shared'}",
        f"source: {len(files.source_ids)} pieces in {files.num_source_rows} rows",
        f"target: {len(files.target_ids)} pieces in {files.num_target_rows} rows",
        f"special ids from vocab.json: end {special.eos}, unknown {special.unk}, padding {special.pad}",
        f"language tokens: {len(files.language_ids)}",
        f"pieces of source.spm that vocab.json lacks, read as unknown: {len(layout.added)}",
        f"normalization: {normalization.name or 'none'}{composition}",
        f"segmentation: {'word by word' if splits_before_spaces(files.source_model) else 'whole texts'}",
    ]
    if files.cleans_up_spaces:
        lines.append(
            "clean_up_tokenization_spaces is not applied: it deletes spaces before punctuation that the model wrote"
        )
    return tuple(lines)
