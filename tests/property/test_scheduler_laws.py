"""The decode loop under random arrivals, cancellations, deadlines, options and engine failures.

Laws: every sequence ends exactly once; whoever is not cancelled, late or hit by a failure gets just the text it gets
alone; gauges, rows and memories return to zero; nobody waits for ever.
"""

from concurrent.futures import Future
from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from service.errors import DeadlineExceededError, EngineError, RequestCancelledError, ShuttingDownError
from service.scheduler.loop import DecodeLoop
from service.scheduler.options import SchedulerOptions
from service.scheduler.sequence import Sequence, Submission
from service.scheduler.stats import NullSink
from service.search.group import SearchTask
from service.search.hypothesis import StopReason
from service.search.options import DecodingOptions
from service.search.rules import DecodingRules
from tests.doubles.scripted_engine import EOS_ID, START_ID, ScriptedEngine

RULES = DecodingRules(START_ID, EOS_ID, forced_eos_id=EOS_ID, renormalize=True)
LIMITS = SchedulerOptions(max_rows=12, max_tokens=160, max_encode_tokens=48, max_kept_tokens=60)
UNSHARED = replace(LIMITS, max_kept_tokens=0)
MAX_TURNS = 2_000

OPTIONS = st.just(DecodingOptions(beam_size=2, max_new_tokens=9)) | st.builds(
    DecodingOptions,
    beam_size=st.sampled_from([1, 1, 2, 3, 5]),
    length_penalty=st.sampled_from([0.6, 1.0]),
    early_stopping=st.sampled_from([False, True, "never"]),
    max_new_tokens=st.integers(2, 16),
    no_repeat_ngram_size=st.sampled_from([0, 0, 2]),
    max_length_ratio=st.sampled_from([0.0, 0.0, 0.1]),
    stop_loops=st.booleans(),
)
# Few enough sources that identical ones meet, whose work is shared.
SOURCES = st.sampled_from([(1, 2), (3,), (4, 5, 6)]) | st.lists(st.integers(1, 18), min_size=1, max_size=40).map(tuple)


