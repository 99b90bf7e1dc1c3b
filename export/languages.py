"""Which languages a checkpoint reads and writes, and what asks for them: one reader for each way of asking.

Codes are the caller's or those of the checkpoint, as it spells them; that people write them in other ways is the
service's business.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from export.checkpoint import Checkpoint
from export.text_prefix import TextPrefixes, encode_prefix
from export.tokenizer.converted import ConvertedTokenizers
from service.errors import ExportError
from service.package.manifest import Languages, SourceLanguage, TargetLanguage

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class LanguageFacts:
    """What decides the languages besides the checkpoint's configuration.

    sources, targets: codes the caller names; empty to read them off the checkpoint.
    forced_first_id: what the decoding defaults force as the first token.
    text_prefixes: target code to the words in front of a source that ask for it, for models that take words.
    """

    sources: Sequence[str]
    targets: Sequence[str]
    tokenizers: ConvertedTokenizers
    forced_first_id: int | None = None
    text_prefixes: Mapping[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> Mapping[str, int]:
        """Language code to the id of its token."""
        return self.tokenizers.language_ids

    @property
    def eos(self) -> int:
        """The end token of a source."""
        return self.tokenizers.source_special.eos


def read_marian_languages(checkpoint: Checkpoint, facts: LanguageFacts) -> Languages:
    """Languages of a model whose targets have tokens in front of the source, or that has one target.

    Raises ExportError when they cannot be told or do not fit.
    """
    sources = facts.sources or _configured(checkpoint, "source_lang")
    targets = facts.targets or sorted(facts.ids) or _configured(checkpoint, "target_lang")
    problems = _problems(facts, sources, targets)
    problems += _without_token(targets, facts) if facts.ids else _too_many(targets)
    _refuse(problems)
    return Languages(
        sources={code: SourceLanguage(suffix_ids=(facts.eos,)) for code in sources},
        targets={
            code: TargetLanguage(
                source_prefix_ids=(facts.ids[code],) if facts.ids else (), forced_first_id=facts.forced_first_id
            )
            for code in targets
        },
    )


def read_m2m100_languages(checkpoint: Checkpoint, facts: LanguageFacts) -> Languages:
    """Languages of M2M100 and NLLB: a source begins with its language, and so does a translation.

    Old NLLB checkpoints say that a source ends with its language. Raises ExportError when languages do not fit.
    """
    sources, targets = _tokens_chosen(facts)
    language_first = checkpoint.tokenizer.get("legacy_behaviour") is not True
    return Languages(
        sources={code: _around(facts, code, language_first=language_first) for code in sources},
        targets={code: TargetLanguage(forced_first_id=facts.ids[code]) for code in targets},
    )


def read_mbart_languages(checkpoint: Checkpoint, facts: LanguageFacts) -> Languages:
    """Languages of mBART-50, laid out like those of M2M100; of mBART-25, where a source ends with its language and
    decoding starts from the target's; or of an mBART network without language tokens, whose sources begin with `<s>`.

    Raises ExportError when languages do not fit, or when nothing tells the networks apart.
    """
    if not facts.ids:
        return _one_pair(checkpoint, facts)
    sources, targets = _tokens_chosen(facts)
    starts_from_language = _starts_from_language(checkpoint, facts)
    return Languages(
        sources={code: _around(facts, code, language_first=not starts_from_language) for code in sources},
        targets={
            code: TargetLanguage(start_id=facts.ids[code], forced_first_id=facts.forced_first_id)
            if starts_from_language
            else TargetLanguage(forced_first_id=facts.ids[code])
            for code in targets
        },
    )


def read_t5_languages(checkpoint: Checkpoint, facts: LanguageFacts) -> Languages:
    """Languages of MADLAD, which has a token for each target; or of other T5 networks, which are asked in words.

    Raises ExportError when languages cannot be told or do not fit.
    """
    if facts.ids:
        sources, targets = _tokens_chosen(facts)
        lead = facts.tokenizers.language_lead_ids
        prefixes = {code: (*lead, facts.ids[code]) for code in targets}
    else:
        known = TextPrefixes.read(checkpoint.config)
        sources = facts.sources or known.sources or _configured(checkpoint, "source_lang")
        offered = {*known.targets(sources), *facts.text_prefixes}
        targets = facts.targets or sorted(offered) or _configured(checkpoint, "target_lang")
        problems = _problems(facts, sources, targets)
        texts = {code: facts.text_prefixes.get(code) or known.text(sources, code, problems) for code in targets}
        if len(targets) > 1:
            problems += [f"nothing asks for {code}: name its text prefix" for code, text in texts.items() if not text]
        _refuse(problems)
        prefixes = {code: encode_prefix(facts.tokenizers, text) for code, text in texts.items()}
    return Languages(
        sources={code: SourceLanguage(suffix_ids=(facts.eos,)) for code in sources},
        targets={
            code: TargetLanguage(source_prefix_ids=prefixes[code], forced_first_id=facts.forced_first_id)
            for code in targets
        },
    )


def describe_languages(languages: Languages) -> tuple[str, ...]:
    """Sentences for the export log."""
    source, target = next(iter(languages.sources.values())), next(iter(languages.targets.values()))
    asked = {
        f"{len(target.source_prefix_ids)} ids in front of the source": target.source_prefix_ids,
        "the forced first token": target.forced_first_id,
        "the start token": target.start_id,
    }
    ways = " and ".join(way for way, value in asked.items() if value not in (None, ())) or "nothing"
    return (
        f"languages: {len(languages.sources)} sources and {len(languages.targets)} targets",
        f"a source has {len(source.prefix_ids)} ids before and {len(source.suffix_ids)} behind its text",
        f"a target is asked for by {ways}",
    )


def _tokens_chosen(facts: LanguageFacts) -> tuple[Sequence[str], Sequence[str]]:
    """Sources and targets of a model with a token for every language.

    A forced first token that is a language makes this language the only target, unless the caller names others.
    """
    forced = [code for code, token_id in facts.ids.items() if token_id == facts.forced_first_id]
    sources = facts.sources or sorted(facts.ids)
    targets = facts.targets or forced or sorted(facts.ids)
    problems = [*_problems(facts, sources, targets), *_without_token([*sources, *targets], facts)]
    if facts.forced_first_id is not None and not forced:
        problems.append(f"forced_bos_token_id is {facts.forced_first_id}, which is the token of no language")
    _refuse(problems)
    return sources, targets


def _around(facts: LanguageFacts, code: str, *, language_first: bool) -> SourceLanguage:
    language = facts.ids[code]
    if language_first:
        return SourceLanguage(prefix_ids=(language,), suffix_ids=(facts.eos,))
    return SourceLanguage(suffix_ids=(facts.eos, language))


def _starts_from_language(checkpoint: Checkpoint, facts: LanguageFacts) -> bool:
    """Whether an mBART network is laid out like mBART-25; by the tokenizer's class, else by the start token."""
    name = str(checkpoint.tokenizer.get("tokenizer_class") or checkpoint.config.get("tokenizer_class") or "")
    start = checkpoint.config.get("decoder_start_token_id", checkpoint.generation.get("decoder_start_token_id"))
    from_language = start in facts.ids.values()
    if name.startswith("MBart50"):
        if from_language:
            _refuse([f"the tokenizer class is {name}, but decoding starts from a language (decoder_start_token_id)"])
        return False
    if name.startswith("MBartTokenizer") or from_language:
        return True
    if start != facts.eos:
        _refuse(["neither tokenizer_class nor decoder_start_token_id tells mBART-25 from mBART-50"])
    return False


