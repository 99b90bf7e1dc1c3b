"""MarianMT (OPUS-MT) tokenizer files.

Pieces come from source.spm and target.spm, ids from vocab.json (and target_vocab.json when the vocabularies are
separate); SentencePiece's own ids mean nothing to the model. Pieces that the vocabulary lacks segment the text all
the same and become the unknown id one by one. Punctuation is not normalised first: the Hugging Face tokenizer only
sets that up and never calls it. Language tokens (`>>xxx<<`) exist in the vocabulary only and are never found in texts.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from export.tokenizer.conversion import convert_pieces
from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.folder import TokenizerFolder, token_name
from export.tokenizer.original import PieceOriginal, PieceSide, SpecialIds, Vocabulary
from export.tokenizer.sentencepiece_model import SentencePieceModel

_LANGUAGE_TOKEN = re.compile(r">>([^<>\s]+)<<")
_SPECIAL_PIECES = {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}


def convert_marian(folder: Path) -> ConvertedTokenizers:
    """Converts the tokenizer files in a checkpoint folder. Raises ExportError with every problem found."""
    return convert_pieces(read_marian(folder))


def read_marian(folder: Path) -> PieceOriginal:
    """Reads the tokenizer files of a checkpoint folder. Raises ExportError with every problem found."""
    files = TokenizerFolder(folder)
    config = files.json("config.json", required=True)
    options = files.json("tokenizer_config.json") or {}
    special = {role: token_name(options.get(f"{role}_token")) or name for role, name in _SPECIAL_PIECES.items()}
    separate = options.get("separate_vocabs") is True
    num_source_rows = files.number(config, "vocab_size", least=1)
    num_target_rows = files.number(config, "decoder_vocab_size", least=1, default=num_source_rows)
    source_ids = files.vocabulary("vocab.json", num_source_rows, special.values())
    target_ids = source_ids
    if separate or num_target_rows != num_source_rows:
        target_name = "target_vocab.json" if separate else "vocab.json"
        target_ids = files.vocabulary(target_name, num_target_rows, special.values())
    models = [files.sentencepiece(name) for name in ("source.spm", "target.spm")]
    files.raise_problems()
    vocabularies = (
        _vocabulary(source_ids, num_source_rows, special),
        _vocabulary(target_ids, num_target_rows, special),
    )
    return _original(models, vocabularies, separate=separate, cleans_up=options.get("clean_up_tokenization_spaces"))


def _vocabulary(ids: Mapping[str, int], num_rows: int, special: Mapping[str, str]) -> Vocabulary:
    languages = [piece for piece in ids if _LANGUAGE_TOKEN.fullmatch(piece)]
    roles = SpecialIds(**{role: ids[piece] for role, piece in special.items()})
    return Vocabulary(ids, num_rows, frozenset([*special.values(), *languages]), roles)


def _original(
    models: list[SentencePieceModel | None],
    vocabularies: tuple[Vocabulary, Vocabulary],
    *,
    separate: bool,
    cleans_up: object,
) -> PieceOriginal:
    source_model, target_model = models
    assert source_model is not None, "a model that cannot be read is a problem"
    assert target_model is not None, "a model that cannot be read is a problem"
    source, target = vocabularies
    languages = {match[1]: source.ids[piece] for piece in source.ids if (match := _LANGUAGE_TOKEN.fullmatch(piece))}
    roles = source.roles
    decisions = [
        f"vocabularies: {'separate' if separate else 'shared'}",
        f"source: {len(source.ids)} pieces in {source.num_rows} rows",
        f"target: {len(target.ids)} pieces in {target.num_rows} rows",
        f"special ids from vocab.json: end {roles.eos}, unknown {roles.unk}, padding {roles.pad}",
        f"language tokens: {len(languages)}",
    ]
    if cleans_up is True:
        decisions.append(
            "clean_up_tokenization_spaces is not applied: it deletes spaces before punctuation that the model wrote"
        )
    return PieceOriginal(
        source=PieceSide("source.spm", source_model, source),
        target=PieceSide("target.spm", target_model, target),
        language_ids=languages,
        decisions=tuple(decisions),
    )
