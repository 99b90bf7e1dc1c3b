"""The search for best ids in two levels finds what sorting a whole row finds, ties included."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

from export.graph.best_ids import add_best_ids
from export.graph.builder import GraphBuilder
from export.graph.weight_store import WeightStore

# One block, few ids, primes (which no block size divides), others that one does, and the bundled vocabulary.
COUNTS = (1, 2, 3, 7, 50, 97, 128, 2_000, 4_099, 8_001)


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    """A function of rows [R, count] and k that gives values and ids [R, k]; a graph of each size is made once."""
    sessions = {}

    def run(rows, k):
        count = rows.shape[1]
        if count not in sessions:
            sessions[count] = open_search(tmp_path_factory.mktemp("search"), count)
        return sessions[count].run(["best", "ids"], {"rows": rows, "k": np.array([k])})

    return run


def open_search(folder, count, prepare=lambda builder, rows: rows):
    with WeightStore(folder / "weights.bin") as store:
        builder = GraphBuilder("search", store)
        rows = prepare(builder, builder.input("rows", TensorProto.FLOAT, ["R", count]))
        k = builder.input("k", TensorProto.INT64, [1])
        add_best_ids(builder, rows, count, k, ("best", "ids"))
        builder.output("best", TensorProto.FLOAT, ["R", "k"])
        builder.output("ids", TensorProto.INT64, ["R", "k"])
        builder.save(folder / "search.onnx")
    return onnxruntime.InferenceSession(folder / "search.onnx", providers=["CPUExecutionProvider"])


def sorted_ids(rows, k):
    """By value, the largest first, and by id."""
    return np.argsort(-rows, axis=1, kind="stable")[:, :k]


def many_kinds_of_rows(count):
    """Distinct values, many ties, one value everywhere, minus infinity mostly and everywhere, ties at block edges."""
    random = np.random.default_rng(count)
    rows = random.normal(-9, 3, (8, count)).astype(np.float32)
    rows[1] = random.integers(-3, 0, count)
    rows[2] = np.round(rows[2], 1)
    rows[3] = -1.5
    rows[4, random.random(count) < 0.95] = -np.inf
    rows[5] = -np.inf
    rows[6] = np.sort(rows[6])
    rows[7, ::16] = rows[7].max()
    return rows


def some_ks(count):
    return sorted({1, 2, 8, count // 2, count - 1, count} & set(range(1, count + 1)))


@pytest.mark.parametrize("count", COUNTS)
def test_the_best_are_those_of_the_sorted_row(search, count):
    rows = many_kinds_of_rows(count)
    for k in some_ks(count):
        best, ids = search(rows, k)
        np.testing.assert_array_equal(ids, sorted_ids(rows, k), err_msg=f"{k} of {count}")
        np.testing.assert_array_equal(best, np.take_along_axis(rows, ids, axis=1))


@pytest.mark.parametrize("count", [97, 8_001])
def test_a_row_is_searched_alike_in_any_company(search, count):
    rows = np.tile(many_kinds_of_rows(count), (8, 1))[:60]
    together = search(rows, 8)
    for num_rows in (1, 2, 3, 8):
        for first in range(0, 8, num_rows):
            some = slice(first, first + num_rows)
            for found, expected in zip(search(rows[some], 8), together, strict=True):
                np.testing.assert_array_equal(found, expected[some])


@pytest.mark.parametrize("count", COUNTS)
def test_a_broken_row_shows_and_harms_no_other(search, count):
    rows = many_kinds_of_rows(count)
    k = min(8, count)
    whole = search(rows, k)
    rows[3] = np.nan
    best, ids = search(rows, k)
    assert np.isnan(best[3]).all()
    assert ((ids >= 0) & (ids < count)).all()
    others = np.arange(len(rows)) != 3
    np.testing.assert_array_equal(best[others], whole[0][others])
    np.testing.assert_array_equal(ids[others], whole[1][others])


@pytest.mark.parametrize("broken", [np.nan, np.inf])
@pytest.mark.parametrize("count", [97, 8_001])
def test_one_broken_logit_shows_in_the_best(tmp_path, count, broken):
    session = open_search(tmp_path, count, lambda builder, rows: builder.node("LogSoftmax", [rows], axis=-1))
    logits = many_kinds_of_rows(count)[:3]
    for row, place in enumerate((0, count // 2, count - 1)):
        logits[row, place] = broken
    for k in (1, 8):
        (best,) = session.run(["best"], {"rows": logits, "k": np.array([k])})
        assert not np.isfinite(best[:, 0]).any()
