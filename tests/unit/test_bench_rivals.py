"""What a task becomes for each system, and what comes back."""

import json

import numpy as np
import pytest

from bench.random_checkpoint import EOS, Sizes, generation_config, model_config, pieces_of, random_sources
from bench.rivals.ctranslate import Layout, distinct_compute_types, layouts, read_vocabularies, translate_arguments
from bench.rivals.http import plain_dialect, verso_dialect
from bench.rivals.huggingface import generate_arguments, padded, trimmed
from bench.rivals.rival import Outcome, Task, agreement, length_problems
from bench.rivals.verso import decoding_options, sequences_of
from bench.texts import document, short_texts, varied
from bench.tuning import fastest, short_form
from service.search.options import DecodingOptions
from tests.doubles.word_model import WordModel

GREEDY = Task(((5, 6, 0), (7, 0)), beam_size=1, max_new_tokens=25)
BEAM = Task(((5, 6, 0), (7, 0)), beam_size=4, max_new_tokens=25)


def test_every_system_is_given_the_same_beam_and_length():
    layout = Layout("float32", 1, 2)
    defaults = DecodingOptions(beam_size=6, max_new_tokens=511, min_new_tokens=3)
    assert generate_arguments(BEAM)["num_beams"] == 4
    assert generate_arguments(BEAM)["max_new_tokens"] == 25
    assert translate_arguments(BEAM, layout)["beam_size"] == 4
    assert translate_arguments(BEAM, layout)["max_decoding_length"] == 25
    options = decoding_options(BEAM, defaults)
    assert (options.beam_size, options.max_new_tokens, options.min_new_tokens) == (4, 25, 0)


def test_beam_search_stops_by_the_one_rule_all_systems_know():
    assert generate_arguments(BEAM)["early_stopping"] is True
    assert decoding_options(BEAM, DecodingOptions()).early_stopping is True
    assert "early_stopping" not in generate_arguments(GREEDY)
    assert decoding_options(GREEDY, DecodingOptions(beam_size=4, early_stopping=True)).early_stopping is False


def test_no_system_forces_a_first_token_or_draws():
    assert translate_arguments(GREEDY, Layout("int8", 1, 2))["min_decoding_length"] == 0
    assert generate_arguments(GREEDY)["do_sample"] is False
    assert decoding_options(GREEDY, DecodingOptions()).sampling is False


def test_the_layout_decides_how_a_call_is_cut_into_batches():
    assert translate_arguments(GREEDY, Layout("int8", 2, 1, 32))["max_batch_size"] == 32
    assert str(Layout("int8", 2, 1, 32)) == "int8 2×1, batches of 32"
    assert str(Layout("float32", 1, 2)) == "float32 1×2"


@pytest.mark.parametrize(
    ("num_sources", "expected"),
    [
        (1, {(1, 1, 0), (1, 2, 0)}),
        (8, {(1, 2, 0), (2, 1, 4)}),
        (128, {(1, 2, 0), (1, 2, 32), (2, 1, 64), (2, 1, 32)}),
        (1000, {(1, 2, 32), (1, 2, 64), (1, 2, 128), (2, 1, 32), (2, 1, 64), (2, 1, 128)}),
    ],
)
def test_layouts_use_all_threads_on_one_batch_or_one_thread_on_each(num_sources, expected):
    found = layouts(["float32"], 2, num_sources)
    assert {(one.inter_threads, one.intra_threads, one.batch_size) for one in found} == expected
    assert len(found) == len(expected)


def test_layouts_never_use_more_threads_than_there_are():
    for threads in (1, 2, 3, 8):
        assert all(one.inter_threads * one.intra_threads <= threads for one in layouts(["a", "b"], threads, 64))
        assert layouts(["a", "b"], threads, 64)


def test_a_name_for_another_compute_type_is_not_tried_twice():
    assert distinct_compute_types({"int8", "int8_float32", "float32"}) == ["float32", "int8_float32"]
    assert distinct_compute_types({"int8", "float32"}) == ["float32", "int8"]


def test_the_fastest_layout_in_its_best_try_is_taken():
    num_tokens = {Layout("a", 1, 2): [5, 50, 5], Layout("b", 1, 2): [20, 20, 20]}
    tries = {layout: iter(values) for layout, values in num_tokens.items()}

    def translate(layout):
        return Outcome(0.01, ((0,) * next(tries[layout]),))

    assert fastest(list(num_tokens), translate) == Layout("a", 1, 2)


def test_a_slow_layout_is_tried_once():
    calls = []

    def translate(layout):
        calls.append(layout)
        return Outcome(5.0, ((1, 2),))

    candidates = [Layout("a", 1, 2), Layout("b", 1, 2)]
    fastest(candidates, translate)
    assert calls == candidates


def test_probes_are_a_short_form_of_the_task():
    long = Task(((1, 0),) * 1000, 4, 25)
    assert len(short_form(long).sources) == 256
    assert short_form(long).max_new_tokens == 6
    assert short_form(long).beam_size == 4
    assert len(short_form(Task(((1, 0),) * 1000, 4, 25, one_by_one=True)).sources) == 20


