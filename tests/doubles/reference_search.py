"""Greedy and beam search over whole vocabularies, one sequence at a time, written as plainly as possible.

Follows Hugging Face `generate` step by step with lists and full score vectors; the search under test must agree.
"""

from collections.abc import Callable, Sequence

import numpy as np

from service.search.options import DecodingOptions
from service.search.rules import DecodingRules
from tests.doubles.scripted_engine import log_softmax

Logits = Callable[[Sequence[int]], np.ndarray]


def search(
    logits: Logits,
    options: DecodingOptions,
    rules: DecodingRules,
    forced_first_id: int | None = None,
    banned=-np.inf,
    start_id: int | None = None,
):
    """Returns [(token ids, score)], best first; `logits` maps a prefix (start token included) to (V,) scores.

    banned: the logit that the model's start token, which is never generated, has in the checkpoint.
    start_id: what this sequence begins with instead of it.
    """
    start = rules.start_id if start_id is None else start_id
    if options.beam_size == 1:
        return _greedy(logits, options, rules, forced_first_id, start)
    return _beam(logits, options, rules, (forced_first_id, banned, start))


def processed(scores, prefix, options, rules, forced_first_id):
    scores = scores.astype(np.float64).copy()
    generated = len(prefix) - 1
    if options.repetition_penalty != 1.0:
        for token in set(prefix):
            value = scores[token]
            scores[token] = value / options.repetition_penalty if value > 0 else value * options.repetition_penalty
    if options.beam_size > 1:
        scores[rules.start_id] = -np.inf
    size = options.no_repeat_ngram_size
    if size:
        seen = [tuple(prefix[i : i + size]) for i in range(len(prefix) - size + 1)]
        for token in range(len(scores)):
            if (*prefix[len(prefix) - size + 1 :], token) in seen and len(prefix) + 1 >= size:
                scores[token] = -np.inf
    if generated < options.min_new_tokens:
        scores[rules.eos_id] = -np.inf
    if generated == 0 and forced_first_id is not None:
        scores[:] = -np.inf
        scores[forced_first_id] = 0.0
    if generated == options.max_new_tokens - 1 and rules.forced_eos_id is not None:
        scores[:] = -np.inf
        scores[rules.forced_eos_id] = 0.0
    return log_softmax(scores).astype(np.float64) if rules.renormalize else scores


def _greedy(logits, options, rules, forced_first_id, start):
    prefix, score = [start], 0.0
    while True:
        raw = logits(prefix)
        scores = processed(raw, prefix, options, rules, forced_first_id)
        token = int(np.argmax(scores))
        if rules.renormalize:
            score += float(scores[token])
        prefix.append(token)
        if token == rules.eos_id or len(prefix) - 1 == options.max_new_tokens:
            return [(prefix[1:], score)]


def _beam(logits, options, rules, beginning):
    forced_first_id, banned, start = beginning
    width, penalty = options.beam_size, options.length_penalty
    running = [([start], 0.0)]
    finished = []
    for length in range(1, options.max_new_tokens + 1):
        candidates = []
        for prefix, score in running:
            # Banned ids take part in the softmax and are banned after the penalties.
            everything = logits(prefix).copy()
            everything[rules.start_id] = banned
            scores = processed(log_softmax(everything), prefix, options, rules, forced_first_id)
            candidates += [([*prefix, token], score + value) for token, value in enumerate(scores) if value > -1e8]
        candidates.sort(key=lambda candidate: -candidate[1])
        candidates = candidates[: 2 * width]
        hits = [tokens[-1] == rules.eos_id or length == options.max_new_tokens for tokens, _ in candidates]
        if not (options.early_stopping is True and len(finished) == width):
            new = [
                (tokens[1:], score / length**penalty)
                for (tokens, score), hit in zip(candidates[:width], hits, strict=False)
                if hit
            ]
            finished = sorted([*finished, *new], key=lambda done: -done[1])[:width]
        running = [candidate for candidate, hit in zip(candidates, hits, strict=True) if not hit][:width]
        if not running:
            break
        if len(finished) == width:
            reach = options.max_new_tokens if options.early_stopping == "never" and penalty > 0 else length
            if options.early_stopping is True or running[0][1] / reach**penalty <= finished[-1][1]:
                break
    return finished[: options.num_hypotheses]
