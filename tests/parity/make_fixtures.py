"""Makes the committed outputs of Hugging Face `generate` under `tests/golden/hf`.

    python -m tests.parity.make_fixtures [--new-checkpoints] [--real-checkpoint checkpoints/en-de] [--only NAME]

Run in an environment with torch, transformers, sentencepiece and safetensors. Tiny checkpoints are made anew only when
asked for: their training is repeatable on one machine, not across machines.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from service.search.options import DecodingOptions
from tests.golden.hf import golden_cases
from tests.golden.hf.golden_cases import DEFAULTS_SETTING, REAL_NAME, GoldenCase, GoldenRows, GoldenSource
from tests.parity.oracle import Oracle, generate, load_oracle, load_tokenizer, log_prob_rows, token_log_probs
from tests.parity.tiny_checkpoints import SPECS, TinySpec, random_source, write_tiny_checkpoint
from tests.parity.trained_families import FAMILY_SPECS, FamilySpec, random_family_source, write_family_checkpoint

NUM_SOURCES = 40
NUM_FAMILY_SOURCES = 12
FULL_SETTINGS = ("package_defaults", "greedy", "beam_2", "beam_4", "beam_5")
NUM_ROW_SOURCES = 4
TOP = 10
LOGIT_NOISE = 2e-6


def main() -> None:
    """Writes the fixtures that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--new-checkpoints", action="store_true", help="train and replace the tiny checkpoints")
    parser.add_argument("--real-checkpoint", type=Path, default=Path("checkpoints/en-de"))
    parser.add_argument(
        "--only",
        choices=[*golden_cases.TINY_NAMES, *golden_cases.FAMILY_NAMES, REAL_NAME],
        help="one checkpoint, not all",
    )
    arguments = parser.parse_args()
    for spec in SPECS:
        if arguments.only in (None, spec.name):
            make_tiny_fixtures(spec, new_checkpoint=arguments.new_checkpoints)
    for family in FAMILY_SPECS:
        if arguments.only in (None, family.name):
            make_family_fixtures(family, new_checkpoint=arguments.new_checkpoints)
    if arguments.only in (None, REAL_NAME):
        make_real_fixtures(arguments.real_checkpoint)


def make_tiny_fixtures(spec: TinySpec, *, new_checkpoint: bool) -> None:
    """Writes sources, cases and rows of one tiny checkpoint, and the checkpoint itself when asked."""
    folder = golden_cases.checkpoint_folder(spec.name)
    if new_checkpoint:
        write_tiny_checkpoint(spec, folder, english_sentences())
    draw = random.Random(1000 + spec.seed)
    _write_fixtures(spec.name, [GoldenSource(random_source(spec, draw)) for _ in range(NUM_SOURCES)])


def make_family_fixtures(spec: FamilySpec, *, new_checkpoint: bool) -> None:
    """Writes the same of a tiny checkpoint of another family."""
    if new_checkpoint:
        write_family_checkpoint(spec, golden_cases.checkpoint_folder(spec.name))
    draw = random.Random(1000 + spec.model.seed)
    _write_fixtures(spec.name, [GoldenSource(random_family_source(spec, draw)) for _ in range(NUM_FAMILY_SOURCES)])


def _write_fixtures(name: str, sources: list[GoldenSource]) -> None:
    golden_cases.write_sources(name, sources)
    folder = golden_cases.checkpoint_folder(name)
    oracle = load_oracle(folder)
    cases = list(compute_cases(oracle, sources, golden_cases.read_settings(name)))
    shaken = _shaken(folder)
    golden_cases.write_cases(name, [_with_tie_mark(case, sources, shaken, name) for case in cases])
    golden_cases.write_rows(name, compute_rows(oracle, sources))
    sys.stderr.write(f"{name}: {len(cases)} cases\n")


