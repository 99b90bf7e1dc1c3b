"""Matching the language codes callers write with those that packages declare."""

from collections.abc import Iterable


def match_code(written: str, declared: Iterable[str]) -> str | None:
    """Returns the declared code that `written` means, or None.

    Case and the kind of separator do not matter; a code with a region or script falls back to its language
    ("en-US" means "en" where only "en" is declared), never the other way round.
    """
    known = {_folded(code): code for code in declared}
    code = _folded(written)
    while code:
        if code in known:
            return known[code]
        code = code.rpartition("-")[0]
    return None


def _folded(code: str) -> str:
    return code.strip().replace("_", "-").casefold()