class CountingSink(NullSink):
    """Counts the ends it is told of."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def finished(self, reason: str, queue_seconds: float, encode_seconds: float, decode_seconds: float) -> None:
        assert min(queue_seconds, encode_seconds, decode_seconds) >= 0
        self.reasons.append(reason)


def sequence(source, options):
    return Sequence(np.array(source, np.int64), SearchTask(options, None, len(source), with_alignment=False))


_alone: dict[tuple, list] = {}


def alone(source, options):
    """Returns what a sequence gives with nobody else there."""
    if (source, options) not in _alone:
        loop = DecodeLoop(ScriptedEngine(), RULES, UNSHARED, NullSink())
        submission = Submission([sequence(source, options)])
        loop.inbox.submit(submission)
        while not submission.future.done():
            loop.iterate()
        _alone[source, options] = submission.future.result()[0].hypotheses
    return [(one.token_ids, one.score) for one in _alone[source, options]]


class SchedulerMachine(RuleBasedStateMachine):
    """Drives one loop turn by turn with a clock of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.engine = ScriptedEngine(max_rows=LIMITS.max_rows)
        self.sink = CountingSink()
        self.loop = DecodeLoop(self.engine, RULES, LIMITS, self.sink, clock=lambda: self.now)
        self.sent: list[tuple[Submission, list]] = []
        self.cancelled: set[Submission] = set()
        self.failures = 0

    @rule(items=st.lists(st.tuples(SOURCES, OPTIONS), min_size=1, max_size=8), patience=st.none() | st.integers(1, 60))
    def submit(self, items, patience):
        deadline = None if patience is None else self.now + patience
        submission = Submission([sequence(*item) for item in items], deadline)
        self.sent.append((submission, items))
        self.loop.inbox.submit(submission)

    @rule(pick=st.integers(0, 1_000))
    def cancel(self, pick):
        if self.sent:
            submission = self.sent[pick % len(self.sent)][0]
            self.cancelled.add(submission)
            self.loop.inbox.cancel(submission)

    @rule(turns=st.integers(1, 12))
    def run(self, turns):
        for _ in range(turns):
            self.now += 1.0
            self.loop.iterate()

    @rule()
    def fail(self):
        self.engine.fail_next = True
        self.failures += 1
        self.run(1)

    @invariant()
    def budgets_hold(self):
        assert self.loop.num_rows <= LIMITS.max_rows
        assert self.engine.num_memories == self.loop.num_running

    @invariant()
    def ends_are_counted_once(self):
        ended = [one for submission, _ in self.sent for one in submission.sequences if one.reason is not None]
        assert sorted(self.sink.reasons) == sorted(str(one.reason) for one in ended)

    def teardown(self):
        self.engine.fail_next = False
        for _ in range(MAX_TURNS):
            self.now += 0.01
            self.loop.iterate()
            if self.loop.idle:
                break
        assert self.loop.idle, "somebody waits for ever"
        assert (self.loop.num_rows, self.loop.num_running, self.engine.num_memories) == (0, 0, 0)
        assert (self.loop.inbox.waiting_sequences, self.loop.inbox.waiting_tokens) == (0, 0)
        for submission, items in self.sent:
            self.check(submission, items)

    def check(self, submission, items):
        assert submission.future.done()
        error = submission.future.exception()
        if error is None:
            results = submission.future.result()
            got = [[(one.token_ids, one.score) for one in result.hypotheses] for result in results]
            assert got == [alone(*item) for item in items]
            assert {one.reason for one in submission.sequences} <= {StopReason.END_TOKEN, StopReason.LENGTH}
        elif isinstance(error, RequestCancelledError):
            assert submission in self.cancelled
        elif isinstance(error, DeadlineExceededError):
            assert submission.deadline is not None
        else:
            assert isinstance(error, EngineError)
            assert self.failures


TestScheduler = SchedulerMachine.TestCase
TestScheduler.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_what_is_left_at_the_end_is_told_so():
    loop = DecodeLoop(ScriptedEngine(), RULES, LIMITS, NullSink())
    options = DecodingOptions(beam_size=3, max_new_tokens=16)
    submissions = [Submission([sequence((1, 2, index), options) for index in range(6)]) for _ in range(3)]
    for submission in submissions:
        loop.inbox.submit(submission)
    for _ in range(2):
        loop.iterate()
    loop.abandon_all(ShuttingDownError("stopping"))
    futures: list[Future] = [submission.future for submission in submissions]
    assert all(isinstance(future.exception(), ShuttingDownError) for future in futures)
    assert loop.idle
    assert loop.inbox.waiting_sequences == 0


def run_until_idle(loop, turns=200):
    for _ in range(turns):
        loop.iterate()
    assert loop.idle


def test_identical_sequences_are_decoded_once():
    engine = ScriptedEngine()
    loop = DecodeLoop(engine, RULES, LIMITS, NullSink())
    options = DecodingOptions(beam_size=2, max_new_tokens=8)
    submissions = [Submission([sequence((1, 2), options), sequence((1, 2), options)]) for _ in range(3)]
    for submission in submissions:
        loop.inbox.submit(submission)
    loop.iterate()
    assert engine.num_memories == 1
    run_until_idle(loop)
    steps = len(engine.row_counts)
    later = Submission([sequence((1, 2), options)])
    loop.inbox.submit(later)
    loop.iterate()
    assert len(engine.row_counts) == steps
    texts = {result.hypotheses for one in [*submissions, later] for result in one.future.result()}
    assert len(texts) == 1


def test_other_options_or_sources_are_not_shared():
    engine = ScriptedEngine()
    loop = DecodeLoop(engine, RULES, LIMITS, NullSink())
    variants = [
        sequence((1, 2), DecodingOptions(max_new_tokens=8)),
        sequence((1, 2), DecodingOptions(max_new_tokens=9)),
        sequence((1, 3), DecodingOptions(max_new_tokens=8)),
    ]
    loop.inbox.submit(Submission(variants))
    loop.iterate()
    assert engine.num_memories == 3


