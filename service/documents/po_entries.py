"""The grammar of gettext catalogues (PO): messages, with the places of their strings in the text.

Line by line, as the format is defined; obsolete messages are comments here. Which messages are translated, and how,
is for `po_catalogue`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from service.errors import InvalidDocumentError

_LINE: Final = re.compile(r"[^\n]*+\n|[^\n]++")
_STRING: Final = r'"((?:[^"\\\r\n]|\\[^\r\n])*+)"'
_KEYWORD: Final = re.compile(rf"[ \t]*+(msgctxt|msgid|msgid_plural|msgstr(?:\[([0-9]{{1,3}})\])?)[ \t]*+{_STRING}\s*+")
_CONTINUED: Final = re.compile(rf"[ \t]*+{_STRING}\s*+")
_ESCAPE: Final = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))")
_MEANINGS: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_SPELLINGS: Final = str.maketrans({"\\": "\\\\", '"': '\\"'} | {char: f"\\{key}" for key, char in _MEANINGS.items()})


@dataclass(slots=True)
class PoString:
    """What a string says, and where its quoted lines stand: from the first quotation mark to behind the last."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class PoMessage:
    """One message; its targets are by number, and a message without plural forms has number 0 only."""

    flags: set[str] = field(default_factory=set)
    source: PoString | None = None
    plural: PoString | None = None
    targets: dict[int, PoString] = field(default_factory=dict)


def read_messages(text: str) -> Iterator[PoMessage]:
    """Gives the messages of a catalogue; raises InvalidDocumentError at a line that is none of PO."""
    message = PoMessage()
    string: PoString | None = None
    for number, line in enumerate(_LINE.finditer(text), 1):
        if keyword := _KEYWORD.fullmatch(line[0]):
            if message.targets and not keyword[1].startswith("msgstr"):
                yield message
                message = PoMessage()
            start = line.start() + keyword.start(3) - 1
            string = PoString(_unescaped(keyword[3]), start, line.start() + keyword.end(3) + 1)
            _place(message, keyword, string)
        elif (continued := _CONTINUED.fullmatch(line[0])) and string is not None:
            string.text += _unescaped(continued[1])
            string.end = line.start() + continued.end(1) + 1
        elif not line[0].strip() or line[0].startswith("#"):
            string = None
            if message.targets:
                yield message
                message = PoMessage()
            if line[0].startswith("#,"):
                message.flags.update(flag.strip() for flag in line[0][2:].split(","))
        else:
            raise InvalidDocumentError(f"not a PO catalogue: line {number}")
    if message.targets:
        yield message


def quoted(text: str, line_break: str) -> str:
    """Returns a text as a quoted string; one with line breaks inside has a line for each, as gettext writes it."""
    lines = [f'"{line.translate(_SPELLINGS)}"' for line in re.findall(r"[^\n]*+\n|[^\n]++", text)]
    if len(lines) > 1:
        lines.insert(0, '""')
    return line_break.join(lines) or '""'


def _place(message: PoMessage, keyword: re.Match[str], string: PoString) -> None:
    match keyword[1]:
        case "msgid":
            message.source = string
        case "msgid_plural":
            message.plural = string
        case "msgctxt":
            pass
        case _:
            message.targets[int(keyword[2] or 0)] = string


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_meaning, text)


def _meaning(found: re.Match[str]) -> str:
    octal, hexadecimal, char = found.groups()
    if char is None:
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))
    return _MEANINGS.get(char, char)
