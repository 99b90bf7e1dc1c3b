"""What stands for placeholders in a model's text: words that models copy although they never learnt to.

Tried on the bundled model: a capital with a digit, as X1, comes back exactly once in nine of ten short sentences, a
number in almost as many, and in four of ten where the first did not. Names come back as often, but belong to one script
and get inflected; what is written with brackets or signs is lost more often. What comes of it in the service
is shown by `python -m bench preservation`.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

# More in one sentence are hardly ever all copied.
MOST_SURROGATES: Final = 9
_CAPITALS: Final = "XQZKWVY"
_NUMBERS: Final = range(365, 1_000, 23)


def surrogate_series(text: str, count: int, is_known: Callable[[str], bool]) -> Iterator[tuple[str, ...]]:
    """Give ways of naming `count` placeholders, the best first: no name is in the text or a part of another name.

    text: what the model reads beside the names. is_known: says whether its vocabulary can express a text.
    """
    if count > MOST_SURROGATES:
        return
    folded = text.casefold()
    for names in ((f"{capital}{digit}" for capital in _CAPITALS for digit in range(1, 10)), map(str, _NUMBERS)):
        usable = (name for name in names if name.casefold() not in folded and "0" not in name and is_known(name))
        series = tuple(islice(usable, count))
        if len(series) == count:
            yield series