def make_real_fixtures(folder: Path) -> None:
    """Writes sources and cases of the committed checkpoint, whose weights are those of its file rounded to fp16."""
    tokenizer = load_tokenizer(folder)
    sources = [GoldenSource(tokenizer(text)["input_ids"], text) for text in english_sentences()]
    golden_cases.write_sources(REAL_NAME, sources)
    oracle = load_oracle(folder, half_weights=True)
    settings = golden_cases.read_settings(REAL_NAME)
    cases = []
    for case in compute_cases(oracle, sources, settings, full=True):
        texts = [tokenizer.decode(output, skip_special_tokens=True) for output in case.outputs]
        cases.append(GoldenCase(case.setting, case.source, case.outputs, case.scores, case.log_probs, texts))
    shaken = _shaken(folder, half_weights=True)
    golden_cases.write_cases(REAL_NAME, [_with_tie_mark(case, sources, shaken, REAL_NAME) for case in cases])
    sys.stderr.write(f"{REAL_NAME}: {len(cases)} cases\n")


def english_sentences() -> list[str]:
    """Returns the sixty hand-written sentences."""
    return (golden_cases.FOLDER / "sentences.en.txt").read_text(encoding="utf-8").splitlines()


def compute_cases(
    oracle: Oracle, sources: list[GoldenSource], settings: Mapping[str, DecodingOptions], *, full: bool = False
) -> Iterator[GoldenCase]:
    """Yields one case per setting and source; the less central settings take every second source, in turn."""
    for number, (setting, options) in enumerate(settings.items()):
        for index, source in enumerate(sources):
            if full or setting in FULL_SETTINGS or index % 2 == number % 2:
                yield compute_case(oracle, source.ids, setting, options, index)


def compute_case(
    oracle: Oracle, source_ids: list[int], setting: str, options: DecodingOptions, index: int
) -> GoldenCase:
    """Decodes one source; the setting of package defaults passes no option at all."""
    outputs = generate(oracle, source_ids, None if setting == DEFAULTS_SETTING else options)
    token_ids = [list(output.token_ids) for output in outputs]
    if options.beam_size == 1:
        log_probs = [round(value, 5) for value in token_log_probs(oracle, source_ids, token_ids[0])]
        return GoldenCase(setting, index, token_ids, log_probs=log_probs)
    scores = [round(output.score, 6) for output in outputs if output.score is not None]
    return GoldenCase(setting, index, token_ids, scores=scores)


def compute_rows(oracle: Oracle, sources: list[GoldenSource]) -> list[GoldenRows]:
    """Returns the best next tokens along the greedy output, and along a random target, of a few sources."""
    rows = []
    for index in range(NUM_ROW_SOURCES):
        greedy = list(generate(oracle, sources[index].ids, DecodingOptions(max_new_tokens=8))[0].token_ids[:-1])
        draw = random.Random(index)
        vocabulary = [
            token
            for token in range(oracle.vocabulary_size)
            if token not in (oracle.eos_id, oracle.pad_id, *oracle.banned_ids)
        ]
        for target in (greedy, draw.choices(vocabulary, k=6)):
            best = log_prob_rows(oracle, sources[index].ids, target).topk(TOP)
            log_probs = [[round(value, 5) for value in row] for row in best.values.tolist()]
            rows.append(GoldenRows(index, target, best.indices.tolist(), log_probs))
    return rows


def _shaken(folder: Path, *, half_weights: bool = False) -> list[Oracle]:
    return [
        load_oracle(folder, double=True, logit_noise=noise, half_weights=half_weights) for noise in (0.0, LOGIT_NOISE)
    ]


def _with_tie_mark(case: GoldenCase, sources: list[GoldenSource], shaken: list[Oracle], name: str) -> GoldenCase:
    options = golden_cases.read_settings(name)[case.setting]
    others = (compute_case(oracle, sources[case.source].ids, case.setting, options, case.source) for oracle in shaken)
    tie = any(other.outputs != case.outputs for other in others)
    return GoldenCase(case.setting, case.source, case.outputs, case.scores, case.log_probs, case.texts, near_tie=tie)


if __name__ == "__main__":
    main()
