"""What cross-attention is measured against, and which layer and heads are chosen by it."""

from pathlib import Path

import numpy as np
import pytest

from export.reading import read_checkpoint
from export.reference import ReferenceNetwork
from export.sample import Framing
from export.verify.alignment_choice import FEWEST_LINKS, AlignmentMeasure
from export.verify.alignment_gold import (
    LinkedPair,
    LinkedTokens,
    linked_by_copies,
    linked_by_hand,
    linked_pairs,
    sentences_to_copy_from,
    shortest_encoding,
)
from service.package.tokenizer import SourceTokenizer, TargetTokenizer

CHECKPOINT = Path(__file__).resolve().parents[2] / "checkpoints" / "en-de"
END = 0


def words(tokens):
    return [tokens.words[word] for _, word in tokens.links]


def sentences(num_sentences, heads):
    """Sentences whose words are translated in random order: links, and weights [H, T, L] by what each head does."""
    chance = np.random.default_rng(1)
    for number in range(num_sentences):
        order = np.random.default_rng(number).permutation(6)
        links = tuple(((row,), int(word)) for row, word in enumerate(order))
        weights = np.stack([head(order, chance) for head in heads])
        yield LinkedTokens(tuple((place,) for place in range(6)), links), weights / weights.sum(axis=2, keepdims=True)


def aligns(order, chance):
    """Looks where a word comes from; the last column is the end token."""
    return np.pad(np.eye(6)[order], ((0, 0), (0, 1))) + 0.05


def looks_at_the_end(order, chance):
    return np.tile([0.1] * 6 + [5.0], (6, 1))


def looks_anywhere(order, chance):
    return chance.random((6, 7)) ** 4


def measured(layers, num_sentences=20):
    measure = AlignmentMeasure(len(layers), len(layers[0]))
    for parts in zip(*(sentences(num_sentences, heads) for heads in layers), strict=True):
        measure.add(parts[0][0], [weights for _, weights in parts])
    return measure


def test_pairs_linked_by_hand_link_words_that_are_there():
    pairs = linked_pairs("en", "de")
    assert len(pairs) == 40
    assert sum(len(pair.links) for pair in pairs) > 250
    for pair in pairs:
        assert "_" not in pair.source + pair.target
        for (start, end), (target_start, target_end) in pair.links:
            assert pair.source[start:end].strip(" .,?") == pair.source[start:end] != ""
            assert pair.target[target_start:target_end].strip(" .,?") != ""


def test_pairs_are_read_in_both_directions_and_by_any_code():
    (first, *_), (reverse, *_) = linked_pairs("eng_Latn", "deu_Latn"), linked_pairs("de", "en")
    assert (
        (first.source, first.target)
        == ("The house is small.", "Das Haus ist klein.")
        == (reverse.target, reverse.source)
    )
    assert first.links[1] == ((4, 9), (4, 8))
    assert linked_pairs("en", "fr") == linked_pairs("en", "en_XX") == ()


def test_a_text_is_spelled_in_the_fewest_pieces():
    ids = {"▁": 1, "▁the": 2, "▁t": 3, "he": 4, "▁house": 5, "s": 6, "h": 7, "e": 8}
    assert shortest_encoding("the houses", ids) == [2, 5, 6]
    assert shortest_encoding("he", ids) == [1, 4]
    assert shortest_encoding("the mouse", ids) is None


def test_links_by_hand_are_put_on_tokens():
    pair = LinkedPair("A house.", "Ein Haus.", (((2, 7), (4, 8)),))
    linked = linked_by_hand(pair, ["", "▁A", "▁ho", "use", ".", ""], ["▁Ein", "▁Ha", "us", ".", ""])
    assert linked == LinkedTokens(words=((1,), (2, 3), (4,)), links=(((1, 2), 1),))
    assert linked_by_hand(pair, ["▁a", "▁house", "."], ["▁Ein", "▁Haus", "."]) is None


