"""Verso's hypotheses beside those of `generate`: equal, a tie that rounding decides, or a fault."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from service.search.hypothesis import Hypothesis
from service.search.options import DecodingOptions
from tests.parity.oracle import Oracle, OracleOutput, generate, search_log_probs

TIE_TOLERANCE = 1e-5
SCORE_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Difference:
    """One source whose hypotheses are not those of `generate`.

    rank: the first hypothesis that differs; step: its first token that does. gap: between both candidates by the
    reference's own arithmetic: log-probabilities of the two tokens in greedy search, scores in beam search.
    is_tie: the gap is within TIE_TOLERANCE, or the reference itself answers otherwise in float64.
    """

    setting: str
    source: int
    rank: int
    step: int
    expected: tuple[int, ...]
    got: tuple[int, ...]
    gap: float
    is_tie: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """One source decoded by both sides."""

    setting: str
    source: int
    source_ids: Sequence[int]
    options: DecodingOptions
    expected: Sequence[OracleOutput]
    got: Sequence[Hypothesis]


def difference(case: Comparison, oracle: Oracle, exact_oracle: Oracle) -> Difference | None:
    """Compares token ids; None where all are equal. `exact_oracle` is the same model in float64."""
    expected = [output.token_ids for output in case.expected]
    got = [hypothesis.token_ids for hypothesis in case.got]
    if expected == got:
        return None
    if len(expected) != len(got):
        return Difference(case.setting, case.source, min(len(got), len(expected)), 0, (), (), inf, is_tie=False)
    rank = next(index for index in range(len(expected)) if expected[index] != got[index])
    step = _first_difference(expected[rank], got[rank])
    gap = _gap(case, oracle, expected[rank], got[rank], step)
    is_tie = gap <= TIE_TOLERANCE or _is_unstable(case, exact_oracle)
    return Difference(case.setting, case.source, rank, step, expected[rank], got[rank], gap, is_tie=is_tie)


def score_errors(case: Comparison) -> list[float]:
    """Returns the absolute differences of beam scores; empty in greedy search, where `generate` gives none."""
    return [
        abs(output.score - hypothesis.score)
        for output, hypothesis in zip(case.expected, case.got, strict=True)
        if output.score is not None
    ]


def _gap(case: Comparison, oracle: Oracle, expected: Sequence[int], got: Sequence[int], step: int) -> float:
    ours = search_log_probs(oracle, case.source_ids, got, case.options)
    theirs = search_log_probs(oracle, case.source_ids, expected, case.options)
    if case.options.beam_size == 1:
        return abs(ours[step] - theirs[step])
    power = case.options.length_penalty
    return abs(sum(ours) / len(ours) ** power - sum(theirs) / len(theirs) ** power)


def _is_unstable(case: Comparison, exact_oracle: Oracle) -> bool:
    exact = generate(exact_oracle, case.source_ids, case.options)
    return [output.token_ids for output in exact] != [output.token_ids for output in case.expected]


def _first_difference(left: Sequence[int], right: Sequence[int]) -> int:
    shared = min(len(left), len(right))
    return next((index for index in range(shared) if left[index] != right[index]), shared)
