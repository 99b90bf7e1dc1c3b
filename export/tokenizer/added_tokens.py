"""Tokens that a checkpoint adds to its SentencePiece pieces, read off the files in which they may be written.

Three files may give ids (tokenizer.json, tokenizer_config.json, added_tokens.json), two only names in an order
(special_tokens_map.json, tokenizer_config.json). Which of the tokens are languages is decided by the families.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from export.tokenizer.folder import TokenizerFolder, token_name

_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
_LISTS = ("additional_special_tokens", "extra_special_tokens")


@dataclass(frozen=True, slots=True)
class AddedTokens:
    """What the files say.

    ids: token to id, for tokens that a file gives an id.
    listed: special tokens besides those with a role, in the order of the files; they may have ids or not.
    roles: name of the token with a role (`mask`), where a file names it.
    """

    ids: Mapping[str, int]
    listed: tuple[str, ...]
    roles: Mapping[str, str]

    def others(self) -> dict[str, int]:
        """Tokens with ids that have no role."""
        return {token: token_id for token, token_id in self.ids.items() if token not in self.roles.values()}


def read_added_tokens(files: TokenizerFolder) -> AddedTokens:
    """Reads the added tokens of a folder; contradictions, and added tokens that are ordinary text, are problems."""
    options = files.json("tokenizer_config.json") or {}
    special = files.json("special_tokens_map.json") or {}
    roles = {
        role: name
        for settings in (options, special)
        for role in _ROLES
        if (name := token_name(settings.get(f"{role}_token"))) is not None
    }
    named = [name for settings in (special, options) for name in _listed(settings)]
    listed = tuple(name for name in dict.fromkeys(named) if name not in roles.values())
    ids: dict[str, int] = {}
    ordinary: set[str] = set()
    for file, entries in _entries(files, options):
        for name, token_id, is_special in entries:
            if ids.setdefault(name, token_id) != token_id:
                files.problems.append(f"{file}: {name} has the id {token_id}, in another file {ids[name]}")
            if not is_special and name not in listed and name not in roles.values():
                ordinary.add(name)
    files.report("added tokens", "to be found in texts, which is not supported", ordinary)
    return AddedTokens(ids, listed, roles)


def _listed(settings: Mapping[str, Any]) -> Iterator[str]:
    for key in _LISTS:
        value = settings.get(key)
        tokens = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        yield from (name for token in tokens if (name := token_name(token)) is not None)


def _entries(
    files: TokenizerFolder, options: Mapping[str, Any]
) -> Iterator[tuple[str, Iterator[tuple[str, int, bool]]]]:
    """Yields files and the tokens in them: name, id, and whether it is special."""
    content = files.json("tokenizer.json") or {}
    yield "tokenizer.json", _valid((token, token.get("id")) for token in content.get("added_tokens") or ())
    decoder = options.get("added_tokens_decoder") or {}
    yield "tokenizer_config.json", _valid((token, int(key)) for key, token in decoder.items() if key.isdigit())
    # This file does not tell special tokens from others; it was written when there were only special ones to write.
    added = files.json("added_tokens.json") or {}
    yield "added_tokens.json", _valid(({"content": name, "special": True}, value) for name, value in added.items())


def _valid(pairs: Iterator[tuple[Any, Any]]) -> Iterator[tuple[str, int, bool]]:
    for token, token_id in pairs:
        name = token_name(token)
        if name is not None and type(token_id) is int and token_id >= 0:
            yield name, token_id, bool(token.get("special")) if isinstance(token, Mapping) else True
