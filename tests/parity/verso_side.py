"""Verso's own decoding of token ids: engine, scheduler and search as they serve, all sources in company."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from service.engine.options import EngineOptions
from service.scheduler.options import SchedulerOptions
from service.scheduler.sequence import Sequence as DecodeSequence
from service.scheduler.stats import NullSink
from service.search.group import SearchTask
from service.search.hypothesis import Hypothesis
from service.search.options import DecodingOptions
from service.translation.model import LoadedModel

DECODE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Target:
    """What asks for a target language: the token that all outputs begin with, or what decoding starts from."""

    forced_first_id: int | None = None
    start_id: int | None = None


def decode(
    package_folder: Path,
    precision: str,
    source_ids: Sequence[Sequence[int]],
    options: Sequence[DecodingOptions],
    target: Target = Target(),
) -> list[tuple[Hypothesis, ...]]:
    """Decodes every source (special tokens included) with its own options; returns hypotheses best first."""
    engine_options = EngineOptions(precision=precision, num_threads=1, provider="cpu")
    model = LoadedModel(package_folder, engine_options, SchedulerOptions(), NullSink())
    try:
        sequences = []
        for ids, one in zip(source_ids, options, strict=True):
            task = SearchTask(one, target.forced_first_id, len(ids), with_alignment=False, start_id=target.start_id)
            sequences.append(DecodeSequence(np.array(ids, np.int64), task))
        dispatch = model.pool.dispatch(sequences, deadline=None)
        results = dispatch.gather([future.result(timeout=DECODE_SECONDS) for future in dispatch.futures])
        return [result.hypotheses for result in results]
    finally:
        model.close(drain_seconds=1.0)
