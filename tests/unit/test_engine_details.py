"""Parts of the engine that are plain arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.engine.alignment import attention_weights
from service.engine.sizes import one_of_few


@pytest.mark.parametrize("heads", [(), (1,), (2, 0)])
@pytest.mark.parametrize("length", [1, 7])
def test_attention_weights_are_the_mean_of_a_softmax_by_head(heads, length):
    random = np.random.default_rng(length)
    queries, keys = random.normal(size=(4, 3 * 5)).astype(np.float32), random.normal(size=(3, length, 5))
    weights = attention_weights(queries, keys.astype(np.float32), heads)
    assert weights.dtype == np.float32
    for row, query in enumerate(queries):
        expected = []
        for head in heads or range(3):
            odds = [np.exp(float(np.dot(query[5 * head : 5 * head + 5], key))) for key in keys[head]]
            expected.append([one / sum(odds) for one in odds])
        np.testing.assert_allclose(weights[row], np.mean(expected, axis=0), rtol=1e-5)


def test_attention_weights_of_large_numbers_are_numbers():
    keys = np.full((2, 3, 4), 1e4, np.float32)
    np.testing.assert_allclose(attention_weights(np.full((1, 8), 1e4, np.float32), keys), [[1 / 3] * 3], rtol=1e-6)


@given(st.integers(0, 5000))
def test_sizes_are_few_and_never_more_than_half_as_large_again(count):
    size = one_of_few(count)
    assert count <= size <= max(count, 1.5 * count)
    assert one_of_few(size) == size


def test_there_are_two_sizes_for_each_doubling():
    assert sorted({one_of_few(count) for count in range(65)}) == [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
