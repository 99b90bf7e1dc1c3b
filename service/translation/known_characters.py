"""Which characters a model can read and write; what it cannot must be carried past it."""

import unicodedata

from service.package.package import ModelPackage

# Far more than texts have, and a bound on what a caller can make us remember.
_MAX_REMEMBERED = 50_000


class KnownCharacters:
    """Says whether every character of a text is in the vocabularies of a package; remembers those it was asked about.

    A letter or digit must be one the model can read. Anything else (brackets, symbols, emoji) it must also be able to
    write, since such a character is right in a translation only if it comes back as it was.
    """

    def __init__(self, package: ModelPackage) -> None:
        self._tokenizer = package.source_tokenizer
        self._unknown_id = package.manifest.special_ids.source_unk
        ids = range(package.manifest.dimensions.target_vocabulary_size)
        self._written = frozenset("".join(package.target_tokenizer.pieces(ids)))
        self._known: set[str] = set()
        self._unknown: set[str] = set()

    def __call__(self, text: str) -> bool:
        """Says whether the model knows every character of a text."""
        return self._known.issuperset(text) or all(map(self._is_known, text))

    def _is_known(self, char: str) -> bool:
        if char in self._known:
            return True
        if char in self._unknown:
            return False
        is_known = self._looked_up(char)
        remembered = self._known if is_known else self._unknown
        if len(remembered) < _MAX_REMEMBERED:
            remembered.add(char)
        return is_known

    def _looked_up(self, char: str) -> bool:
        if char.isspace():
            return True
        if self._unknown_id in self._tokenizer.encode(char):
            return False
        # Models normalise texts; what a character becomes is what they write.
        return char.isalnum() or self._written.issuperset(unicodedata.normalize("NFKC", char).replace(" ", ""))