def test_a_follower_is_decoded_when_its_leader_is_cancelled():
    loop = DecodeLoop(ScriptedEngine(), RULES, LIMITS, NullSink())
    options = DecodingOptions(max_new_tokens=8)
    leader, follower = (Submission([sequence((1, 2), options)]) for _ in range(2))
    loop.inbox.submit(leader)
    loop.inbox.submit(follower)
    loop.iterate()
    loop.inbox.cancel(leader)
    run_until_idle(loop)
    assert isinstance(leader.future.exception(), RequestCancelledError)
    got = follower.future.result()[0].hypotheses
    assert [(one.token_ids, one.score) for one in got] == alone((1, 2), options)


def test_what_is_kept_stays_within_its_budget():
    engine = ScriptedEngine()
    loop = DecodeLoop(engine, RULES, replace(LIMITS, max_kept_tokens=12), NullSink())
    options = DecodingOptions(max_new_tokens=3)
    for number in (1, 2, 3, 4, 1):
        loop.inbox.submit(Submission([sequence((number, 5, 6, 7), options)]))
        run_until_idle(loop)
    # The first had to make room for the others, so the last was decoded again.
    assert sum(engine.row_counts) >= 5


def test_sharing_can_be_switched_off():
    engine = ScriptedEngine()
    loop = DecodeLoop(engine, RULES, UNSHARED, NullSink())
    options = DecodingOptions(max_new_tokens=8)
    loop.inbox.submit(Submission([sequence((1, 2), options), sequence((1, 2), options)]))
    loop.iterate()
    assert engine.num_memories == 2


def test_a_document_does_not_hold_up_a_sentence():
    loop = DecodeLoop(ScriptedEngine(max_rows=12), RULES, LIMITS, NullSink())
    options = DecodingOptions(max_new_tokens=10)
    document = Submission([sequence((1 + index % 18, 1 + index // 18, 2), options) for index in range(324)])
    loop.inbox.submit(document)
    loop.iterate()
    single = Submission([sequence((5, 6), options)])
    loop.inbox.submit(single)
    for _ in range(30):
        loop.iterate()
    assert single.future.done()
    assert not document.future.done()


def test_sequences_that_wait_for_rows_are_encoded_together():
    engine = ScriptedEngine(max_rows=12)
    loop = DecodeLoop(engine, RULES, LIMITS, NullSink())
    options = DecodingOptions(beam_size=6, max_new_tokens=10)
    document = Submission([sequence((1 + index % 18, 1 + index // 18, 2), options) for index in range(96)])
    loop.inbox.submit(document)
    run_until_idle(loop, turns=2_000)
    got = [[(one.token_ids, one.score) for one in result.hypotheses] for result in document.future.result()]
    assert got == [alone(tuple(one.source_ids.tolist()), options) for one in document.sequences]
    # Two fit in at a time; sixteen make a run of the encoder.
    assert engine.num_encoded == [16] * 6


def test_a_wide_sequence_is_not_passed_over_for_ever():
    loop = DecodeLoop(ScriptedEngine(max_rows=12), RULES, LIMITS, NullSink())
    narrow = DecodingOptions(max_new_tokens=6)
    wide = Submission([sequence((7, 8), DecodingOptions(beam_size=12, max_new_tokens=6))])
    loop.inbox.submit(Submission([sequence((1 + index // 18, 2, 1 + index % 18), narrow) for index in range(40)]))
    loop.iterate()
    loop.inbox.submit(wide)
    for turn in range(1, 200):
        # New narrow work keeps coming, and must wait its turn.
        loop.inbox.submit(Submission([sequence((3, 1 + turn % 18, 1 + turn // 18), narrow)]))
        loop.iterate()
        if wide.future.done():
            break
    assert wide.future.done()
