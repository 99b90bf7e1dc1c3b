"""Compares graphs with the plain reference network, and with the laws any precision must keep.

The case is ragged on purpose: sources of different lengths padded together, several rows on one source, rows at
different positions in one step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.families.spec import ModelSpec
from export.graphs import Precision
from export.reference import ReferenceNetwork
from export.verify.graph_pair import Arrays, Batch, GraphPair

TOLERANCE = 1e-4
SUM_TOLERANCE = 1e-4
COMPANY_TOLERANCE: Mapping[Precision, float] = {"fp32": TOLERANCE, "fp16": 2e-2, "int8": TOLERANCE}
"""How much a row may differ in company. A last digit that kernels differ in moves a 16-bit number by a thousandth."""

# Numbers in single precision differ by their size; up to this one, differences count as they are.
_LARGE = 10.0

_SOURCE_LENGTHS = (7, 1, 12, 4)
_WIDTHS = (1, 3, 2, 1)
_TARGET_LENGTHS = (5, 1, 7, 3, 6, 2, 4)
_BEST = 8


@dataclass(frozen=True, slots=True)
class ForcedCase:
    """Sources, rows per source, and one target per row."""

    sources: tuple[tuple[int, ...], ...]
    widths: tuple[int, ...]
    targets: tuple[tuple[int, ...], ...]

    @property
    def source_of_row(self) -> list[int]:
        """The source each row asks."""
        return [source for source, width in enumerate(self.widths) for _ in range(width)]


@dataclass(frozen=True, slots=True)
class GraphParity:
    """What a comparison found.

    max_difference: largest difference from the reference over log-probabilities, normalizers, alignments and
        cross-attention keys and values; None where there is no reference (rounded precisions). Where such an array has
        magnitudes over ten, as a share of a tenth of the largest.
    max_company_difference: largest difference of a row's log-probabilities alone and among others; 0 is bit for bit.
    """

    max_difference: float | None
    max_company_difference: float
    problems: tuple[str, ...]


def forced_case(spec: ModelSpec) -> ForcedCase:
    """A fixed pseudo-random case that fits the network."""
    random = np.random.default_rng(20)
    longest = min(spec.max_source_tokens, spec.max_target_tokens)

    def ids(length: int, size: int) -> tuple[int, ...]:
        return tuple(random.integers(0, size, min(length, longest)).tolist())

    return ForcedCase(
        tuple(ids(length, spec.source_vocabulary_size) for length in _SOURCE_LENGTHS),
        _WIDTHS,
        tuple(ids(length, spec.target_vocabulary_size) for length in _TARGET_LENGTHS),
    )


def check_parity(
    pair: GraphPair, spec: ModelSpec, reference: ReferenceNetwork | None, company_tolerance: float = TOLERANCE
) -> GraphParity:
    """Runs the case; `reference` is compared with when given. Problems are sentences, empty when all is well."""
    case = forced_case(spec)
    problems: set[str] = set()
    differences, companies = [0.0], [0.0]
    for batch in _batches(pair, case):
        steps = list(pair.force(batch, case.targets, min(_BEST, spec.target_vocabulary_size)))
        problems |= {problem for _, result in steps for problem in _broken_laws(result, batch, spec)}
        if reference is not None:
            differences.append(_step_difference(steps, case, reference))
        companies.append(_company_difference(pair, batch, case))
    if reference is not None:
        differences.append(_memory_difference(pair.batch(case.sources, case.widths), case, reference, spec))
        if not max(differences) <= TOLERANCE:
            problems.add(f"differs from the reference by {max(differences):.2g}, more than {TOLERANCE}")
    if not max(companies) <= company_tolerance:
        problems.add(f"a row differs by {max(companies):.2g} in company, more than {company_tolerance}")
    difference = max(differences) if reference is not None else None
    return GraphParity(difference, max(companies), tuple(sorted(problems)))


def _batches(pair: GraphPair, case: ForcedCase) -> tuple[Batch, Batch]:
    """The case with its sources shared by their rows, and with a source of its own for every row."""
    return (
        pair.batch(case.sources, case.widths),
        pair.batch([case.sources[source] for source in case.source_of_row]),
    )


def _broken_laws(result: Arrays, batch: Batch, spec: ModelSpec) -> list[str]:
    log_probs, alignment = result["probe_log_probs"], result["alignment"]
    banned = list(spec.banned_ids)
    free = np.delete(log_probs, banned, axis=1)
    order = np.argsort(-log_probs, axis=1, kind="stable")[:, : result["top_ids"].shape[1]]
    lengths = batch.memory["lengths"][batch.source_of_row]
    padding = np.arange(alignment.shape[1])[None, :] >= lengths[:, None]
    laws = {
        "probabilities sum to 1": np.allclose(np.exp(log_probs.astype(np.float64)).sum(axis=1), 1, atol=SUM_TOLERANCE),
        "log-probabilities of allowed ids are finite": bool(np.isfinite(free).all()),
        "banned ids have no probability": bool(np.isneginf(log_probs[:, banned]).all()),
        "the best ids are those of the largest log-probabilities, the lower of equal ones first": np.array_equal(
            order, result["top_ids"]
        ),
        "log-probabilities of the best ids are those probed": np.array_equal(
            np.take_along_axis(log_probs, result["top_ids"], axis=1), result["top_log_probs"]
        ),
        "alignments sum to 1": np.allclose(alignment.sum(axis=1), 1, atol=SUM_TOLERANCE),
        "alignments are 0 at padding": not alignment[padding].any(),
    }
    return [f"does not hold: {law}" for law, holds in laws.items() if not holds]


def _memory_difference(batch: Batch, case: ForcedCase, reference: ReferenceNetwork, spec: ModelSpec) -> float:
    differences = []
    for row, source in enumerate(case.sources):
        for layer, expected in enumerate(reference.memory(source)):
            for part, values in zip("kv", expected, strict=True):
                actual = batch.memory[f"cross_{part}.{layer}"][row, :, : len(source)]
                padded = np.zeros((*values.shape[:2], spec.cache_head_width))
                padded[..., : spec.head_width] = values
                differences.append(_largest(actual, padded))
    return max(differences)


def _step_difference(
    steps: Sequence[tuple[NDArray[np.int64], Arrays]], case: ForcedCase, reference: ReferenceNetwork
) -> float:
    sources = [case.sources[source] for source in case.source_of_row]
    forced = [reference.force(source, target) for source, target in zip(sources, case.targets, strict=True)]
    differences = []
    for position, result in steps:
        for row, place in enumerate(position.tolist()):
            expected = forced[row]
            differences += [
                _largest(result["probe_log_probs"][row], expected.log_probs[place]),
                _largest(result["log_normalizer"][row], expected.log_normalizers[place]),
                _largest(result["banned_logits"][row], expected.banned_logits[place]),
                _largest(result["alignment"][row, : len(sources[row])], expected.alignments[place]),
            ]
    return max(differences)


def _company_difference(pair: GraphPair, batch: Batch, case: ForcedCase) -> float:
    together = pair.log_probs(batch, case.targets)
    differences = []
    for row, source in enumerate(case.source_of_row):
        widths = None if batch.is_solo else [1]
        (alone,) = pair.log_probs(pair.batch([case.sources[source]], widths), [case.targets[row]])
        differences.append(_largest(together[row], alone))
    return max(differences)


def _largest(actual: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Largest difference of arrays of one shape; equal infinities differ by 0, anything odd by infinity."""
    same = actual == expected
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0, np.abs(actual.astype(np.float64) - expected))
    magnitude = np.abs(expected, out=np.zeros(np.shape(expected)), where=np.isfinite(expected)).max(initial=0)
    largest = np.where(np.isnan(difference), np.inf, difference).max(initial=0)
    return float(largest / max(1.0, magnitude / _LARGE))
