"""Subtitles in SubRip (SRT) and WebVTT: the lines of text are rewritten where they stand.

Numbers, times, names, settings, notes, styles, byte order mark and line ends are never touched, and every cue keeps
text of its own. Tags travel with the words; a line of the source is a line of the target where that has words enough.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from service.documents.pairing import nested_pairs
from service.documents.plain import read_plain
from service.documents.splicing import Splice, replacing, spliced
from service.documents.spreading import line_starts
from service.documents.subtitle_cues import Cue, read_srt, read_vtt
from service.documents.subtitle_groups import Slot, groups_of
from service.documents.units import Cutting, Mark, Unit
from service.text.document import Span
from service.text.markup.references import escape_html
from service.text.segmentation import UNSPACED_LANGUAGES
from service.text.spaces import WHITE_SPACE

_SRT_TAG: Final = re.compile(r"</?[A-Za-z]++(?=[\s=>])[^<>]*+>|\{\\[^{}]*+\}")
_VTT_TAG: Final = re.compile(r"<[^<>]*+>")
_NAME: Final = re.compile(r"<(/?)([A-Za-z]+)")
_LINE_BREAK: Final = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


@dataclass(frozen=True, slots=True)
class _Syntax:
    """What the two formats do differently."""

    read: Callable[[str], list[Cue]]
    tag: re.Pattern[str]
    decode: Callable[[str], str]
    encode: Callable[[str], str]


def _without_arrows(text: str) -> str:
    """Returns a text that no reader takes for the times of a cue; SubRip has no way to escape."""
    return text.replace("-->", "->")


_SRT: Final = _Syntax(read_srt, _SRT_TAG, str, _without_arrows)
_VTT: Final = _Syntax(read_vtt, _VTT_TAG, html.unescape, escape_html)


@dataclass(frozen=True, slots=True, eq=False)
class _Tag(Mark):
    """A tag as it is written."""

    source: str = ""


@dataclass(frozen=True, slots=True)
class _Group:
    slots: Sequence[Slot]
    unit: Unit[_Tag]


class SubtitleFile:
    """Subtitles in UTF-8; one document for each group of lines that are translated together."""

    def __init__(self, content: bytes, cutting: Cutting, syntax: _Syntax, target: str) -> None:
        self._plain = read_plain(content)
        self._syntax = syntax
        self._spaced = target not in UNSPACED_LANGUAGES
        self._groups = [group for group in self._all_groups(cutting) if group.unit.is_translatable]
        self.documents = tuple(group.unit.document for group in self._groups)

    @classmethod
    def srt(cls, content: bytes, cutting: Cutting, target: str) -> "SubtitleFile":
        """Reads SubRip; target: shortest code of the language that is translated into."""
        return cls(content, cutting, _SRT, target)

    @classmethod
    def vtt(cls, content: bytes, cutting: Cutting, target: str) -> "SubtitleFile":
        """Reads WebVTT; see `srt`."""
        return cls(content, cutting, _VTT, target)

    def put_together(self, targets: Sequence[str]) -> bytes:
        """Returns the file with the translations of its documents, in their order."""
        splices: list[Splice[str]] = []
        for group, target in zip(self._groups, targets, strict=True):
            items = group.unit.read(target)
            if items is not None:
                splices.extend(self._splices(group.slots, items))
        return self._plain.encoded(spliced(self._plain.text, splices))

    def _all_groups(self, cutting: Cutting) -> Iterator[_Group]:
        text = self._plain.text

        def is_plain(line: Span) -> bool:
            return self._syntax.tag.search(text, line.start, line.end) is None

        for slots in groups_of(self._syntax.read(text), self._shown, is_plain):
            items: list[str | _Tag] = []
            for slot in slots:
                items += [" "] if items else []
                items += self._items(text[slot.line.start : slot.line.end])
            yield _Group(slots, Unit(_with_pairs(items), cutting))

    def _shown(self, line: Span) -> str:
        return self._syntax.tag.sub("", self._plain.text[line.start : line.end])

    def _items(self, line: str) -> Iterator[str | _Tag]:
        position = 0
        for tag in self._syntax.tag.finditer(line):
            yield self._syntax.decode(line[position : tag.start()])
            yield _Tag("mark", shown="", source=tag[0])
            position = tag.end()
        yield self._syntax.decode(line[position:])

    def _splices(self, slots: Sequence[Slot], items: Sequence[str | _Tag]) -> Iterator[Splice[str]]:
        """Gives what each cue of a group gets instead of its lines there."""
        cues = [list(own) for _, own in groupby(slots, key=lambda slot: slot.cue)]
        flat = _Flat.of(items, self._syntax.encode)
        for own, stretch in zip(cues, self._shared(flat, Span(0, len(flat.text)), cues, len(cues)), strict=False):
            first, last = own[0].line, own[-1].line
            lines = [flat.written(line) for line in self._shared(flat, stretch, [[slot] for slot in own], 1)]
            ending = self._plain.text[first.end : first.end + 2] if len(own) > 1 else ""
            written = (ending if ending == "\r\n" else ending[:1]).join(lines)
            yield replacing(first.start, last.end, written)

    def _shared(self, flat: "_Flat", stretch: Span, owners: Sequence[Sequence[Slot]], least: int) -> list[Span]:
        """Returns the stretches of a target for these owners, by the lengths of their lines; there may be fewer."""
        lengths = [sum(len(self._shown(slot.line)) for slot in slots) for slots in owners]
        text = flat.text[stretch.start : stretch.end]
        starts = line_starts(text, lengths, spaced=self._spaced, least=least)
        bounds = [stretch.start, *(stretch.start + start for start in starts), stretch.end]
        return [Span(start, end) for start, end in pairwise(bounds)]


@dataclass(frozen=True, slots=True)
class _Flat:
    """A target as text, with its tags by the offsets where they stand."""

    text: str
    tags: Sequence[tuple[int, _Tag]]
    encode: Callable[[str], str]

    @classmethod
    def of(cls, items: Iterable[str | _Tag], encode: Callable[[str], str]) -> "_Flat":
        """Returns words and tags; line breaks that are not the source's are spaces."""
        texts: list[str] = []
        tags: list[tuple[int, _Tag]] = []
        length = 0
        for item in items:
            if isinstance(item, str):
                texts.append(_LINE_BREAK.sub(" ", item))
                length += len(texts[-1])
            else:
                tags.append((length, item))
        return cls("".join(texts), tags, encode)

    def written(self, line: Span) -> str:
        """Returns one line with its tags; at a bound, closing tags go with what is before, others with what follows."""
        end = line.start + len(self.text[line.start : line.end].rstrip(WHITE_SPACE))
        end = line.end if line.end == len(self.text) else end
        pieces: list[str] = []
        position = line.start
        for offset, tag in self.tags:
            if not self._is_in(offset, tag, line):
                continue
            place = min(max(offset, position), end)
            pieces += [self.encode(self.text[position:place]), tag.source]
            position = place
        pieces.append(self.encode(self.text[position:end]))
        return "".join(pieces)

    def _is_in(self, offset: int, tag: _Tag, line: Span) -> bool:
        if line.start < offset < line.end:
            return True
        if offset == line.start:
            return tag.kind != "close" or offset == 0
        return offset == line.end and (tag.kind == "close" or offset == len(self.text))


def _with_pairs(items: Sequence[str | _Tag]) -> list[str | _Tag]:
    """Makes halves of the tags that have their other half in the same text."""
    paired = list(items)
    named = [
        (index, name[2].lower(), bool(name[1]))
        for index, item in enumerate(items)
        if not isinstance(item, str) and (name := _NAME.match(item.source))
    ]
    for number, (first, second) in enumerate(nested_pairs(named), 1):
        paired[first] = _Tag("open", number, source=_source(items[first]))
        paired[second] = _Tag("close", number, source=_source(items[second]))
    return paired


def _source(item: str | _Tag) -> str:
    return item if isinstance(item, str) else item.source
