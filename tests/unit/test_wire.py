"""What processes say to each other arrives as it was said."""

from dataclasses import fields, is_dataclass, replace
from multiprocessing import Pipe

import numpy as np

from service.scheduler.sequence import SequenceResult
from service.scheduler.stats import EncodeStats, StepStats
from service.scheduler.wire import Report, Submit
from service.search.group import SearchTask
from service.search.hypothesis import Hypothesis, StopReason
from service.search.options import DecodingOptions


def same(left, right) -> bool:
    """Compares by value, also what compares by identity."""
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if is_dataclass(left):
        names = [one.name for one in fields(left)]
        return type(left) is type(right) and all(same(getattr(left, name), getattr(right, name)) for name in names)
    return left == right


def sent(message):
    here, there = Pipe()
    here.send(message)
    return there.recv()


def test_messages_arrive_as_they_were_sent():
    options = DecodingOptions(beam_size=3, early_stopping="never", length_penalty=0.6, max_new_tokens=7)
    task = SearchTask(options, 5, 9, with_alignment=True, start_id=2, honest_repeats=4)
    submit = Submit(3, ((np.arange(4).tobytes(), task), (b"", task)), 12.5)
    weights = np.random.default_rng(0).random((2, 9), np.float32)
    result = SequenceResult((Hypothesis((1, 2), (-0.5, -0.25), -0.75, StopReason.END_TOKEN, weights),), 0.1, 0.2, 0.3)
    stats = (("encoded", (EncodeStats(1, 9, 0.01),)), ("stepped", (StepStats(3, 1, 0.1, 0.2),)), ("shared", ("kept",)))
    report = Report(((3, (result,)),), stats, (), 1, 2, 3, 0.5, 4, 5, healthy=True)
    for message in (submit, report):
        assert same(message, sent(message))
    assert sent(submit).items[0][1].options == options
    assert not same(sent(submit), sent(replace(submit, number=4)))