def test_copies_that_stand_once_in_both_texts_are_links():
    source = ["▁Tom", "▁met", "▁An", "na", "▁in", "▁Rome", "▁at", "▁7:45", "▁with", "▁12", "▁of", "▁12", "."]
    target = ["▁An", "na", "▁traf", "▁Tom", "▁um", "▁7:", "45", "▁in", "▁12", "▁Romeo", "."]
    linked = linked_by_copies(source, target)
    assert sorted(linked.links) == [((0, 1), 2), ((3,), 0), ((5, 6), 6)]
    assert words(linked) == [(0,), (2, 3), (7,)]


def test_copies_are_found_where_there_are_no_spaces():
    linked = linked_by_copies(["▁Anna", "▁has", "▁12", "▁cats", "."], ["▁", "Anna", "有", "12", "只", "猫", "。"])
    assert linked.links == (((1,), 0), ((3,), 2))


def test_the_sentences_to_copy_from_have_something_to_copy():
    found = [linked_by_copies([sentence], [sentence]) for sentence in sentences_to_copy_from()]
    assert sum(len(linked.links) for linked in found) > 2 * FEWEST_LINKS


def test_the_layer_that_aligns_is_chosen():
    measure = measured([[looks_anywhere] * 2, [aligns] * 2, [looks_at_the_end] * 2])
    choice = measure.choose(default_layer=2)
    assert (choice.layer, choice.heads, choice.accuracy, choice.num_links) == (1, (), 1.0, 120)
    assert choice.before < 0.5
    assert choice.decision.startswith("alignment: layer 1, all heads, right for 100.0% of 120")


def test_heads_that_disturb_are_left_out():
    def drowns(order, chance):
        return 20 * looks_anywhere(order, chance)

    measure = measured([[looks_anywhere, drowns, aligns, looks_anywhere], [looks_at_the_end] * 4])
    choice = measure.choose(default_layer=1)
    assert (choice.layer, choice.heads, choice.accuracy) == (0, (2,), 1.0)
    assert measure.table()[0][2] == 1.0


def test_heads_stay_together_where_fewer_are_no_better():
    assert measured([[aligns, aligns, looks_at_the_end]]).choose(default_layer=0).heads == ()


def test_the_default_stays_where_layers_are_equal():
    assert measured([[aligns], [aligns]]).choose(default_layer=1).layer == 1


def test_too_few_links_choose_nothing():
    choice = measured([[aligns], [looks_anywhere]], num_sentences=2).choose(default_layer=1)
    assert (choice.layer, choice.heads, choice.num_links) == (1, (), 12)
    assert "too few" in choice.decision


def test_a_sentence_without_links_adds_nothing():
    measure = AlignmentMeasure(1, 1)
    measure.add(LinkedTokens((), ()), [np.ones((1, 2, 2))])
    assert len(measure) == 0


@pytest.mark.slow
def test_the_bundled_checkpoint_aligns_in_its_last_layer():
    class Recording(ReferenceNetwork):
        def _cross_attention(self, keys, encoded, weights):
            self.weights = weights
            return super()._cross_attention(keys, encoded, weights)

    read = read_checkpoint(CHECKPOINT, (), ())
    tokenizers, languages = read.tokenizers, read.languages
    framing = Framing(read.spec, tokenizers, languages.sources["en"], languages.targets["de"])
    source_tokenizer = SourceTokenizer.from_json(
        tokenizers.source_json, tokenizers.source_vocabulary_size, tokenizers.source_special.unk
    )
    target_tokenizer = TargetTokenizer.from_json(tokenizers.target_json)
    pieces = target_tokenizer.pieces(range(tokenizers.target_vocabulary_size))
    ids = {piece: place for place, piece in enumerate(pieces)}
    network = Recording(read.checkpoint, read.spec)
    measure = AlignmentMeasure(len(read.spec.keys.decoder), read.spec.num_heads)
    for pair in linked_pairs("en", "de")[::3]:
        (source,), target = framing.frame([pair.source]), shortest_encoding(pair.target, ids)
        linked = linked_by_hand(pair, [*source_tokenizer.pieces(source[:-1]), ""], target_tokenizer.pieces(target))
        network.force(source, [*target, END])
        measure.add(linked, [weights[:, : len(target)] for weights in network.weights])
    choice = measure.choose(default_layer=0)
    assert choice.layer == 1
    assert choice.accuracy > 0.88
    assert choice.before < 0.75