def _one_pair(checkpoint: Checkpoint, facts: LanguageFacts) -> Languages:
    """One pair of an mBART network without language tokens: the template of BART."""
    sources = facts.sources or _configured(checkpoint, "source_lang")
    targets = facts.targets or _configured(checkpoint, "target_lang")
    problems = [*_problems(facts, sources, targets), *_too_many(targets)]
    bos = checkpoint.config.get("bos_token_id")
    if not isinstance(bos, int):
        problems.append("config.json: bos_token_id is not a token id")
    _refuse(problems)
    return Languages(
        sources={code: SourceLanguage(prefix_ids=(int(bos or 0),), suffix_ids=(facts.eos,)) for code in sources},
        targets={code: TargetLanguage(forced_first_id=facts.forced_first_id) for code in targets},
    )


def _problems(facts: LanguageFacts, sources: Sequence[str], targets: Sequence[str]) -> list[str]:
    problems = [
        f"the {side} language is not in tokenizer_config.json; name it when exporting"
        for side, codes in (("source", sources), ("target", targets))
        if not codes
    ]
    problems += [f"{code!r} is not a language code" for code in [*sources, *targets] if not _CODE.fullmatch(code)]
    problems += [f"{code} has a text prefix, but is no target" for code in facts.text_prefixes if code not in targets]
    if not problems and not any(source != target for source in sources for target in targets):
        problems.append("source and target language are the same")
    return problems


def _without_token(codes: Collection[str], facts: LanguageFacts) -> list[str]:
    unknown = [code for code in dict.fromkeys(codes) if code not in facts.ids]
    return [f"the checkpoint has no token for the language {code}" for code in unknown]


def _too_many(targets: Sequence[str]) -> list[str]:
    several = "several target languages are named, but the checkpoint has no language tokens"
    return [several] if len(targets) > 1 else []


def _refuse(problems: Sequence[str]) -> None:
    """Raises ExportError when there are problems."""
    if problems:
        raise ExportError("the languages of the checkpoint are not clear", problems)


def _configured(checkpoint: Checkpoint, key: str) -> list[str]:
    code = checkpoint.tokenizer.get(key)
    return [code] if isinstance(code, str) and code else []
