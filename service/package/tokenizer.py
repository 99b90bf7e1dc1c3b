"""Text to source ids and target ids to text, with the two tokenizer files of a package.

All that differs between model families (normalisation, pieces, how ids become text) is in the files; the exporter
writes them. Language and end tokens are added by the caller as numbers: nothing in a text is ever read as a special
token. A text must be valid Unicode: lone surrogates are refused where requests are read, and raise TypeError here.

Entries of the source file that must not be found in a text carry a hidden name: a role, a plain space and the piece.
Normalised text has no plain spaces, so such a name matches nothing; `EntryRole` says what each kind is for.
"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from tokenizers import Tokenizer

from service.errors import PackageInvalidError

# Waking the library's threads takes longer than cutting so many sentences does.
_FEW_TEXTS = 4


class EntryRole(StrEnum):
    """Why an entry of the source tokenizer is hidden from texts."""

    SURFACE = "surface"
    """A piece the segmentation never yields; it stands for an unknown stretch that is spelled exactly so."""
    BYTE = "byte"
    """One byte of an unknown stretch, for models that spell unknown characters in bytes."""
    SPECIAL = "special"
    """End, padding, unknown and language tokens: only ever added as numbers."""
    ROW = "row"
    """An embedding row without a token."""


def hidden_name(role: EntryRole, piece: str) -> str:
    """Returns the name under which `piece` stands in a source tokenizer file without being found in texts."""
    return f"{role} {piece}"


class SourceTokenizer:
    """Segments source texts as the model's training did. Safe to use from several threads."""

    def __init__(self, tokenizer: Tokenizer, vocabulary_size: int, unk_id: int) -> None:
        self._tokenizer = tokenizer
        self._vocabulary_size = vocabulary_size
        self._unk_id = unk_id
        self._byte_ids = _byte_ids(tokenizer)

    @classmethod
    def load(cls, path: Path, vocabulary_size: int, unk_id: int) -> "SourceTokenizer":
        """Reads a source tokenizer file. Raises PackageInvalidError when it cannot be read or has too few entries."""
        return cls.from_json(_read(path), vocabulary_size, unk_id)

    @classmethod
    def from_json(cls, content: str, vocabulary_size: int, unk_id: int) -> "SourceTokenizer":
        """Builds the tokenizer from the content of its file. Raises PackageInvalidError like `load`."""
        tokenizer = _parse(content)
        num_entries = tokenizer.get_vocab_size()
        if not 0 <= unk_id < vocabulary_size <= num_entries:
            raise PackageInvalidError(
                f"the source tokenizer has {num_entries} entries, which does not fit "
                f"a vocabulary of {vocabulary_size} with unknown id {unk_id}"
            )
        return cls(tokenizer, vocabulary_size, unk_id)

    def encode(self, text: str) -> list[int]:
        """Returns the ids of `text`, without special ids; empty for a text of spaces only."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each text, as `encode` would, segmenting many texts in parallel."""
        if len(texts) <= _FEW_TEXTS:
            encodings = [self._tokenizer.encode(text, add_special_tokens=False) for text in texts]
        else:
            encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [self._resolve(text, encoding.ids) for text, encoding in zip(texts, encodings, strict=True)]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Returns the piece behind each id as the checkpoint names it, for display; empty where an id has none."""
        return [_shown_name(self._tokenizer.id_to_token(token_id)) for token_id in ids]

    def _resolve(self, text: str, ids: list[int]) -> list[int]:
        """Replaces unknown stretches by what the vocabulary has for them, and pieces outside it by the unknown id."""
        if self._unk_id in ids:
            ids = self._spell_unknowns(text)
        return [token_id if token_id < self._vocabulary_size else self._unk_id for token_id in ids]

    def _spell_unknowns(self, text: str) -> list[int]:
        # The fast batch call does not tell how stretches are spelled, so the few texts that need it are cut again.
        ids: list[int] = []
        for token_id, surface in segment(self._tokenizer, text):
            ids.extend(self._spelled(surface) if token_id == self._unk_id else (token_id,))
        return ids

    def _spelled(self, surface: str) -> list[int]:
        """Looks an unknown stretch up as a whole, or byte by byte where the model can spell it."""
        if self._byte_ids is not None:
            return [self._byte_ids[byte] for byte in surface.encode()]
        whole = self._tokenizer.token_to_id(hidden_name(EntryRole.SURFACE, surface))
        return [self._unk_id if whole is None else whole]


class TargetTokenizer:
    """Joins target ids into text. Safe to use from several threads."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, path: Path) -> "TargetTokenizer":
        """Reads a target tokenizer file. Raises PackageInvalidError when it cannot be read."""
        return cls.from_json(_read(path))

    @classmethod
    def from_json(cls, content: str) -> "TargetTokenizer":
        """Builds the tokenizer from the content of its file. Raises PackageInvalidError like `load`."""
        return cls(_parse(content))

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of `ids`; the unknown id, other special ids and ids without a piece leave no trace."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=True)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Returns the piece behind each id, for display; empty where an id has none."""
        return [self._tokenizer.id_to_token(token_id) or "" for token_id in ids]


def normalize(tokenizer: Tokenizer, text: str) -> str:
    """Returns the text that is cut into pieces."""
    return text if tokenizer.normalizer is None else str(tokenizer.normalizer.normalize_str(text))


def segment(tokenizer: Tokenizer, text: str) -> list[tuple[int, str]]:
    """Returns the id of each piece of a text, and how the normalised text spells it; slower than encoding."""
    normalized = normalize(tokenizer, text)
    splitter = tokenizer.pre_tokenizer
    words = [normalized] if splitter is None else [word for word, _ in splitter.pre_tokenize_str(normalized)]
    pieces: list[tuple[int, str]] = []
    for word in filter(None, words):
        spelling = word.encode()
        # Where a piece lies in a word is counted in bytes.
        places = ((token.id, slice(*token.offsets)) for token in tokenizer.model.tokenize(word))
        pieces.extend((token_id, spelling[place].decode()) for token_id, place in places)
    return pieces


def _byte_ids(tokenizer: Tokenizer) -> tuple[int, ...] | None:
    """Returns the id of each byte value, or None for a model that does not spell unknown characters in bytes."""
    ids = (tokenizer.token_to_id(hidden_name(EntryRole.BYTE, f"<0x{byte:02X}>")) for byte in range(256))
    known = tuple(token_id for token_id in ids if token_id is not None)
    return known if len(known) == 256 else None


def _shown_name(name: str | None) -> str:
    if name is None:
        return ""
    role, space, piece = name.partition(" ")
    if not space:
        return role
    return "" if role == EntryRole.ROW else piece


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise PackageInvalidError(f"the tokenizer file {path.name} cannot be read: {error}") from None


def _parse(content: str) -> Tokenizer:
    try:
        return Tokenizer.from_str(content)
    except Exception as error:  # the library raises plain Exception for every kind of malformed file
        raise PackageInvalidError(f"a tokenizer file is malformed: {error}") from None
