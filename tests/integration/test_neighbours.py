"""Law: neighbours never matter. A sentence alone and in any company gives the same text, in fp32 and in int8."""

import numpy as np
import pytest

from service.search.options import DecodingOptions, guarded
from tests.integration.running import decode_alone, decode_in_company, held_out_sources

MIXED = [
    DecodingOptions(max_new_tokens=120),
    DecodingOptions(beam_size=2, max_new_tokens=120),
    DecodingOptions(beam_size=4, num_hypotheses=2, max_new_tokens=120),
    DecodingOptions(beam_size=5, length_penalty=0.6, no_repeat_ngram_size=3, max_new_tokens=120),
    DecodingOptions(sampling=True, seed=9, top_p=0.9, max_new_tokens=120),
    guarded(DecodingOptions(max_new_tokens=400)),
    guarded(DecodingOptions(beam_size=4, max_new_tokens=400)),
]


def assert_neighbours_never_matter(precision: str, count: int) -> None:
    work = [(text, MIXED[index % len(MIXED)]) for index, text in enumerate(held_out_sources(count))]
    together = decode_in_company(precision, work, neighbours=16, seed=count)
    for (text, options), hypotheses in zip(work, together, strict=True):
        alone = decode_alone(precision, text, options)
        assert [one.token_ids for one in hypotheses] == [one.token_ids for one in alone], (text, options)
        for one, other in zip(hypotheses, alone, strict=True):
            if precision == "int8":
                # Not only the same choice: the same bits, so there is no near-tie that company could tip.
                assert one.token_log_probs == other.token_log_probs, (text, options)
            else:
                # Some processors' float products differ in the last digits from one number of rows to another.
                np.testing.assert_allclose(one.token_log_probs, other.token_log_probs, atol=1e-4)


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_a_sentence_alone_and_among_fifteen_others_gives_the_same(precision):
    assert_neighbours_never_matter(precision, 60)


@pytest.mark.parity
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_the_same_for_a_thousand_sentences(precision):
    assert_neighbours_never_matter(precision, 1_000)
