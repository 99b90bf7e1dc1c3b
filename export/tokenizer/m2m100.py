"""M2M100 tokenizer files: ids of pieces from vocab.json, and languages (`__de__`) in the rows after them.

Pieces that the vocabulary lacks segment the text all the same and become the unknown id one by one. Ids go by the
values in the file, never by their order.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from export.tokenizer.added_tokens import read_added_tokens
from export.tokenizer.conversion import convert_pieces
from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.folder import TokenizerFolder
from export.tokenizer.language_lists import M2M100, WMT21
from export.tokenizer.original import PieceOriginal, PieceSide, SpecialIds, Vocabulary

MODEL_FILE = "sentencepiece.bpe.model"
VOCABULARY_FILE = "vocab.json"
_TOKEN = re.compile(r"__([A-Za-z0-9][A-Za-z0-9_-]*?)__")
_LISTS: Mapping[str, Sequence[str]] = {"m2m100": M2M100, "wmt21": WMT21}
_SPECIAL_PIECES = {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}


def convert_m2m100(folder: Path) -> ConvertedTokenizers:
    """Converts the tokenizer files of an M2M100 checkpoint. Raises ExportError with every problem found."""
    return convert_pieces(read_m2m100(folder))


def read_m2m100(folder: Path) -> PieceOriginal:
    """Reads the tokenizer files of a checkpoint folder. Raises ExportError with every problem found."""
    files = TokenizerFolder(folder)
    num_rows = files.number(files.json("config.json", required=True), "vocab_size", least=1)
    added = read_added_tokens(files)
    special = {role: added.roles.get(role, name) for role, name in _SPECIAL_PIECES.items()}
    pieces = files.vocabulary(VOCABULARY_FILE, num_rows, special.values())
    model = files.sentencepiece(MODEL_FILE)
    files.raise_problems()
    assert model is not None, "a model that cannot be read is a problem"
    tokens = _language_ids(files, pieces, added.others())
    ids = {**pieces, **added.ids, **tokens}
    files.check_ids("token ids", ids, num_rows)
    files.raise_problems()
    roles = SpecialIds(**{role: ids[piece] for role, piece in special.items()})
    hidden = frozenset([*special.values(), *added.roles.values(), *added.ids, *tokens])
    side = PieceSide(MODEL_FILE, model, Vocabulary(ids, num_rows, hidden, roles))
    languages = {match[1]: token_id for token, token_id in tokens.items() if (match := _TOKEN.fullmatch(token))}
    decisions = (
        f"ids: {len(pieces)} pieces from {VOCABULARY_FILE}, {len(languages)} languages, {num_rows} rows",
        f"special ids from {VOCABULARY_FILE}: end {roles.eos}, unknown {roles.unk}, padding {roles.pad}",
    )
    return PieceOriginal(side, side, languages, decisions=decisions)


def _language_ids(files: TokenizerFolder, pieces: Mapping[str, int], added: Mapping[str, int]) -> dict[str, int]:
    """Language token to id: those of the published list after the vocabulary, and what the checkpoint adds.

    A checkpoint that gives a token of the list another row is contradictory, which is a problem.
    """
    options = files.json("tokenizer_config.json") or {}
    name = options.get("language_codes", "m2m100")
    if name not in _LISTS:
        files.problems.append(f"tokenizer_config.json: language_codes is {name!r}, not one of {', '.join(_LISTS)}")
        return {}
    first_id = len(pieces)
    tokens = {f"__{code}__": first_id + place for place, code in enumerate(_LISTS[name])}
    explicit = {token: token_id for token, token_id in {**pieces, **added}.items() if _TOKEN.fullmatch(token)}
    moved = [token for token, token_id in explicit.items() if tokens.get(token, token_id) != token_id]
    files.report("language tokens", f"not in the row that their place in the list {name} gives them", moved)
    return tokens | explicit
