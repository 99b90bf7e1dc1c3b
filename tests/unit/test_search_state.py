"""What a search remembers of its members, against plain lists: slots, back pointers, loops, finished hypotheses."""

import random

import numpy as np
import pytest

from service.search.history import History
from service.search.loops import LoopWatch
from service.search.options import DecodingOptions
from service.search.pool import Finished, Pool
from service.search.processors import repeated_ngram_ends
from service.search.slots import Slots
from service.text.repetition import is_runaway, tail_period


def test_the_lowest_free_slot_is_taken_and_slots_stay_in_order():
    chance = random.Random(1)
    slots, taken = Slots(), []
    seen = set()
    for _ in range(2000):
        if chance.random() < len(taken) / 8:
            taken.remove(gone := chance.choice(taken))
            slots.release(gone)
        else:
            lowest = next(slot for slot in range(len(taken) + 1) if slot not in taken)
            assert slots.take() == lowest
            taken.append(lowest)
        assert slots.taken == sorted(taken)
        assert np.arange(50)[slots.at].tolist() == slots.taken
        assert [slots.index(slot) for slot in slots.taken] == list(range(len(taken)))
        seen.add(type(slots.at))
    assert seen == {slice, np.ndarray}


def short_lives(chance):
    return chance.randint(1, 20)


def some_long_lives(chance):
    return chance.choice([3, 30, 500])


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("life", [short_lives, some_long_lives])
def test_paths_are_read_back_as_they_were_written_while_others_come_and_go(width, life):
    chance, numbers = random.Random(2), np.random.default_rng(2)
    history, slots = History(2, width), Slots()
    capacity, times_full = 2, 0
    starts, ends, written = {}, {}, {}
    for step in range(1500):
        while len(starts) < 5 and chance.random() < 0.6:
            slot = slots.take()
            starts[slot], ends[slot], written[slot] = history.steps, step + life(chance), []
            while capacity <= slot:
                history.add_slots()
                capacity *= 2
        if not starts:
            continue
        if history.is_full:
            times_full += 1
            history.make_room(min(starts.values()))
        shape = (len(starts), width)
        tokens, parents = numbers.integers(0, 100, shape), numbers.integers(0, width, shape)
        log_probs = numbers.normal(size=shape).astype(np.float32)
        history.record(slots.at, tokens, parents, log_probs)
        for index, slot in enumerate(slots.taken):
            taken = zip(tokens[index].tolist(), log_probs[index].tolist(), parents[index].tolist(), strict=True)
            written[slot].append(list(taken))
        for slot in [slot for slot in slots.taken if step + 1 >= ends[slot]]:
            beam = last = chance.randrange(width)
            path = []
            for beams in reversed(written.pop(slot)):
                path.append(beams[beam])
                beam = beams[beam][2]
            start = starts.pop(slot)
            read = history.trace(slot, start, history.steps, last)
            assert list(zip(read.tokens, read.log_probs, read.parents, strict=True)) == path[::-1]
            assert history.tokens(slot, start, history.steps, last) == read.tokens
            slots.release(slot)
    # Where lives are short the window slides and stays as it is, so it is full time and again.
    assert (times_full > 8) == (life is short_lives)


@pytest.mark.parametrize("width", [1, 2])
def test_a_watched_slot_loops_where_its_path_ends_in_a_loop_or_has_outgrown_its_source_with_one(width):
    chance = random.Random(3)
    found = {True: 0, False: 0}
    for _ in range(600):
        source_length = chance.choice([12, 99])
        period, length = chance.randint(1, 7), 8 * chance.randint(1, 5)
        head = [chance.randrange(9) for _ in range(chance.randint(0, length))]
        tokens = (head + [10 + place % period for place in range(length)])[:length]
        if chance.random() < 0.3:
            tokens[-1] = 9
        history = History(1, width)
        watch = LoopWatch(history)
        watch.add(0, 1)
        for step, token in enumerate(tokens):
            assert list(watch.due()) == ([(0, 1)] if step % 8 == 0 else [])
            row = np.full((1, width), token)
            history.record(slice(1), row, np.zeros((1, width), np.int64), row.astype(np.float32))
        loops = watch.loops(0, 0, source_length, 1)
        assert loops == (is_runaway(tokens, 1) if length > source_length else tail_period(tokens, 1) > 0)
        found[loops] += 1
        watch.discard(0, 0)
        assert not list(watch.due())
    assert min(found.values()) > 50


def test_a_pool_keeps_the_best_and_of_equal_scores_the_older():
    chance = random.Random(4)
    for _ in range(200):
        width = chance.randint(1, 5)
        pool, offered = Pool(DecodingOptions(beam_size=width), 99), []
        for step in range(6):
            scores = [chance.choice([-3.0, -2.0, -1.0, float("nan"), -1e9, -2e9]) for _ in range(width)]
            ones = [Finished(score, step, place, 7, -0.5) for place, score in enumerate(scores)]
            pool.add(ones)
            offered += [one for one in ones if one.score > -1e9]
            assert pool.best == sorted(offered, key=lambda one: -one.score)[:width]
            assert pool.is_full == (len(offered) >= width)


@pytest.mark.parametrize(
    ("early_stopping", "length_penalty", "is_final"),
    # The pool holds -1.0; a live sum of -6 is -1.5 of 4 tokens, -0.6 of 10.
    [
        (True, 1.0, True),
        (False, 1.0, True),
        ("never", 1.0, False),
        ("never", 0.0, True),
        # Here longer is worse: -6 of 4 tokens is -24.
        ("never", -1.0, True),
    ],
)
def test_a_full_pool_is_final_when_no_live_hypothesis_can_enter(early_stopping, length_penalty, is_final):
    options = DecodingOptions(beam_size=1, early_stopping=early_stopping, length_penalty=length_penalty)
    pool = Pool(options, 10)
    pool.add([Finished(-1.0, 3, 0, 7, -0.5)])
    assert pool.is_full
    assert pool.is_final(-6.0, 4) == is_final
    assert pool.is_final(-0.1, 4) == (early_stopping is True)
    pool.add([Finished(-0.5, 4, 0, 7, -0.5)])
    assert pool.best[0].score == (-1.0 if early_stopping is True else -0.5)


def test_scores_are_normalised_in_float32():
    numbers = np.random.default_rng(6)
    scores = -numbers.exponential(20, 3000).astype(np.float32)
    lengths = numbers.integers(1, 300, 3000)
    for penalty in (-1.0, 0.0, 0.6, 1.0, 2.0):
        pool = Pool(DecodingOptions(beam_size=2, length_penalty=penalty), 300)
        expected = scores / (lengths.astype(np.float64) ** np.full(3000, penalty)).astype(np.float32)
        assert expected.dtype == np.float32
        pairs = zip(scores.tolist(), lengths.tolist(), strict=True)
        assert [pool.normalised(score, length) for score, length in pairs] == expected.tolist()


def test_banned_tokens_are_those_that_would_repeat_an_ngram():
    chance = random.Random(5)
    for _ in range(2000):
        prefix = [chance.randrange(4) for _ in range(chance.randint(1, 12))]
        size = chance.randint(1, 5)
        ngrams = [prefix[start : start + size] for start in range(len(prefix) - size + 1)]
        head = prefix[len(prefix) - size + 1 :] if len(prefix) >= size - 1 else None
        assert repeated_ngram_ends(prefix, size) == [ngram[-1] for ngram in ngrams if ngram[:-1] == head]
    assert repeated_ngram_ends([1, 1, 1], 0) == []
