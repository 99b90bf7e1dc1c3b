"""Tokenizer files of NLLB and mBART, whose ids are those of SentencePiece moved aside for fairseq's special tokens.

Ids begin with `<s>`, `<pad>`, `</s>` and `<unk>` and go on with the pieces after SentencePiece's own three special
ones, the languages in the order in which the checkpoint lists them, and `<mask>`. Ids that the checkpoint gives its
added tokens itself come first: fine-tuned networks may have more languages.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from export.tokenizer.added_tokens import AddedTokens, read_added_tokens
from export.tokenizer.conversion import convert_pieces
from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.folder import TokenizerFolder
from export.tokenizer.language_lists import MBART25, MBART50
from export.tokenizer.original import PieceOriginal, PieceSide, SpecialIds, Vocabulary
from export.tokenizer.sentencepiece_model import SentencePieceModel
from export.tokenizer.tokenizer_file import FileRules, convert_file, has_only_a_file, read_tokenizer_file

MODEL_FILE = "sentencepiece.bpe.model"
_SPECIAL_IDS: Mapping[str, int] = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
_ROLES = SpecialIds(eos=2, unk=3, pad=1)
_MASK = "<mask>"
_LANGUAGE = re.compile(r"[A-Za-z]{2,}(?:[_-][A-Za-z0-9]+)*")


def convert_nllb(folder: Path) -> ConvertedTokenizers:
    """Converts the tokenizer files of an NLLB checkpoint. Raises ExportError with every problem found."""
    return _convert(folder, needs_languages=True)


def convert_mbart(folder: Path) -> ConvertedTokenizers:
    """Converts the tokenizer files of an mBART checkpoint. Raises ExportError with every problem found."""
    return _convert(folder, needs_languages=False)


def _convert(folder: Path, *, needs_languages: bool) -> ConvertedTokenizers:
    files = TokenizerFolder(folder)
    if has_only_a_file(files, MODEL_FILE):
        return convert_file(read_tokenizer_file(files, FileRules(_LANGUAGE)))
    return convert_pieces(read_fairseq(folder, needs_languages=needs_languages))


def read_fairseq(folder: Path, *, needs_languages: bool) -> PieceOriginal:
    """Reads the tokenizer files of a checkpoint folder. Raises ExportError with every problem found.

    Without `needs_languages`, a checkpoint that lists none has those of the mBART network with as many rows, if any.
    """
    files = TokenizerFolder(folder)
    num_rows = files.number(files.json("config.json", required=True), "vocab_size", least=1)
    added = read_added_tokens(files)
    model = files.sentencepiece(MODEL_FILE)
    files.raise_problems()
    assert model is not None, "a model that cannot be read is a problem"
    pieces = _piece_ids(files, model)
    mask = added.roles.get("mask", _MASK)
    languages = _language_ids(added, len(pieces), () if needs_languages else _published(len(pieces), num_rows))
    if needs_languages and not languages:
        files.problems.append("no file lists the languages: special_tokens_map.json or tokenizer.json should")
    ids = {**pieces, **added.others(), **languages}
    if mask not in ids and (mask_id := added.ids.get(mask, len(pieces) + len(languages))) < num_rows:
        ids[mask] = mask_id
    files.check_ids("token ids", ids, num_rows)
    files.raise_problems()
    special = frozenset([*_SPECIAL_IDS, *added.ids, *languages, mask])
    side = PieceSide(MODEL_FILE, model, Vocabulary(ids, num_rows, special, _ROLES))
    decisions = (
        f"ids: {len(pieces)} pieces, {len(languages)} languages, {num_rows} rows",
        f"languages with an id of their own in the checkpoint: {len(languages.keys() & added.ids.keys())}",
    )
    return PieceOriginal(side, side, languages, decisions=decisions)


def _piece_ids(files: TokenizerFolder, model: SentencePieceModel) -> dict[str, int]:
    """Piece to id, in fairseq's order; a model in another order than the two known ones is a problem."""
    pieces = [piece.text for piece in model.pieces]
    if pieces[: len(_SPECIAL_IDS)] == list(_SPECIAL_IDS):
        return {text: index for index, text in enumerate(pieces)}
    if pieces[:3] != ["<unk>", "<s>", "</s>"]:
        files.problems.append(f"{MODEL_FILE}: begins with {', '.join(pieces[:4])}, an order without a rule for ids")
    return {**_SPECIAL_IDS, **{text: index + 1 for index, text in enumerate(pieces) if index > 2}}


def _language_ids(added: AddedTokens, first_id: int, published: Sequence[str]) -> dict[str, int]:
    """Language to id: as the checkpoint says, otherwise by its place in the list, which begins at `first_id`."""
    explicit = added.others()
    listed = [token for token in added.listed if _LANGUAGE.fullmatch(token)]
    if not listed and not any(_LANGUAGE.fullmatch(token) for token in explicit):
        listed = list(published)
    languages = {token: explicit.get(token, first_id + place) for place, token in enumerate(listed)}
    return languages | {token: token_id for token, token_id in explicit.items() if _LANGUAGE.fullmatch(token)}


def _published(num_pieces: int, num_rows: int) -> Sequence[str]:
    """The languages of the published mBART network that has one row for each piece, each language and the mask."""
    lists = (MBART25, MBART50)
    return next((languages for languages in lists if num_pieces + len(languages) + 1 == num_rows), ())