def test_vocabularies_are_read_from_the_checkpoint(tmp_path):
    (tmp_path / "vocab.json").write_text(json.dumps({"</s>": 0, "a": 1}))
    assert read_vocabularies(tmp_path) == ({0: "</s>", 1: "a"}, {"</s>": 0, "a": 1})
    (tmp_path / "target_vocab.json").write_text(json.dumps({"</s>": 0, "b": 1}))
    assert read_vocabularies(tmp_path)[1] == {"</s>": 0, "b": 1}


def test_padding_is_masked():
    assert padded([[5, 6, 0], [7, 0]], 9) == ([[5, 6, 0], [7, 0, 9]], [[1, 1, 1], [1, 1, 0]])


def test_rows_end_with_their_first_end_token():
    assert list(trimmed([[4, 0, 0, 9], [4, 5, 6, 7]], 0)) == [(4, 0), (4, 5, 6, 7)]


def test_tokens_are_counted_with_the_end_token():
    outcome = Outcome(2.0, ((4, 5, 0), (6,)))
    assert (outcome.num_tokens, outcome.tokens_per_second) == (4, 2.0)


def test_agreement_is_the_share_of_equal_targets():
    assert agreement([[1, 2], [3]], [(1, 2), (4,)]) == 0.5
    with pytest.raises(ValueError, match="cannot be compared"):
        agreement([[1]], [])


def test_targets_of_another_length_are_counted():
    assert length_problems([[1] * 25, [1] * 24, [1] * 26], 25) == 2


def test_each_source_of_ids_is_a_sequence():
    options, direction = DecodingOptions(max_new_tokens=9), WordModel().direction("en", "de")
    sequences = sequences_of([[5, 0], [6, 7, 0]], options, direction)
    assert [sequence.source_ids.tolist() for sequence in sequences] == [[5, 0], [6, 7, 0]]
    assert all(sequence.source_ids.dtype == np.int64 for sequence in sequences)
    assert {sequence.task.options for sequence in sequences} == {options}


def test_servers_are_asked_for_the_same_sentences_in_their_own_words():
    verso, plain = verso_dialect("en", "de"), plain_dialect()
    assert verso.text("A.", None) == {"q": "A.", "source": "en", "target": "de"}
    assert verso.text("A.", 4)["decoding"] == {"beam_size": 4}
    assert verso.document(["A.", "B."], None)["q"] == "A. B."
    assert plain.text("A.", 4) == {"texts": ["A."], "beam_size": 4}
    assert plain.document(["A.", "B."], None)["texts"] == ["A.", "B."]


def test_random_sources_have_the_wanted_lengths_and_one_end_token():
    sizes = Sizes(100)
    sources = random_sources(sizes, 50, (15, 25), seed=1)
    assert {len(source) for source in sources} <= set(range(15, 26))
    assert all(source[-1] == EOS and EOS not in source[:-1] for source in sources)
    assert all(2 <= token < 99 for source in sources for token in source[:-1])
    assert sources == random_sources(sizes, 50, (15, 25), seed=1)
    assert sources != random_sources(sizes, 50, (15, 25), seed=2)


def test_the_random_vocabulary_has_a_distinct_piece_for_every_row():
    pieces = pieces_of(1_000)
    assert len(set(pieces)) == 1_000
    assert (pieces[0], pieces[1], pieces[-1]) == ("</s>", "<unk>", "<pad>")


def test_the_random_configurations_agree_on_their_special_ids():
    sizes = Sizes(1_000)
    model, generation = model_config(sizes), generation_config(sizes)
    for name in ("eos_token_id", "pad_token_id", "decoder_start_token_id"):
        assert model[name] == generation[name]
    # Only some systems can force a last token; a bias on the end token does the same for all of them.
    assert "forced_eos_token_id" not in generation


def test_every_turn_has_all_texts_in_an_order_of_its_own():
    texts = ["One.", "Two", "Three?"]
    series = varied(texts, 0, 12)
    assert set(series[:3]) == set(texts)
    assert set(series[3:6]) == {"One, Peter.", "Two, Peter", "Three, Peter?"}
    many = [f"{number} {'x' * (number % 50)}" for number in range(200)]
    orders = [[text.split()[0] for text in varied(many, 200 * turn, 200)] for turn in range(3)]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert orders[0] != orders[1] != orders[2]


def test_no_text_comes_twice_wherever_a_stretch_begins():
    texts = ["One.", "Two", "Three?"]
    series = varied(texts, 0, 3_000)
    assert len(set(series)) == 3_000
    assert varied(texts, 5, 4) == series[5:9]


def test_every_stretch_is_as_long_as_any_other():
    # As in the held-out file: many short ones, then few long ones.
    texts = [f"{number:04d}" + "x" * (number % 60) for number in range(1_000)]
    texts += [f"{number:04d}" + "y" * (100 + number % 90) for number in range(1_000, 1_200)]
    mean = sum(map(len, texts)) / len(texts)
    for size, tolerance in ((60, 0.1), (300, 0.03)):
        for start in range(0, 1_200, size):
            stretch = varied(texts, start, size)
            assert sum(map(len, stretch)) / size == pytest.approx(mean, rel=tolerance)


def test_documents_share_no_sentence():
    texts = ["One and two.", "Three."]
    first, second = document(texts, 20, 0), document(texts, 20, 1)
    assert not set(first) & set(second)
    assert 20 <= sum(len(sentence.split()) for sentence in first) < 25


def test_short_texts_have_few_words():
    assert short_texts(["a b", "a b c"], 2) == ["a b"]
