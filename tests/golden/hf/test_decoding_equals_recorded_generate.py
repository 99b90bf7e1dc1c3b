"""The service's fp32 decoding gives, token for token, what `generate` gave for the recorded cases.

Tiny checkpoints go through the exporter first, those of families without tokenizers but for these; all cases of a
checkpoint decode in one crowd.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from export.checkpoint import Checkpoint
from export.families.registry import find_family
from export.options import ExportOptions
from export.run import export_checkpoint
from service.search.hypothesis import Hypothesis
from service.search.options import DecodingOptions
from tests.golden.hf import golden_cases
from tests.golden.hf.golden_cases import FAMILY_NAMES, REAL_NAME, TINY_NAMES, GoldenCase
from tests.parity.ids_package import write_ids_package
from tests.parity.verso_side import Target, decode

REAL_PACKAGE = Path(__file__).parents[3] / "models" / "en-de"
# Relative, because a negative length penalty multiplies a score by its length.
SCORE_TOLERANCE = 5e-5

Decoded = list[tuple[GoldenCase, tuple[Hypothesis, ...]]]


@pytest.fixture(scope="session")
def package_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns the package of a checkpoint by name, exported when first asked for."""
    root = tmp_path_factory.mktemp("golden")

    def opened(name: str) -> Path:
        folder = root / name
        if name == REAL_NAME:
            return REAL_PACKAGE
        if name in FAMILY_NAMES and not folder.exists():
            checkpoint = Checkpoint.open(golden_cases.checkpoint_folder(name))
            write_ids_package(folder, checkpoint, find_family(checkpoint).describe(checkpoint))
        if not folder.exists():
            export_checkpoint(
                ExportOptions(
                    checkpoint=golden_cases.checkpoint_folder(name),
                    output=folder,
                    precisions=("fp32",),
                    default_precision="fp32",
                    licence="Apache-2.0",
                    attribution="Verso",
                )
            )
        return folder

    return opened


@pytest.mark.parametrize("name", [*TINY_NAMES, *FAMILY_NAMES, REAL_NAME])
def test_every_recorded_case_is_decoded_alike(package_of: Callable[[str], Path], name: str) -> None:
    decoded = _decode(name, package_of(name), lambda options: not _penalises_in_a_beam(options))

    assert _faults(decoded) == []


@pytest.mark.parametrize("name", TINY_NAMES)
def test_a_repetition_penalty_in_a_beam_weighs_what_the_banned_ids_would_take(
    package_of: Callable[[str], Path], name: str
) -> None:
    # There `generate` penalises log-probabilities of a softmax over all ids; the ban comes only after it.
    decoded = _decode(name, package_of(name), _penalises_in_a_beam)

    assert _faults(decoded) == []


def _penalises_in_a_beam(options: DecodingOptions) -> bool:
    return options.beam_size > 1 and options.repetition_penalty != 1.0


def _decode(name: str, package: Path, wanted: Callable[[DecodingOptions], bool]) -> Decoded:
    sources, settings = golden_cases.read_sources(name), golden_cases.read_settings(name)
    cases = [case for case in golden_cases.read_cases(name) if wanted(settings[case.setting]) and not case.near_tie]
    source_ids, options = [sources[case.source].ids for case in cases], [settings[case.setting] for case in cases]
    return list(zip(cases, decode(package, "fp32", source_ids, options, _target(name)), strict=True))


def _target(name: str) -> Target:
    if name not in FAMILY_NAMES:
        return Target()
    generation = Checkpoint.open(golden_cases.checkpoint_folder(name)).generation
    return Target(forced_first_id=generation.get("forced_bos_token_id"))


def _faults(decoded: Decoded) -> list[str]:
    return [fault for case, hypotheses in decoded for fault in _faults_of(case, hypotheses)]


def _faults_of(case: GoldenCase, hypotheses: tuple[Hypothesis, ...]) -> Iterable[str]:
    where = f"{case.setting}, source {case.source}"
    outputs = [list(hypothesis.token_ids) for hypothesis in hypotheses]
    scores = [hypothesis.score for hypothesis in hypotheses]
    if outputs != case.outputs:
        yield f"{where}: {case.outputs} became {outputs}"
    elif case.scores is not None and scores != pytest.approx(case.scores, rel=SCORE_TOLERANCE, abs=SCORE_TOLERANCE):
        yield f"{where}: scores {case.scores} became {scores}"
