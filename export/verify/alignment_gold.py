"""What cross-attention is measured against: which tokens of a source some tokens of its translation come from.

Either from pairs of sentences linked by hand, or from a model's own translations: a number or name that stands in both
texts once comes from itself. Texts are seen as the pieces of the vocabulary, so any tokenizer's will do.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

_MARKED = re.compile(r"([^\s_]+?)_(\d+)")
_WORD = re.compile(r"\w+(?:['\u2019:.,]\w+)*|[^\w\s]")
# How tokenizers write the space before a piece.
_SPACES = "\u2581\u0120"
_LONGEST_PIECE = 32
# A copied word ends where its letters or digits do; what has no spaces between words may go on around it.
_LATIN = r"[0-9A-Za-z\u00c0-\u024f]"

# Codes of the languages of the pairs linked by hand; each list has the code of the file first.
_CODES = (("en", "eng", "eng_Latn", "en_XX"), ("de", "deu", "ger", "deu_Latn", "de_DE"))


@dataclass(frozen=True, slots=True)
class LinkedTokens:
    """One source, its translation and the links between them, all as places of tokens in either.

    words: the source's words; special tokens belong to none. links: tokens of a target word, and which of `words` says
    the same.
    """

    words: tuple[tuple[int, ...], ...]
    links: tuple[tuple[tuple[int, ...], int], ...]


@dataclass(frozen=True, slots=True)
class LinkedPair:
    """Two texts that say the same. links: characters (start, end) of a word in each, source first."""

    source: str
    target: str
    links: tuple[tuple[tuple[int, int], tuple[int, int]], ...]


def linked_pairs(source: str, target: str) -> tuple[LinkedPair, ...]:
    """The pairs linked by hand for two language codes, in that direction; none for most languages."""
    names = [next((codes[0] for codes in _CODES if code in codes), "") for code in (source, target)]
    if not all(names) or names[0] == names[1]:
        return ()
    lines = _lines("alignment.en-de.tsv")
    return tuple(_pair(*(line.split("\t") if names[0] == "en" else reversed(line.split("\t")))) for line in lines)


def sentences_to_copy_from() -> tuple[str, ...]:
    """English sentences with numbers and names that most languages keep as they are."""
    return _lines("alignment.en.txt")


def shortest_encoding(text: str, ids: Mapping[str, int]) -> list[int] | None:
    """The fewest pieces that spell a text; None if none do. `ids`: piece to id.

    A model may have been trained on another segmentation; for finding out where it looks this one is near enough.
    """
    space = max(_SPACES, key=lambda mark: sum(piece.startswith(mark) for piece in ids))
    spelled = space + text.replace(" ", space)
    best: list[tuple[int, ...] | None] = [()]
    for end in range(1, len(spelled) + 1):
        found: tuple[int, ...] | None = None
        for start in range(max(0, end - _LONGEST_PIECE), end):
            before, piece = best[start], ids.get(spelled[start:end])
            if before is not None and piece is not None and (found is None or len(before) + 1 < len(found)):
                found = (*before, piece)
        best.append(found)
    return None if best[-1] is None else list(best[-1])


def linked_by_hand(pair: LinkedPair, source: Sequence[str], target: Sequence[str]) -> LinkedTokens | None:
    """Puts a pair's links on tokens; None if its pieces (empty for special tokens) do not spell its texts."""
    if _text(source).strip() != pair.source or _text(target).strip() != pair.target:
        return None
    return _on_tokens(source, target, pair.links)


def linked_by_copies(source: Sequence[str], target: Sequence[str]) -> LinkedTokens:
    """Links what stands once in both texts, of which only the pieces are given (empty for special tokens).

    Single letters and words in small letters are no evidence: other languages may have them by chance ("in").
    """
    texts = [_text(pieces).strip() for pieces in (source, target)]
    found = []
    for word in {match[0]: None for match in _WORD.finditer(texts[0])}:
        if not (word[0].isdigit() or (len(word) > 1 and word[0].isupper())):
            continue
        alone = re.compile(rf"(?<!{_LATIN})(?<!{_LATIN}[.,:]){re.escape(word)}(?![.,:]?{_LATIN})")
        places = [[match.span() for match in alone.finditer(text)] for text in texts]
        if len(places[0]) == len(places[1]) == 1:
            found.append((places[0][0], places[1][0]))
    return _on_tokens(source, target, found)


def _lines(name: str) -> tuple[str, ...]:
    return tuple(files("export.corpus").joinpath(name).read_text(encoding="utf-8").splitlines())


def _pair(source: str, target: str) -> LinkedPair:
    (source_text, sources), (target_text, targets) = _unmarked(source), _unmarked(target)
    links = tuple((sources[number], targets[number]) for number in sorted(sources.keys() & targets.keys()))
    return LinkedPair(source_text, target_text, links)


def _unmarked(marked: str) -> tuple[str, dict[int, tuple[int, int]]]:
    """Takes the numbers off the words of a line; returns the text and where the word of each number is."""
    text, end = "", 0
    places: dict[int, tuple[int, int]] = {}
    for match in _MARKED.finditer(marked):
        text += marked[end : match.start()] + match[1]
        places[int(match[2])] = (len(text) - len(match[1]), len(text))
        end = match.end()
    return text + marked[end:], places


def _text(pieces: Sequence[str]) -> str:
    return "".join(pieces).translate(dict.fromkeys(map(ord, _SPACES), " "))


def _on_tokens(
    source: Sequence[str], target: Sequence[str], links: Sequence[tuple[tuple[int, int], tuple[int, int]]]
) -> LinkedTokens:
    source_places, target_places = _places(source), _places(target)
    spans = [match.span() for match in _WORD.finditer(_text(source).strip())]
    found = [(_tokens(target_places, there), spans.index(here)) for here, there in links if here in spans]
    return LinkedTokens(
        words=tuple(_tokens(source_places, span) for span in spans),
        links=tuple((tokens, word) for tokens, word in found if tokens),
    )


def _places(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Where the letters of each piece are in the text without spaces around it."""
    text = _text(pieces)
    position = len(text.lstrip()) - len(text)
    places = []
    for piece in pieces:
        letters = piece.lstrip(_SPACES)
        position += len(piece)
        places.append((position - len(letters), position))
    return places


def _tokens(places: Sequence[tuple[int, int]], span: tuple[int, int]) -> tuple[int, ...]:
    return tuple(place for place, (start, end) in enumerate(places) if start < span[1] and span[0] < end)
