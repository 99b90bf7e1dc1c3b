"""Who is next, who joins, and who is refused."""

import numpy as np
import pytest

from service.engine.encoded import EncoderRun, Memory
from service.errors import QueueFullError, ShuttingDownError
from service.scheduler.inbox import Inbox
from service.scheduler.options import SchedulerOptions
from service.scheduler.planner import Load, plan
from service.scheduler.queue import WaitingQueue
from service.scheduler.sequence import Sequence, Submission
from service.search.group import SearchTask
from service.search.options import DecodingOptions

EMPTY = Load(num_rows=0, num_sources=0, longest=0)
LIMITS = SchedulerOptions(
    max_rows=10, max_tokens=160, max_encode_tokens=64, max_waiting_sequences=5, max_waiting_tokens=1_000
)


def submission(count, length=10, beam_size=1):
    options = DecodingOptions(beam_size=beam_size)
    return Submission(
        [
            Sequence(np.ones(length, np.int64), SearchTask(options, None, length, with_alignment=False))
            for _ in range(count)
        ]
    )


def queue_of(*submissions):
    waiting = WaitingQueue()
    for one in submissions:
        waiting.add(one)
    return waiting


def test_submissions_take_turns_and_keep_their_own_order():
    first, second = submission(3), submission(2)
    waiting = queue_of(first, second)
    taken = [waiting.pop() for _ in range(5)]
    a, b = first.sequences, second.sequences
    assert taken == [a[0], b[0], a[1], b[1], a[2]]
    assert len(waiting) == 0
    assert waiting.peek() is None


def test_removing_a_submission_leaves_the_others_in_turn():
    first, second, third = submission(2), submission(2), submission(1)
    waiting = queue_of(first, second, third)
    waiting.pop()
    assert waiting.remove(second) == second.sequences
    assert waiting.remove(second) == ()
    assert [waiting.pop() for _ in range(2)] == [third.sequences[0], first.sequences[1]]


def test_rows_are_a_budget():
    waiting = queue_of(submission(4, beam_size=4))
    assert len(plan(waiting, EMPTY, LIMITS).admit) == 2
    assert len(plan(waiting, Load(8, 2, 16), LIMITS).admit) == 0
    assert len(waiting) == 2


def test_sources_times_the_longest_are_a_budget():
    waiting = queue_of(submission(5, length=16))
    # Ten sources of at most 16 tokens fit into 160; seven run already.
    assert len(plan(waiting, Load(7, 7, 16), LIMITS).admit) == 3
    waiting = queue_of(submission(1, length=40))
    assert len(plan(waiting, Load(4, 4, 16), LIMITS).admit) == 0


def test_encoding_is_bounded_but_always_has_room_for_one():
    assert len(plan(queue_of(submission(9, length=16)), EMPTY, LIMITS).admit) == 4
    assert (
        len(plan(queue_of(submission(2, length=100)), Load(1, 1, 16), SchedulerOptions(max_encode_tokens=1)).admit) == 1
    )


def test_what_comes_next_is_encoded_along_with_what_joins():
    first, second = submission(3, length=16), submission(4, length=16)
    waiting = queue_of(first, second)
    joins = plan(waiting, Load(9, 1, 16), LIMITS)
    # Four sources of 16 tokens are a run of the encoder.
    assert joins.admit == (first.sequences[0],)
    assert joins.ahead == (second.sequences[0], first.sequences[1], second.sequences[1])
    assert len(waiting) == 6


def test_no_more_is_encoded_ahead_than_one_run_holds_and_nothing_twice():
    first, second = submission(3, length=16), submission(4, length=16)
    waiting = queue_of(first, second)
    ahead = plan(waiting, Load(9, 1, 16), LIMITS).ahead
    for sequence in ahead:
        sequence.memory = Memory(EncoderRun((), np.zeros(0, np.int32)), 0)
    waiting.encoded(ahead)
    assert waiting.encoded_tokens == 48
    # They join without another run.
    joins = plan(waiting, Load(9, 1, 16), LIMITS)
    assert (joins.admit, joins.ahead) == ((second.sequences[0],), ())
    # Whoever has come meanwhile and is next is encoded, with so many more that 64 tokens wait at most.
    third = submission(1, length=16)
    waiting.add(third)
    waiting.remove(first)
    assert waiting.encoded_tokens == 16
    joins = plan(waiting, Load(8, 1, 16), LIMITS)
    assert joins.admit == (second.sequences[1], third.sequences[0])
    assert joins.ahead == (second.sequences[2], second.sequences[3])
    assert waiting.encoded_tokens == 0


def test_an_empty_batch_takes_even_what_is_over_every_budget():
    tight = SchedulerOptions(max_rows=2, max_tokens=8, max_encode_tokens=8)
    assert len(plan(queue_of(submission(2, length=30, beam_size=3)), EMPTY, tight).admit) == 1


def test_the_first_that_does_not_fit_is_not_passed_over():
    waiting = queue_of(submission(1, beam_size=8), submission(1))
    assert plan(waiting, Load(5, 5, 16), LIMITS).admit == ()


def test_a_full_queue_refuses_and_says_when_to_come_back():
    inbox = Inbox(LIMITS)
    inbox.submit(submission(4))
    with pytest.raises(QueueFullError) as refused:
        inbox.submit(submission(2))
    assert refused.value.retry_after_seconds == 1.0
    inbox.drain_rate = 0.5
    with pytest.raises(QueueFullError) as refused:
        inbox.submit(submission(2))
    assert refused.value.retry_after_seconds == 8.0
    inbox.submit(submission(1))
    assert (inbox.waiting_sequences, inbox.waiting_tokens) == (5, 5 * 10)


def test_a_list_is_refused_by_the_same_rule_as_its_texts():
    one_by_one, as_list = Inbox(LIMITS), Inbox(LIMITS)
    for _ in range(5):
        one_by_one.submit(submission(1))
    as_list.submit(submission(5))
    for inbox in (one_by_one, as_list):
        with pytest.raises(QueueFullError):
            inbox.submit(submission(1))


def test_a_request_over_the_bounds_is_taken_when_nothing_waits():
    Inbox(LIMITS).submit(submission(50))


def test_a_closed_inbox_refuses():
    inbox = Inbox(LIMITS)
    inbox.close()
    with pytest.raises(ShuttingDownError):
        inbox.submit(submission(1))


def test_a_submission_without_sequences_is_complete_at_once():
    assert Submission([]).future.result(timeout=0) == ()
