"""T5, mT5 and MADLAD-400 tokenizer files: ids are SentencePiece's own.

T5 has sentinels (`<extra_id_0>` and so on) in the rows after the pieces, in falling order; mT5 has them among the
pieces. MADLAD has a piece for each target language (`<2de>`), which goes in front of a text. All of these are hidden
from texts, though SentencePiece would find those among the pieces there.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer

from export.tokenizer.added_tokens import AddedTokens, read_added_tokens
from export.tokenizer.conversion import convert_pieces
from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.folder import TokenizerFolder
from export.tokenizer.language_lead import find_lead, read_lead
from export.tokenizer.original import FileOriginal, PieceOriginal, PieceSide, SpecialIds, Vocabulary
from export.tokenizer.sentencepiece_model import PieceKind, SentencePieceModel
from export.tokenizer.tokenizer_file import FileRules, convert_file, has_only_a_file, read_tokenizer_file
from service.errors import ExportError

MODEL_FILES = ("spiece.model", "sentencepiece.model")
_SENTINEL = re.compile(r"\u2581?<extra_id_\d+>")
_TAG = re.compile(r"<2[A-Za-z][A-Za-z0-9_-]*>")
_LANGUAGE_TAG = re.compile(r"<2((?!zxx)[a-z]{2,3}(?:_[A-Za-z0-9_]+)?)>")
_DEFAULT_SENTINELS = 100
_USUAL: Mapping[str, int] = {"eos": 1, "pad": 0}
_UNLIKE = "a text after a language piece is not cut like the text alone, so no id can stand for the piece"


def convert_t5(folder: Path) -> ConvertedTokenizers:
    """Converts the tokenizer files of a T5-like checkpoint. Raises ExportError with every problem found."""
    files = TokenizerFolder(folder)
    if not has_only_a_file(files, *MODEL_FILES):
        return convert_pieces(read_t5(folder))
    hidden = re.compile(f"{_SENTINEL.pattern}|{_TAG.pattern}")
    return _lead(read_tokenizer_file(files, FileRules(_LANGUAGE_TAG, among_pieces=True, hidden=hidden)))


def _lead(original: FileOriginal) -> ConvertedTokenizers:
    """Converts a tokenizer.json, with what it puts before a language piece."""
    converted = convert_file(original)
    if not original.language_ids:
        return converted
    pieces = {f"<2{code}>": token_id for code, token_id in original.language_ids.items()}
    tokenizer = Tokenizer.from_str(original.content)
    alone = converted.source_tokenizer()
    lead = find_lead(pieces, lambda text: tokenizer.encode(text, add_special_tokens=False).ids, alone.encode)
    if lead is None:
        raise ExportError(f"tokenizer.json: {_UNLIKE}")
    return convert_file(replace(original, language_lead_ids=lead))


def read_t5(folder: Path) -> PieceOriginal:
    """Reads the tokenizer files of a checkpoint folder. Raises ExportError with every problem found."""
    files = TokenizerFolder(folder)
    config = files.json("config.json", required=True)
    num_rows = files.number(config, "vocab_size", least=1)
    # The defaults are those of the T5 configuration class; a config.json may leave them out.
    eos, pad = (files.number(config, f"{role}_token_id", least=0, default=usual) for role, usual in _USUAL.items())
    added = read_added_tokens(files)
    name = next(filter(files.has, MODEL_FILES), MODEL_FILES[0])
    model = files.sentencepiece(name)
    files.raise_problems()
    assert model is not None, "a model that cannot be read is a problem"
    pieces = {piece.text: index for index, piece in enumerate(model.pieces)}
    ids = {**pieces, **_sentinels(files, pieces, added, num_rows), **added.ids}
    roles = SpecialIds(eos=eos, unk=_unknown_id(model), pad=pad)
    _check(files, model, ids, roles)
    files.check_ids("token ids", ids, num_rows)
    files.raise_problems()
    special = _special(model, ids, added)
    side = PieceSide(name, model, Vocabulary(ids, num_rows, special, roles))
    return _original(side, len(pieces))


def _original(side: PieceSide, num_pieces: int) -> PieceOriginal:
    ids = side.vocabulary.ids
    tags = {piece: match[1] for piece in ids if (match := _LANGUAGE_TAG.fullmatch(piece))}
    lead: tuple[int, ...] = ()
    source = side
    if tags:
        found = read_lead(side, {piece: ids[piece] for piece in tags})
        if found is None:
            raise ExportError(f"{side.file}: {_UNLIKE}")
        lead, source = found
    decisions = [f"ids: {num_pieces} pieces of {side.file}, {side.vocabulary.num_rows} rows"]
    if tags:
        decisions.append(f"language pieces: {len(tags)}, with {len(lead)} ids before one in front of a text")
    if source is not side:
        decisions.append("a text after a language piece begins a word, though one alone does not")
    return PieceOriginal(
        source=source,
        target=side,
        language_ids={code: ids[piece] for piece, code in tags.items()},
        language_lead_ids=lead,
        decisions=tuple(decisions),
    )


def _sentinels(files: TokenizerFolder, pieces: Mapping[str, int], added: AddedTokens, num_rows: int) -> dict[str, int]:
    """Sentinels that are not among the pieces: in falling order after them, as far as there are rows."""
    options = files.json("tokenizer_config.json") or {}
    listed = sum(bool(_SENTINEL.fullmatch(token)) for token in added.listed)
    count = options.get("extra_ids", listed or _DEFAULT_SENTINELS)
    if type(count) is not int or count < 0:
        files.problems.append(f"tokenizer_config.json: extra_ids is {count!r}, not a number of tokens")
        return {}
    if any(_SENTINEL.fullmatch(piece) for piece in pieces):
        return {}
    by_place = {f"<extra_id_{count - 1 - place}>": len(pieces) + place for place in range(count)}
    return {token: token_id for token, token_id in by_place.items() if token_id < num_rows}


def _unknown_id(model: SentencePieceModel) -> int:
    return next((index for index, piece in enumerate(model.pieces) if piece.kind is PieceKind.UNKNOWN), 0)


def _check(files: TokenizerFolder, model: SentencePieceModel, ids: Mapping[str, int], roles: SpecialIds) -> None:
    if not model.of_kind(PieceKind.UNKNOWN):
        files.problems.append("the SentencePiece model has no unknown piece")
    tokens = {token_id: token for token, token_id in ids.items()}
    for role, token_id in (("eos", roles.eos), ("pad", roles.pad)):
        if token_id not in tokens:
            files.problems.append(f"config.json: {role}_token_id is {token_id}, which no token has")
    if roles.eos < len(model.pieces) and model.pieces[roles.eos].kind is not PieceKind.CONTROL:
        piece = model.pieces[roles.eos].text
        files.problems.append(f"config.json: eos_token_id is {roles.eos}, the piece {piece}, which occurs in texts")


def _special(model: SentencePieceModel, ids: Mapping[str, int], added: AddedTokens) -> frozenset[str]:
    control = [piece.text for piece in model.of_kind(PieceKind.CONTROL, PieceKind.UNKNOWN)]
    marks = [token for token in ids if _SENTINEL.fullmatch(token) or _TAG.fullmatch(token)]
    return frozenset([*control, *marks, *added.ids, *added.roles.values()])
