"""Tokenization by a checkpoint's own tokenizer.json: the measure of what is made of one.

Texts that spell special tokens are the exception: the original finds them where the package must not, so they are
compared with the original without those entries.
"""

import json
from collections.abc import Sequence

from tokenizers import Tokenizer

from export.tokenizer.oracle import trim
from export.tokenizer.original import FileOriginal
from export.tokenizer.tokenizer_file import without_special


class FileOracle:
    """Encodes source texts and decodes target ids with the file of a checkpoint; nothing about it can be a tie."""

    def __init__(self, original: FileOriginal) -> None:
        self._vocabulary = original.vocabulary
        self._special = {original.vocabulary.ids[name] for name in original.vocabulary.special}
        self._tokenizer = Tokenizer.from_str(original.content)
        self._tokenizer.encode_special_tokens = True
        self._without = Tokenizer.from_str(json.dumps(without_special(original)))

    def source_ids(self, text: str) -> list[int]:
        """Returns the ids of a source text without special ids."""
        unk = self._vocabulary.roles.unk
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        if self._special & (set(ids) - {unk}):
            ids = self._without.encode(text, add_special_tokens=False).ids
        return [token_id if token_id < self._vocabulary.num_rows else unk for token_id in ids]

    def target_ids(self, text: str) -> list[int]:
        """Returns the ids of a target text: the sides are the same."""
        return self.source_ids(text)

    def target_text(self, ids: Sequence[int]) -> str:
        """Returns the text of target ids; special ids and rows without a piece leave no trace."""
        visible = [token_id for token_id in ids if token_id not in self._special]
        return trim(str(self._tokenizer.decode(visible)))

    def normalized(self, text: str) -> str:
        """Returns the source text that is cut into pieces."""
        normalizer = self._tokenizer.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))

    def restored(self, normalized: str) -> str:
        """Returns the text: there are no placeholders."""
        return normalized

    def is_tie(self, text: str, pieces: Sequence[str]) -> bool:
        """Returns False: the same program cuts both."""
        return False
