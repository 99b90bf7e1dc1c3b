"""What the engine keeps between steps: memories, rows, dense numbering, the query grid."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from service.engine.arrays import RowCopy
from service.engine.encoded import EncoderRun
from service.engine.gaps import close_gaps
from service.engine.kv_cache import CacheLayout, KVCache
from service.engine.layout import grid_of, lay_out
from service.engine.memory import MemoryPool, whole_vectors
from service.engine.packing import like_lengths, pack
from service.scheduler.rows import BeamRows

LAYERS, HEADS, WIDTH = 2, 3, 4


def run_of(seed, padded, *lengths, dtype=np.float32):
    random = np.random.default_rng(seed)
    shape = (len(lengths), HEADS, padded, WIDTH)
    tensors = tuple(random.normal(size=shape).astype(dtype) for _ in range(2 * LAYERS))
    return EncoderRun(tensors, np.array(lengths, np.int32))


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(1, 40), st.booleans()), min_size=1, max_size=4),
            st.lists(st.integers(0, 30), max_size=3),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_a_memory_keeps_its_content_whoever_joins_and_leaves(changes):
    pool = MemoryPool(LAYERS, HEADS, WIDTH)
    held: list[tuple[int, list[np.ndarray]]] = []
    for turn, (encoded, leaving) in enumerate(changes):
        run = run_of(turn, max(whole_vectors(length) for length, _ in encoded), *(length for length, _ in encoded))
        # Some of a run may join before others.
        for now in (True, False):
            joining = [i for i, (_, at_once) in enumerate(encoded) if at_once == now]
            if joining:
                pool.add(run, joining)
                held += [(encoded[i][0], [tensor[i] for tensor in run.tensors]) for i in joining]
        gone = sorted({index % len(held) for index in leaving})
        if gone:
            mapping = pool.remove(np.array(gone))
            moved = {int(mapping[old]): content for old, content in enumerate(held) if mapping[old] >= 0}
            assert sorted(moved) == list(range(len(held) - len(gone)))
            held = [moved[index] for index in range(len(moved))]
        assert pool.lengths.tolist() == [length for length, _ in held]
        for index in range(2 * LAYERS):
            view = pool.view(index)
            assert view.shape == (len(held), HEADS, pool.padded_length, WIDTH)
            assert view.flags.c_contiguous
            for slot, (length, content) in enumerate(held):
                np.testing.assert_array_equal(view[slot, :, :length], content[index][:, :length])


def test_the_pool_shrinks_when_its_long_sources_are_gone():
    pool = MemoryPool(LAYERS, HEADS, WIDTH)
    pool.add(run_of(0, 64, 60, 64), [0, 1])
    pool.add(run_of(1, 16, 9), [0])
    assert pool.padded_length == 64
    pool.remove(np.array([0, 1]))
    assert pool.padded_length == 16


def test_padding_beyond_a_source_is_never_undefined():
    pool = MemoryPool(LAYERS, HEADS, WIDTH)
    pool.add(run_of(0, 16, 9), [0])
    pool.add(run_of(1, 48, 40), [0])
    for index in range(2 * LAYERS):
        assert np.isfinite(pool.view(index)).all()
        assert not pool.view(index)[0, :, 16:].any()


@given(st.sets(st.integers(0, 19)), st.integers(1, 20))
def test_closing_gaps_keeps_the_rest_dense_and_moves_as_little_as_possible(dropped, total):
    gone = np.array(sorted(index for index in dropped if index < total), np.int64)
    mapping = close_gaps(gone, total)
    kept = [index for index in range(total) if index not in set(gone.tolist())]
    assert sorted(mapping[kept].tolist()) == list(range(len(kept)))
    assert (mapping[gone] == -1).all()
    moved = [index for index in kept if mapping[index] != index]
    assert all(index >= len(kept) for index in moved)


NAMES = ("k.0", "v.0", "k.1", "v.1")
CACHE = CacheLayout(NAMES, ("state.2",), HEADS, WIDTH, model_width=5)


def test_the_cache_grows_in_length_without_losing_rows():
    cache = KVCache(CACHE, 4)
    first = np.random.default_rng(0).normal(size=(3, HEADS, 64, WIDTH)).astype(np.float32)
    for index, name in enumerate(NAMES):
        cache.view(name, 3)[:] = first + index
    cache.view("state.2", 3)[:] = 7
    before = cache.version
    cache.reserve(65, 3)
    assert cache.version != before
    assert (cache.view("state.2", 3) == 7).all()
    for index, name in enumerate(NAMES):
        assert cache.view(name, 3).shape[2] >= 65
        np.testing.assert_array_equal(cache.view(name, 3)[:, :, :64], first + index)


def test_of_a_row_only_what_was_named_is_copied_and_its_states():
    cache = KVCache(CACHE, 4)
    for name in NAMES:
        cache.view(name, 4)[:] = np.arange(4, dtype=np.float32)[:, None, None, None]
    cache.view("state.2", 4)[:] = np.arange(4, dtype=np.float32)[:, None]
    cache.copy_rows([RowCopy(3, 0, 2, 5), RowCopy(2, 1, 0, 64)])
    assert cache.view("state.2", 4)[:, 0].tolist() == [3, 2, 2, 3]
    for name in NAMES:
        view = cache.view(name, 4)
        assert view[0, 0, :6, 0].tolist() == [0, 0, 3, 3, 3, 0]
        assert (view[0] == view[0, :1, :, :1]).all()
        for row, value in ((1, 2), (2, 2), (3, 3)):
            assert (view[row] == value).all()
    before = cache.view("k.0", 4).copy()
    cache.copy_rows([])
    cache.copy_rows([RowCopy(3, 1, 9, 9)])
    np.testing.assert_array_equal(cache.view("k.0", 4), before)


def test_a_cache_of_states_alone_never_grows():
    cache = KVCache(CacheLayout((), ("state.0",), HEADS, WIDTH, model_width=5), 4)
    before = cache.version
    cache.reserve(1_000, 4)
    assert cache.version == before
    assert cache.view("state.0", 2).shape == (2, 5)
    cache.view("state.0", 2)[:] = [[3] * 5, [4] * 5]
    cache.copy_rows([RowCopy(0, 1, 2, 1_000)])
    assert (cache.view("state.0", 2) == 3).all()


def test_keys_and_values_are_kept_in_the_type_that_the_graphs_take():
    cache = KVCache(CacheLayout(NAMES, ("state.2",), HEADS, WIDTH, model_width=5, dtype=np.float16), 4)
    pool = MemoryPool(LAYERS, HEADS, WIDTH, np.float16)
    pool.add(run_of(0, 16, 9, 16, dtype=np.float16), [0, 1])
    cache.reserve(65, 3)
    assert {cache.view(name, 3).dtype for name in NAMES} == {np.dtype(np.float16)}
    assert cache.view("state.2", 3).dtype == np.float32
    assert cache.value("k.0", 3).element_type() == pool.value(0).element_type() == TensorProto.FLOAT16
    assert (pool.view(0).dtype, pool.last(0).dtype) == (np.float16, np.float16)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=24))
def test_every_row_finds_itself_in_the_grid_at_its_own_memory(memories):
    grid, cell = grid_of(np.array(memories), 6)
    assert grid.shape[1] == max(2, *(memories.count(memory) for memory in memories))
    assert grid.reshape(-1)[cell].tolist() == list(range(len(memories)))
    assert (cell // grid.shape[1]).tolist() == memories
    assert len(set(cell.tolist())) == len(memories)


@given(st.lists(st.integers(0, 3) | st.none(), min_size=1, max_size=20))
def test_every_row_finds_its_answer_among_solo_and_shared_sources(shared_memories):
    solo = np.array([memory is None for memory in shared_memories])
    memories = np.array([0 if memory is None else memory for memory in shared_memories])
    # Solo rows have a memory each, in any order.
    memories[solo] = np.arange(np.count_nonzero(solo))[::-1]
    layout = lay_out(memories, solo, 4)
    assert len(layout.solo_rows) == max(np.count_nonzero(solo), 1)
    asking = np.concatenate([layout.solo_rows, layout.grid.reshape(-1)])
    assert asking[layout.cell].tolist() == list(range(len(memories)))
    assert (layout.cell[solo] == memories[solo]).all()
    width = layout.grid.shape[1]
    assert ((layout.cell[~solo] - len(layout.solo_rows)) // width == memories[~solo]).all()


def test_the_last_token_of_each_source_is_what_the_pool_holds_there():
    pool = MemoryPool(LAYERS, HEADS, WIDTH)
    run = run_of(3, 32, 17, 24, 18)
    pool.add(run, [2, 0])
    for index, tensor in enumerate(run.tensors):
        expected = [tensor[source, :, run.lengths[source] - 1].reshape(-1) for source in (2, 0)]
        np.testing.assert_array_equal(pool.last(index)[:, 0], expected)


@given(st.data())
def test_children_get_rows_of_their_own_and_only_what_must_move_is_copied(data):
    """Beams as they come and go, each place of each row with a value of its own, against whole copies."""
    width = data.draw(st.integers(2, 6))
    rows = data.draw(st.permutations(range(10, 10 + width)))
    values = iter(range(10_000))
    content = {row: [next(values) for _ in range(40)] for row in rows}
    beams = BeamRows(width)
    for length in range(1, data.draw(st.integers(2, 40))):
        for row in rows:
            content[row][length - 1] = next(values)
        first = length == 1
        parents = (
            [0] * width if first else data.draw(st.lists(st.integers(0, width - 1), min_size=width, max_size=width))
        )
        wanted = [content[rows[parent]][:length] for parent in parents]
        if parents != list(range(width)):
            new_rows, copies = beams.follow(rows, parents, length)
            assert sorted(new_rows) == sorted(rows)
            assert len(copies) == width - len(set(parents))
            assert not {copy.source for copy in copies} & {copy.target for copy in copies}
            for source, target, start, stop in copies:
                alike = [one == other for one, other in zip(content[source][:length], content[target], strict=False)]
                assert (start, stop) == ([*alike, False].index(False), length)
                content[target][start:stop] = content[source][start:stop]
            rows = new_rows
        assert [content[row][:length] for row in rows] == wanted


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=40), min_size=1, max_size=6))
def test_packed_sources_lie_behind_one_another_and_each_in_its_cells(sources):
    packed = pack(sources)
    assert packed.ids.tolist() == [token for source in sources for token in source]
    assert packed.positions.tolist() == [place for source in sources for place in range(len(source))]
    assert packed.grid.shape == (len(sources), whole_vectors(max(map(len, sources))))
    laid_out = packed.ids[packed.grid]
    for source, row in zip(sources, laid_out.tolist(), strict=True):
        assert row[: len(source)] == source
    assert packed.ids.tolist() == laid_out.reshape(-1)[packed.cell].tolist()


@given(st.lists(st.integers(1, 200), max_size=30))
def test_sources_are_encoded_with_others_of_like_length_and_each_once(lengths):
    runs = list(like_lengths(lengths))
    assert sorted(index for run in runs for index in run) == list(range(len(lengths)))
    for run in runs:
        padded = [whole_vectors(lengths[index]) for index in run]
        assert max(padded) <= 2 * min(padded)
