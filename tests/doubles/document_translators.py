"""Translators of documents without a model: they keep the law of placeholders, and nothing else.

A translator here takes the items of a segment and gives those of its target. Each placeholder comes back once, and
halves are nested; the words may be anything.
"""

import io
import random
import zipfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from service.documents.formats import DocumentFile
from service.text.document import Document, Gap, Item, Placeholder, Segment

Translate = Callable[[tuple[Item, ...]], tuple[Item, ...]]

HOSTILE_WORDS = (
    *(
        "<b>",
        "</w:t>",
        "&",
        "&amp;",
        "]]>",
        "-->",
        "<!--",
        "\"'",
        "\\",
        "\\u0041",
        '"',
        "\x00",
        "\x07",
        "\n",
        "\r\n\r\n",
    ),
    *("*", "**", "_", "`", "```", "[x](y)", "![", "](", "|", "#", "- ", "1. ", "> ", "~~", "$x$", "<http://x>", "---"),
    *(
        "{\\an8}",
        "00:00:01,000 --> 00:00:02,000",
        "1",
        "NOTE",
        "msgstr",
        "%s",
        "\ufdd0",
        "\ufffe",
        "字。",
        "é",
        "😀",
        "\u202e",
    ),
)


def identity(items: tuple[Item, ...]) -> tuple[Item, ...]:
    return items


def shouting(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Writes all words in capitals, behind a mark that no source has."""
    return tuple("§" + item.upper() if isinstance(item, str) and item.strip() else item for item in items)


def mangling(seed: int) -> Translate:
    """Drops, doubles and shuffles words, puts in what formats take for their own, and places placeholders anywhere."""
    chance = random.Random(seed)

    def translate(items: tuple[Item, ...]) -> tuple[Item, ...]:
        words = [word for item in items if isinstance(item, str) for word in item.split(" ")]
        words = [word for word in words for _ in range(chance.choice((0, 1, 1, 1, 2)))]
        words += chance.sample(HOSTILE_WORDS, chance.randint(0, 4))
        chance.shuffle(words)
        return tuple(_joined(_placed(list(_tree(items)), words, chance)))

    return translate


def translated(document: Document, translate: Translate) -> str:
    """Joins a document as the service does: a segment whose target is its source comes back as it was written."""
    return "".join(_written(part, document, translate) for part in document.parts)


def _written(part: Segment | Gap, document: Document, translate: Translate) -> str:
    if isinstance(part, Gap):
        return part.text
    target = translate(part.items)
    if target == part.items:
        return part.text
    escape = part.escape or document.escape
    return "".join(item.text if isinstance(item, Placeholder) else escape(item) for item in target)


Node = tuple[Placeholder, list["Node"], Placeholder | None]


def _tree(items: Sequence[Item]) -> Iterator[Node]:
    """Gives the atoms and pairs of items, pairs with what is in them."""
    stack: list[tuple[Placeholder | None, list[Node]]] = [(None, [])]
    for item in items:
        if isinstance(item, str):
            continue
        if item.kind == "open":
            stack.append((item, []))
        elif item.kind == "close":
            opening, inside = stack.pop()
            assert opening is not None
            assert opening.pair == item.pair
            stack[-1][1].append((opening, inside, item))
        else:
            stack[-1][1].append((item, [], None))
    assert len(stack) == 1
    yield from stack[0][1]


def _placed(nodes: list[Node], words: list[str], chance: random.Random) -> Iterator[Item]:
    """Gives words with the nodes among them in any order; pairs take some of the words."""
    chance.shuffle(nodes)
    for opening, inside, closing in nodes:
        cut = chance.randint(0, len(words))
        yield from _spaced(words[:cut], chance)
        words = words[cut:]
        yield opening
        if closing is not None:
            cut = chance.randint(0, len(words))
            yield from _placed(inside, words[:cut], chance)
            words = words[cut:]
            yield closing
    yield from _spaced(words, chance)


def _spaced(words: Iterable[str], chance: random.Random) -> Iterator[str]:
    text = " ".join(words)
    if text:
        yield chance.choice(("", " ")) + text + chance.choice(("", " "))


def _joined(items: Iterable[Item]) -> Iterator[Item]:
    text = ""
    for item in items:
        if isinstance(item, str):
            text += item
            continue
        if text:
            yield text
            text = ""
        yield item
    if text:
        yield text


def rewritten(file: DocumentFile, translate: Translate) -> bytes:
    """Translates all documents of a file and puts it together."""
    return file.put_together([translated(document, translate) for document in file.documents])


def texts_of(file: DocumentFile) -> list[str]:
    """What a model would see of each segment, placeholders left out."""
    segments = [part for document in file.documents for part in document.parts if isinstance(part, Segment)]
    return ["".join(item for item in segment.items if isinstance(item, str)) for segment in segments]


def packed(members: Mapping[str, str | bytes], stored: Container[str] = ()) -> bytes:
    """A zip file of these members, in order."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            header = zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6))
            header.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(header, content)
    return target.getvalue()


def unpacked(content: bytes) -> dict[str, bytes]:
    """The members of a zip file, in order."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
