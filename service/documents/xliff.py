"""XLIFF 1.x and 2.x: units whose target is missing or empty get one; targets that have text keep it.

The inline elements of a source travel with its words into the target. Units that say so are not translated.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from service.documents.splicing import Copy, Splice, replacing, spliced
from service.documents.units import Cutting, MarkKind, Unit
from service.documents.xml_mixed import MixedContent, XmlMark, shown, write_mixed
from service.documents.xml_parts import Block, in_utf_8
from service.documents.xml_tree import XmlElement, elements_named, local_name, read_elements
from service.errors import InvalidDocumentError

_HOLDERS: Final = frozenset({"segment", "trans-unit"})
_PAIRS: Final = frozenset({"g", "mrk", "pc"})
# Codes that begin or end a pair, by what their numbers count.
_FIRST_HALVES: Final = {"bpt": "native", "bx": "generic", "sc": "code", "sm": "annotation"}
_SECOND_HALVES: Final = {"ept": "native", "ex": "generic", "ec": "code", "em": "annotation"}
_ATTRIBUTES: Final = r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*+"""
_ROOT: Final = re.compile(rf"<(?:[\w.-]+:)?xliff{_ATTRIBUTES}\s*>".encode())
_FILE: Final = re.compile(rf"<(?:[\w.-]+:)?file{_ATTRIBUTES}\s*>".encode())
_VERSION_2: Final = re.compile(rb"""\sversion\s*=\s*["']2""")
_TAG_NAME: Final = re.compile(rb"<([^\s/>]+)")
_CODE: Final = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")


class XliffFile:
    """An XLIFF document in UTF-8; one document for each target to fill."""

    def __init__(self, content: bytes, cutting: Cutting, target: str) -> None:
        """target: code of the language, named in the file where it names none. Raises InvalidDocumentError."""
        self._data = in_utf_8(content)
        self._target = target.replace("_", "-")
        self._blocks = list(_blocks(self._data, cutting))
        if _ROOT.search(self._data) is None:
            raise InvalidDocumentError("not an XLIFF document")
        self.documents = tuple(block.unit.document for block in self._blocks)

    def put_together(self, targets: Sequence[str]) -> bytes:
        """Returns the file with its targets filled, in their order."""
        filled = [block.splice(target) for block, target in zip(self._blocks, targets, strict=True)]
        splices = [splice for splice in filled if splice is not None]
        return spliced(self._data, [*splices, *self._language_splices()] if splices else [])

    def _language_splices(self) -> Iterator[Splice[bytes]]:
        """Gives what names the target language where XLIFF wants it and nothing is named yet."""
        root = _ROOT.search(self._data)
        is_2 = root is not None and _VERSION_2.search(root[0]) is not None
        attribute = b"trgLang" if is_2 else b"target-language"
        tags = [root] if is_2 and root else list(_FILE.finditer(self._data))
        for tag in tags:
            if attribute + b"=" not in tag[0] and _CODE.fullmatch(self._target):
                written = b" " + attribute + b'="' + self._target.encode() + b'"'
                place = tag.start() + len(tag[0][:-1].rstrip())
                yield replacing(place, place, written)


def _blocks(data: bytes, cutting: Cutting) -> Iterator[Block]:
    found = read_elements(data, _is_holder, _is_closed)
    for holder in elements_named(found, _is_holder, _is_closed):
        source, target = holder.find("source"), holder.find("target")
        if source is None or (target is not None and _has_content(target)):
            continue
        content = MixedContent(data, source, _kind, _half)
        unit = Unit(content.items, cutting)
        if unit.is_translatable:
            yield _block(data, holder, unit)


def _block(data: bytes, holder: XmlElement, unit: Unit[XmlMark]) -> Block:
    """Returns the block that puts a unit's translation where the holder's target is, or belongs."""
    source, target = holder.find("source"), holder.find("target")
    assert source is not None, "a unit is made of a source"
    as_it_is = [XmlMark("mark", start=source.inner_start, end=source.inner_end)]
    if target is None:
        place = (holder.find("seg-source") or source).end
        behind = data[: source.start].rstrip(b" \t\r\n")
        before, name = data[len(behind) : source.start], _tag_name(data, source).replace(b"source", b"target")
        start_tag, end = before + b"<" + name + b">", place
    else:
        name = _tag_name(data, target)
        place, end = target.start, target.end
        start_tag = data[target.start : target.inner_start].removesuffix(b">").removesuffix(b"/").rstrip() + b">"

    def write(items: Sequence[Any], copy: Copy[bytes]) -> bytes:
        return start_tag + write_mixed(items, copy) + b"</" + name + b">"

    return Block(place, end, unit, write, as_it_is)


def _tag_name(data: bytes, element: XmlElement) -> bytes:
    found = _TAG_NAME.match(data, element.start)
    assert found, "an element begins with its tag"
    return found[1]


def _has_content(element: XmlElement) -> bool:
    return any(isinstance(child, XmlElement) for child in element.children) or bool(shown(element).strip())


def _is_holder(name: str) -> bool:
    return local_name(name) in _HOLDERS


def _is_closed(_: str, attributes: Mapping[str, str]) -> bool:
    return attributes.get("translate") == "no"


def _kind(element: XmlElement) -> MarkKind:
    if element.local not in _PAIRS:
        return "mark"
    is_kept = element.attributes.get("translate") == "no" or element.attributes.get("mtype") == "protected"
    return "word" if is_kept else "open"


def _half(element: XmlElement) -> tuple[str, bool] | None:
    named = element.attributes
    if element.local in _FIRST_HALVES:
        return f"{_FIRST_HALVES[element.local]} {named.get('rid') or named.get('id')}", False
    if element.local in _SECOND_HALVES:
        number = named.get("startRef") or named.get("rid") or named.get("id")
        return f"{_SECOND_HALVES[element.local]} {number}", True
    return None
