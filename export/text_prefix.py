"""Words in front of a source that ask a T5 network for a language ("translate English to German: "), as ids.

A checkpoint may have them in its configuration, as settings of a task for each pair.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.corpus import NATURAL_LINES
from service.errors import ExportError

_TASK = re.compile(r"translation_([A-Za-z-]+)_to_([A-Za-z-]+)")


@dataclass(frozen=True, slots=True)
class TextPrefixes:
    """Prefixes of a configuration: (source, target) to text. settings: decoding settings that its tasks agree on."""

    texts: Mapping[tuple[str, str], str]
    settings: Mapping[str, Any]

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> "TextPrefixes":
        """Reads the translation tasks under `task_specific_params`; other tasks do not matter."""
        tasks = {
            match.group(1, 2): task
            for name, task in (config.get("task_specific_params") or {}).items()
            if (match := _TASK.fullmatch(name)) and isinstance(task, Mapping) and isinstance(task.get("prefix"), str)
        }
        first, *others = tasks.values() or ({},)
        common = {key: value for key, value in first.items() if all(task.get(key) == value for task in others)}
        return cls({(source, target): task["prefix"] for (source, target), task in tasks.items()}, common)

    @property
    def sources(self) -> list[str]:
        """Source languages, sorted."""
        return sorted({source for source, _ in self.texts})

    def targets(self, sources: Sequence[str]) -> list[str]:
        """Target languages of the given sources, sorted."""
        return sorted({target for source, target in self.texts if source in sources})

    def text(self, sources: Sequence[str], target: str, problems: list[str]) -> str:
        """The prefix that asks for a target, empty where there are no prefixes at all.

        A target without one, or with another one for each source, is a problem.
        """
        found = {self.texts[source, target] for source in sources if (source, target) in self.texts}
        if len(found) > 1:
            problems.append(f"the prefix for {target} depends on the source language; name one source language")
        elif not found and self.texts:
            problems.append(f"config.json: task_specific_params has no prefix for {target}; name its text prefix")
        return min(found, default="")


def encode_prefix(tokenizers: ConvertedTokenizers, text: str) -> tuple[int, ...]:
    """The ids that stand for a prefix in front of every text. A prefix usually ends with a space.

    Raises ExportError when a prefix and a text are cut in another way together than apart.
    """
    if not text.strip():
        return ()
    tokenizer = tokenizers.source_tokenizer()
    ids = tokenizer.encode(text.rstrip())
    together = tokenizer.encode_batch([text + line for line in NATURAL_LINES])
    alone = tokenizer.encode_batch(NATURAL_LINES)
    different = sum(both != [*ids, *line] for both, line in zip(together, alone, strict=True))
    if different:
        raise ExportError(
            f"the text prefix {text!r} cannot stand in front of texts as ids",
            [f"{different} of {len(alone)} texts are cut in another way behind the text prefix {text!r}"],
        )
    return tuple(ids)
