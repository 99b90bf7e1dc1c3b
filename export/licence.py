"""What a checkpoint says about its own licence: the model card's front matter and its notice file."""

import re
from pathlib import Path

UNKNOWN_LICENCE = "unknown"
LEGAL_FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE", "NOTICE.txt", "NOTICE.md")
"""Files that a package must carry along when the checkpoint has them."""

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_LICENCE = re.compile(r"^license: *[\"']?([^\"'\n]+?)[\"']? *$", re.MULTILINE)


def read_licence(folder: Path) -> str:
    """The licence named in README.md's front matter, as Hugging Face model cards have it, or "unknown"."""
    card = folder / "README.md"
    matter = _FRONT_MATTER.match(card.read_text(encoding="utf-8")) if card.is_file() else None
    licence = _LICENCE.search(matter[1]) if matter else None
    return licence[1] if licence else UNKNOWN_LICENCE


def read_attribution(folder: Path) -> str:
    """The text of the notice file as one paragraph, empty without one."""
    for name in LEGAL_FILES:
        if name.startswith("NOTICE") and (folder / name).is_file():
            return " ".join((folder / name).read_text(encoding="utf-8").split())
    return ""
