"""Which languages a checkpoint reads and writes, and what asks for them.

From the options first, then from target language tokens (`>>deu<<`), then from tokenizer_config.json.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from export.checkpoint import Checkpoint
from service.errors import ExportError
from service.package.manifest import Languages, SourceLanguage, TargetLanguage

_TOKEN = re.compile(r">>(.+)<<")
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class LanguageFacts:
    """What decides the languages.

    sources, targets: codes the caller names; empty to read them off the checkpoint.
    source_eos: id of the end token on the source side.
    token_ids: language token (`>>deu<<`) to source id; empty for models of one target.
    """

    sources: Sequence[str]
    targets: Sequence[str]
    token_ids: Mapping[str, int]
    source_eos: int
    forced_first_id: int | None


def read_languages(checkpoint: Checkpoint, facts: LanguageFacts) -> Languages:
    """The languages of a checkpoint. Raises ExportError when they cannot be told or do not fit."""
    by_code = {match[1]: token for name, token in facts.token_ids.items() if (match := _TOKEN.fullmatch(name))}
    sources = list(facts.sources) or _configured(checkpoint, "source_lang")
    targets = list(facts.targets) or sorted(by_code) or _configured(checkpoint, "target_lang")
    problems = [
        f"the {side} language is not in tokenizer_config.json; name it when exporting"
        for side, codes in (("source", sources), ("target", targets))
        if not codes
    ]
    problems += [f"{code!r} is not a language code" for code in [*sources, *targets] if not _CODE.fullmatch(code)]
    if by_code:
        unknown = [code for code in targets if code not in by_code]
        problems += [f"the checkpoint has no token for the target language {code}" for code in unknown]
    elif len(targets) > 1:
        problems.append("several target languages are named, but the checkpoint has no language tokens")
    if not problems and not any(source != target for source in sources for target in targets):
        problems.append("source and target language are the same")
    if problems:
        raise ExportError("the languages of the checkpoint are not clear", problems)
    prefixes = {code: (by_code[code],) if by_code else () for code in targets}
    return Languages(
        sources={code: SourceLanguage(suffix_ids=(facts.source_eos,)) for code in sources},
        targets={
            code: TargetLanguage(source_prefix_ids=prefixes[code], forced_first_id=facts.forced_first_id)
            for code in targets
        },
    )


def _configured(checkpoint: Checkpoint, key: str) -> list[str]:
    code = checkpoint.tokenizer.get(key)
    return [code] if isinstance(code, str) and code else []
