"""Steps of the real decode loop, one by one in the calling thread, with the time of each and of ONNX Runtime in it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.rivals.rival import Ids, Task
from bench.rivals.verso import decoding_options
from bench.runtime_watch import RuntimeWatch
from bench.spread import median
from service.engine.engine import Engine
from service.engine.options import EngineOptions
from service.package.package import ModelPackage
from service.scheduler.loop import DecodeLoop
from service.scheduler.options import SchedulerOptions
from service.scheduler.sequence import Sequence as DecodeSequence
from service.scheduler.sequence import Submission
from service.scheduler.stats import NullSink
from service.search.group import SearchTask
from service.search.rules import DecodingRules
from service.translation.model import default_options

_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the loop: rows in its step, seconds of the turn, and of those in the two graphs."""

    num_rows: int
    seconds: float
    decoder_seconds: float
    encoder_seconds: float

    @property
    def host_seconds(self) -> float:
        """Everything outside ONNX Runtime."""
        return self.seconds - self.decoder_seconds - self.encoder_seconds


class StepProbe:
    """A package in one precision whose loop runs in the calling thread; all sources of a task join in one turn."""

    def __init__(self, package: Path, precision: str) -> None:
        opened = ModelPackage.open(package)
        manifest = opened.manifest
        limits = SchedulerOptions(max_kept_tokens=0, max_tokens=_MOST, max_encode_tokens=_MOST)
        self.watch = RuntimeWatch().__enter__()
        engine = Engine(opened, EngineOptions(precision=precision), limits.max_rows)
        self._num_threads = engine.num_threads
        rules = DecodingRules(
            start_id=manifest.special_ids.decoder_start,
            eos_id=manifest.special_ids.eos,
            forced_eos_id=manifest.generation.forced_eos_id,
            renormalize=manifest.generation.renormalize,
        )
        self._loop = DecodeLoop(engine, rules, limits, NullSink())
        self._defaults = default_options(opened, limits.max_rows)

    def num_threads(self) -> int:
        """Threads of a graph run, as the service chooses them."""
        return self._num_threads

    def turns(self, task: Task, after_turn: Callable[[], None] = lambda: None) -> list[Turn]:
        """Translates a task; returns what each turn took. The first one also encodes. Calls `after_turn` after each."""
        submission = self._submission(task.sources, task)
        self._loop.inbox.submit(submission)
        turns = []
        while not submission.future.done():
            before = dict(self.watch.seconds)
            started = time.perf_counter()
            self._loop.iterate()
            seconds = time.perf_counter() - started
            after = self.watch.seconds
            turns.append(
                Turn(
                    num_rows=self._loop.num_rows,
                    seconds=seconds,
                    decoder_seconds=after["decoder"] - before["decoder"],
                    encoder_seconds=after["encoder"] - before["encoder"],
                )
            )
            after_turn()
        submission.future.result()
        return turns

    def _submission(self, sources: Ids, task: Task) -> Submission:
        options = replace(decoding_options(task, self._defaults), early_stopping=False)
        return Submission(
            [
                DecodeSequence(np.array(source, np.int64), SearchTask(options, None, len(source), with_alignment=False))
                for source in sources
            ]
        )


def steps(turns: Sequence[Turn]) -> list[Turn]:
    """Leaves out the first turn, which encodes, and the last, which hands results out."""
    return list(turns[1:-1])


def median_step_seconds(turns: Sequence[Turn]) -> float:
    """Returns the median of the whole turns."""
    return median([turn.seconds for turn in steps(turns)])


def median_host_seconds(turns: Sequence[Turn]) -> float:
    """Returns the median of what turns spend outside ONNX Runtime."""
    return median([turn.host_seconds for turn in steps(turns)])


def median_decoder_seconds(turns: Sequence[Turn]) -> float:
    """Returns the median of what turns spend in the decoder graph."""
    return median([turn.decoder_seconds for turn in steps(turns)])


def window_seconds(turns: Sequence[Turn], position: int, width: int) -> float:
    """Returns the median turn among `width` ones from a target position on."""
    return median([turn.seconds for turn in turns[position : position + width]])
