"""The tokenizers of Marian's own files: SentencePiece models, whose ids are the network's unless a table gives others.

Such a table comes with OPUS-MT's releases; source.spm and target.spm beside it cut the texts. Scripts that come with
such a release (preprocess.sh) are not run.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from export.checkpoint import Checkpoint
from export.marian.folder import MarianFolder
from export.marian.yaml_text import read_vocabulary
from export.tokenizer.conversion import convert_pieces
from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.folder import TokenizerFolder
from export.tokenizer.original import PieceOriginal, PieceSide, SpecialIds, Vocabulary
from export.tokenizer.sentencepiece_model import PieceKind, SentencePieceModel
from service.errors import ExportError

_EOS, _UNK, _PAD = "</s>", "<unk>", "<pad>"
# No text can spell it: normalised text has no plain spaces.
_OTHER_PAD = "<the row after the vocabulary>"
_LANGUAGE_TOKEN = re.compile(r">>([^<>\s]+)<<")
_NEWLINE = "<0x0A>"


def convert_marian_native(checkpoint: Checkpoint) -> ConvertedTokenizers:
    """Converts the tokenizer files beside a Marian model. Raises ExportError with every problem found."""
    return convert_pieces(read_marian_native(checkpoint))


def read_marian_native(checkpoint: Checkpoint) -> PieceOriginal:
    """Reads the tokenizer files beside a Marian model. Raises ExportError with every problem found.

    The row after each vocabulary is the padding id; nothing of Marian's has it.
    """
    folder = marian_files(checkpoint)
    tables = embedding_tables(checkpoint.names)
    files = TokenizerFolder(checkpoint.folder)
    wanted = [
        (vocabulary, pieces, _rows(checkpoint, table))
        for vocabulary, pieces, table in zip(folder.vocabularies, folder.pieces, tables, strict=True)
    ]
    read = {one: _side(files, *one) for one in dict.fromkeys(wanted)}
    source, target = (read[one] for one in wanted)
    if files.problems or source is None or target is None:
        raise ExportError(f"the vocabularies in {checkpoint.folder} cannot be used", files.problems)
    languages = {
        match[1]: token_id
        for piece, token_id in source.vocabulary.ids.items()
        if (match := _LANGUAGE_TOKEN.fullmatch(piece))
    }
    return PieceOriginal(source, target, languages, decisions=_decisions(folder, source, target, languages))


def marian_files(checkpoint: Checkpoint) -> MarianFolder:
    """Where the files of a Marian model are. Raises ExportError for a checkpoint of another kind."""
    if checkpoint.native is None:
        raise ExportError(f"{checkpoint.folder} has no files of Marian's own")
    return checkpoint.native


def embedding_tables(names: frozenset[str]) -> tuple[str, str]:
    """Names of the source and the target token table: a side's own where the file has it, else the common one."""
    source, target = (name if name in names else "Wemb" for name in ("encoder_Wemb", "decoder_Wemb"))
    return source, target


def unspeakable_ids(side: PieceSide, decoding: Mapping[str, object]) -> dict[str, int]:
    """What Marian's decoder never writes unless its settings allow it: the unknown piece, and a newline in bytes."""
    vocabulary = side.vocabulary
    ids = {} if decoding.get("allow-unk") else {_UNK: vocabulary.roles.unk}
    if side.model.byte_fallback and _NEWLINE in vocabulary.ids and not decoding.get("allow-special"):
        ids[_NEWLINE] = vocabulary.ids[_NEWLINE]
    return ids


def _side(files: TokenizerFolder, vocabulary: Path, pieces: Path, rows: int) -> PieceSide | None:
    model = files.sentencepiece(pieces.name)
    if model is None:
        return None
    if vocabulary == pieces:
        ids = {piece.text: token_id for token_id, piece in enumerate(model.pieces)}
        eos, unk = _own_specials(model)
    else:
        try:
            ids = read_vocabulary(vocabulary)
        except ExportError as error:
            files.problems += error.problems or (error.message,)
            return None
        eos, unk = _EOS, _UNK
    missing = [name for name in (eos, unk) if name not in ids]
    files.report(vocabulary.name, "special pieces missing", missing)
    files.check_ids(vocabulary.name, ids, rows - 1)
    if missing:
        return None
    pad = _PAD if _PAD not in ids else _OTHER_PAD
    ids[pad] = rows - 1
    languages = [piece for piece in ids if _LANGUAGE_TOKEN.fullmatch(piece)]
    special = frozenset([eos, unk, pad, *languages])
    return PieceSide(pieces.name, model, Vocabulary(ids, rows, special, SpecialIds(ids[eos], ids[unk], ids[pad])))


def _own_specials(model: SentencePieceModel) -> tuple[str, str]:
    """The end and unknown pieces of a SentencePiece model, by their kind, else by their usual names."""
    control = [piece.text for piece in model.of_kind(PieceKind.CONTROL)]
    unknown = [piece.text for piece in model.of_kind(PieceKind.UNKNOWN)]
    return control[0] if len(control) == 1 else _EOS, unknown[0] if unknown else _UNK


def _rows(checkpoint: Checkpoint, table: str) -> int:
    shape = checkpoint.shape(table) if table in checkpoint.names else ()
    return shape[0] if shape else 1


def _decisions(
    folder: MarianFolder, source: PieceSide, target: PieceSide, languages: Mapping[str, int]
) -> tuple[str, ...]:
    roles = target.vocabulary.roles
    lines = [
        f"vocabularies: {'shared' if source.vocabulary is target.vocabulary else 'separate'}",
        f"source: {len(source.vocabulary.ids) - 1} pieces in {source.vocabulary.num_rows - 1} rows",
        f"target: {len(target.vocabulary.ids) - 1} pieces in {target.vocabulary.num_rows - 1} rows",
        f"special ids: end {roles.eos}, unknown {roles.unk}; padding is the row of zeros after the vocabulary",
        f"language tokens: {len(languages)}",
    ]
    scripts = [name for name in ("preprocess.sh", "postprocess.sh") if (folder.model.parent / name).is_file()]
    lines += [f"{name} is not run: texts go to SentencePiece as they are" for name in scripts]
    return tuple(lines)
