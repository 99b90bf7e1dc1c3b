"""Checkpoints that have their tokenizer only as a tokenizer.json of the `tokenizers` library.

Its pipeline is kept as it is, with three changes: special pieces get names that no text can hold, added tokens and
templates go, and the target side only decodes. Pipelines that are not of the SentencePiece kind are refused.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from export.tokenizer.added_tokens import read_added_tokens
from export.tokenizer.conversion import build_target
from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.folder import TokenizerFolder
from export.tokenizer.original import FileOriginal, SpecialIds, Vocabulary
from service.package.tokenizer import EntryRole, hidden_name

TOKENIZER_FILE = "tokenizer.json"
_NEEDED = ("eos", "unk", "pad")
_DEFAULT_NAMES = {"eos": "</s>", "pad": "<pad>"}
_FORMS = {"NFC", "NFD", "NFKC", "NFKD", "Nmt", "StripAccents", "Lowercase"}
_NORMALIZERS = {"Sequence", "Precompiled", "Replace", "Strip", "Prepend", *_FORMS}
_SPLITTERS = {"Sequence", "Metaspace", "WhitespaceSplit"}
_DECODERS = {"Sequence", "Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"}
_PLAIN_BPE = {"dropout": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "ignore_merges": False}


@dataclass(frozen=True, slots=True)
class FileRules:
    """What a family knows about the names in its vocabulary.

    language: names of language tokens; the last group that matches is the code.
    among_pieces: whether language tokens are in the vocabulary itself, and not only among the added tokens.
    hidden: names of other tokens that a text must never yield.
    """

    language: re.Pattern[str]
    among_pieces: bool = False
    hidden: re.Pattern[str] = re.compile(r"(?!)")


def has_only_a_file(files: TokenizerFolder, *model_files: str) -> bool:
    """Whether a folder has a tokenizer.json and no SentencePiece model."""
    return files.has(TOKENIZER_FILE) and not any(map(files.has, model_files))


def read_tokenizer_file(files: TokenizerFolder, rules: FileRules) -> FileOriginal:
    """Reads the tokenizer.json of a folder. Raises ExportError with every problem found."""
    num_rows = files.number(files.json("config.json", required=True), "vocab_size", least=1)
    added = read_added_tokens(files)
    text = (files.path / TOKENIZER_FILE).read_text(encoding="utf-8", errors="replace")
    content = _understood(text, files.problems)
    files.raise_problems()
    ids = {**_piece_ids(content), **added.ids}
    names = {**_DEFAULT_NAMES, "unk": _unknown_name(content), **added.roles}
    files.report(TOKENIZER_FILE, "special pieces missing", [names[role] for role in _NEEDED if names[role] not in ids])
    files.check_ids(TOKENIZER_FILE, ids, num_rows)
    files.raise_problems()
    candidates = ids if rules.among_pieces else {*added.ids, *added.listed} & ids.keys()
    languages = {
        match[match.lastindex or 0]: ids[name] for name in candidates if (match := rules.language.fullmatch(name))
    }
    marks = [name for name in ids if rules.hidden.fullmatch(name)]
    special = frozenset([*names.values(), *added.ids, *added.listed, *marks]) & ids.keys()
    special |= {name for name, token_id in ids.items() if token_id in languages.values()}
    roles = SpecialIds(**{role: ids[names[role]] for role in _NEEDED})
    decisions = (
        f"no SentencePiece model: {TOKENIZER_FILE} is converted, and compared with itself only",
        f"ids: {len(ids)} in {num_rows} rows, {len(languages)} languages",
        f"segmentation: {content['model']['type']}",
    )
    return FileOriginal(
        text, Vocabulary(ids, num_rows, special, roles), dict(sorted(languages.items())), decisions=decisions
    )


def convert_file(original: FileOriginal) -> ConvertedTokenizers:
    """Converts a tokenizer that only exists as a file."""
    vocabulary = original.vocabulary
    return ConvertedTokenizers(
        source_json=Tokenizer.from_str(json.dumps(without_special(original))).to_str(),
        target_json=build_target(vocabulary, spells_bytes="<0x00>" in vocabulary.ids).to_str(),
        source_vocabulary_size=vocabulary.num_rows,
        target_vocabulary_size=vocabulary.num_rows,
        source_special=vocabulary.roles,
        target_special=vocabulary.roles,
        language_ids=original.language_ids,
        original=original,
        language_lead_ids=original.language_lead_ids,
        decisions=original.decisions,
    )


def without_special(original: FileOriginal) -> dict[str, Any]:
    """Returns the content with special pieces out of reach of texts and an entry for every row."""
    content = _canonical(original.content)
    vocabulary, model = original.vocabulary, content["model"]
    rows = {row: hidden_name(EntryRole.ROW, str(row)) for row in range(vocabulary.num_rows)}
    rows |= {token_id: name for name, token_id in vocabulary.ids.items()}
    rows |= {
        token_id: hidden_name(EntryRole.SPECIAL, name)
        for name, token_id in vocabulary.ids.items()
        if name in vocabulary.special
    }
    if model["type"] == "BPE":
        model["vocab"] = {rows[token_id]: token_id for token_id in sorted(rows)}
        model["merges"] = [pair for pair in model["merges"] if {*pair, "".join(pair)} <= model["vocab"].keys()]
        model["unk_token"] = rows[vocabulary.roles.unk]
    else:
        scores = dict(enumerate(score for _, score in model["vocab"]))
        model["vocab"] = [[rows[token_id], scores.get(token_id, 0.0)] for token_id in sorted(rows)]
    return {**content, "added_tokens": [], "post_processor": None}


def _canonical(text: str) -> dict[str, Any]:
    """The content of a tokenizer.json as the library writes it today: files of older versions lack fields."""
    content: dict[str, Any] = json.loads(Tokenizer.from_str(text).to_str())
    return content


def _understood(text: str, problems: list[str]) -> dict[str, Any]:
    try:
        content = _canonical(text)
    except Exception as error:  # the library raises plain Exception for every kind of malformed file
        problems.append(f"{TOKENIZER_FILE} cannot be read: {error}")
        return {}
    problems.extend(f"{TOKENIZER_FILE}: {reason}" for reason in _unsupported(content))
    return content


def _piece_ids(content: Mapping[str, Any]) -> dict[str, int]:
    vocabulary = content["model"]["vocab"]
    return dict(vocabulary) if isinstance(vocabulary, dict) else {name: row for row, (name, _) in enumerate(vocabulary)}


def _unknown_name(content: Mapping[str, Any]) -> str:
    model = content["model"]
    return str(model["unk_token"] if model["type"] == "BPE" else model["vocab"][model["unk_id"]][0])


def _unsupported(content: Mapping[str, Any]) -> list[str]:
    """What a converted tokenizer could not honour."""
    model = content["model"]
    reasons = []
    for part, known in (("normalizer", _NORMALIZERS), ("pre_tokenizer", _SPLITTERS), ("decoder", _DECODERS)):
        unknown = sorted({kind for kind, _ in _steps(content[part])} - known)
        if unknown:
            reasons.append(f"its {part} has {', '.join(unknown)}, which is not converted")
    marks = [step["replacement"] for kind, step in _steps(content["pre_tokenizer"]) if kind == "Metaspace"]
    if marks != ["\u2581"]:
        reasons.append("its pre_tokenizer does not turn spaces into U+2581")
    if model["type"] not in ("BPE", "Unigram"):
        reasons.append(f"its model is {model['type']}, only BPE and Unigram are converted")
    elif model["type"] == "Unigram":
        if model["byte_fallback"]:
            reasons.append("it spells unknown characters in bytes, which is not converted for Unigram")
        if model["unk_id"] is None:
            reasons.append("it has no unknown token")
    else:
        odd = [key for key, plain in _PLAIN_BPE.items() if model.get(key) not in (plain, "", 0.0)]
        reasons.extend(f"its model sets {key}, which is not converted" for key in odd)
        if model["unk_token"] is None:
            reasons.append("it has no unknown token")
    return reasons


def _steps(part: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every component of a pipeline part, sequences opened."""
    if part is None:
        return
    yield part["type"], part
    for key in ("normalizers", "pretokenizers", "decoders"):
        for step in part.get(key) or ():
            yield from _steps(step)
