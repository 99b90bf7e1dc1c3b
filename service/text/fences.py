"""Fenced blocks of code in plain text: lines between ``` or ~~~ marks, as Markdown writes them.

What stands in a block is code and stays as it is. A fence that is never closed is no fence, so that a stray mark cannot
keep the rest of a text from being translated. Code inside a line belongs to `protection`.
"""

import re
from typing import Final

from service.text.document import Span

_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})([^\r\n]*)(?:\r\n|[\r\n]|\Z)", re.MULTILINE)


def fenced_blocks(text: str) -> tuple[Span, ...]:
    """Return where the closed blocks of a text stand, their fences and the line breaks behind those included."""
    if "```" not in text and "~~~" not in text:
        return ()
    blocks: list[Span] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        mark, rest = fence[1], fence[2]
        if opened is None:
            # Code in one line may be written with three marks too: ```so```.
            opened = None if "`" in rest and mark[0] == "`" else fence
        elif mark[0] == opened[1][0] and len(mark) >= len(opened[1]) and not rest.strip():
            blocks.append(Span(opened.start(), fence.end()))
            opened = None
    return tuple(blocks)
