"""The ways to translate items with placeholders, best first, the last of which always holds.

An atom that reads like a word is given to the model as a surrogate; if the model does not copy it, it is left out and
put back where the alignment clearly says; if it does not say, the parts around it are translated on their own. Tags and
all else are left out and put back in every way.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from service.text.alignment import Link
from service.text.document import Item
from service.text.model_text import ModelText, grouped, is_atom, is_shown, model_text
from service.text.spaces import WHITE_SPACE
from service.text.surrogates import surrogate_series
from service.text.weaving import joined, weave

Way = Literal["copied", "aligned", "parts"]

# Above this, putting back what was left out beats translating parts (chrF of the bundled model on four kinds of text).
_LEAST_SUPPORT: Final = 0.8
_STOPS: Final = ".。"
_SENTENCE_ENDS: Final = _STOPS + "!?:;…！？"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to translate items.

    items: what is translated. way: what becomes of atoms that read like words; None where there are none. texts: what
    the model is to translate. layout: what the target is made of, numbers of texts and items that stay. always_holds:
    there is no way after it.
    """

    items: tuple[Item, ...]
    way: Way | None
    texts: tuple[ModelText, ...]
    layout: tuple[int | tuple[Item, ...], ...]
    always_holds: bool

    @property
    def needs_links(self) -> bool:
        """Whether weaving looks at the links of the translations."""
        return any(
            piece.text is None and 0 < piece.span.start == piece.span.end < len(model.text)
            for model in self.texts
            for piece in model.pieces
        )

    def weave(self, results: Sequence[tuple[str, Sequence[Link]]]) -> tuple[Item, ...] | None:
        """Return the items of the target, or None where this way does not hold and the next is to be tried.

        results: the translation of each of the texts, with the links between their words where they are needed. A
        blank one stands for its text where there is no other way.
        """
        if all(model.text == target for model, (target, _) in zip(self.texts, results, strict=True)):
            return self.items
        items: list[Item] = []
        for part in self.layout:
            woven = self._woven(self.texts[part], *results[part]) if isinstance(part, int) else part
            if woven is None:
                return None
            items += woven
        return joined(items)

    def _woven(self, model: ModelText, target: str, links: Sequence[Link]) -> tuple[Item, ...] | None:
        if self.way == "parts":
            target = _without_added_stop(target, model.text)
        woven = weave(model, target, links, _LEAST_SUPPORT if self.way == "aligned" else 0.0)
        return model.items if woven is None and self.always_holds else woven


def attempts(items: Sequence[Item], is_known: Callable[[str], bool]) -> Iterator[Attempt]:
    """Give the ways to translate the items of a segment, in the order in which they are to be tried.

    is_known: says whether the model's vocabulary can express a text.
    """
    items = tuple(items)
    groups = grouped(items)
    num_words = sum(map(is_shown, groups))
    left_out = model_text(items)
    if num_words == 0:
        yield Attempt(items, None, (left_out,), (0,), always_holds=True)
        return
    for series in surrogate_series(left_out.text, num_words, is_known):
        yield Attempt(items, "copied", (model_text(items, series),), (0,), always_holds=False)
    yield Attempt(items, "aligned", (left_out,), (0,), always_holds=False)
    yield _in_parts(items, groups)


def _in_parts(items: tuple[Item, ...], groups: Sequence[tuple[Item, ...]]) -> Attempt:
    texts: list[ModelText] = []
    layout: list[int | tuple[Item, ...]] = []
    run: list[Item] = []
    for group in (*groups, ()):
        if group and not is_shown(group):
            run += group
            continue
        before, inner, behind = _trimmed(run)
        model = model_text(inner)
        if any(map(str.isalpha, model.text)):
            layout += [before, len(texts), behind]
            texts.append(model)
        else:
            layout.append(tuple(run))
        layout.append(group)
        run = []
    return Attempt(items, "parts", tuple(texts), tuple(part for part in layout if part != ()), always_holds=True)


def _trimmed(run: Sequence[Item]) -> tuple[tuple[Item, ...], list[Item], tuple[Item, ...]]:
    """Take off the white space at both edges of a run, which no model gives back.

    What is just inside a half at an edge comes out of it.
    """
    inner = list(run)
    before = behind = ""
    first = next((place for place, item in enumerate(inner) if isinstance(item, str) or is_atom(item)), 0)
    if inner and isinstance(text := inner[first], str):
        stripped = text.lstrip(WHITE_SPACE)
        inner[first], before = stripped, text[: len(text) - len(stripped)]
    last = next((place for place, item in reversed([*enumerate(inner)]) if isinstance(item, str) or is_atom(item)), 0)
    if inner and isinstance(text := inner[last], str):
        stripped = text.rstrip(WHITE_SPACE)
        inner[last], behind = stripped, text[len(stripped) :]
    return (before,) if before else (), [item for item in inner if item != ""], (behind,) if behind else ()


def _without_added_stop(target: str, source: str) -> str:
    """Take away the full stop that a model ends a part with that is no sentence."""
    if source[-1:] in _SENTENCE_ENDS:
        return target
    target = target.rstrip(WHITE_SPACE)
    return target[:-1] if target[-1:] in _STOPS and target[-2:-1] not in _STOPS else target
