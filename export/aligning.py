"""Chooses the decoder layer and heads that a package aligns words with, from sentences linked by hand.

How the choice is made is for `verify.alignment_choice`, what it is made from for `verify.alignment_gold`. A checkpoint
that was trained to align says so itself and is not asked.
"""

from dataclasses import replace
from math import prod

from export.families.spec import ModelSpec
from export.reading import ReadCheckpoint
from export.reference import ReferenceNetwork
from export.sample import Framing
from export.verify.alignment_choice import AlignmentChoice, AlignmentMeasure
from export.verify.alignment_gold import LinkedPair, linked_by_hand, linked_pairs, shortest_encoding
from service.package.tokenizer import SourceTokenizer

# The plain network reads every weight anew for each sentence; so many numbers take some ten seconds.
_MOST_NUMBERS_READ = 800_000_000


def choose_alignment(read: ReadCheckpoint) -> tuple[ModelSpec, tuple[str, ...]]:
    """Returns the spec with what aligns best, and a sentence about it for the report.

    Where no sentences are linked for any of the checkpoint's languages, or the network is too large to try them, the
    spec stays as it is.
    """
    pairs = _known_pairs(read)
    if read.spec.alignment_heads or not pairs:
        return read.spec, ()
    pair = pairs[0]
    numbers = sum(prod(read.checkpoint.shape(name)) for name in read.spec.tensor_names())
    sentences = linked_pairs(*pair)[: _MOST_NUMBERS_READ // numbers]
    choice = _choose(read, pair, sentences)
    return replace(read.spec, alignment_layer=choice.layer, alignment_heads=choice.heads), (choice.decision,)


def _known_pairs(read: ReadCheckpoint) -> list[tuple[str, str]]:
    languages = read.languages
    sources = [code for code in languages.sources if any(linked_pairs(code, other) for other in ("en", "de"))]
    return [(source, target) for source in sources for target in languages.targets if linked_pairs(source, target)]


def _choose(read: ReadCheckpoint, pair: tuple[str, str], sentences: tuple[LinkedPair, ...]) -> AlignmentChoice:
    spec, tokenizers, (source, target) = read.spec, read.tokenizers, pair
    framing = Framing(spec, tokenizers, read.languages.sources[source], read.languages.targets[target])
    forced_first_id = framing.target.forced_first_id
    first = () if forced_first_id is None else (forced_first_id,)
    written = tokenizers.target_tokenizer()
    pieces = {piece: token_id for token_id, piece in enumerate(written.pieces(range(spec.target_vocabulary_size)))}
    network = ReferenceNetwork(read.checkpoint, spec)
    measure = AlignmentMeasure(len(spec.keys.decoder), spec.num_heads)
    read_by = tokenizers.source_tokenizer()
    for sentence, source_ids in zip(sentences, framing.frame([one.source for one in sentences]), strict=True):
        target_ids = shortest_encoding(sentence.target, pieces)
        if target_ids is None:
            continue
        shown = _shown_source(framing, read_by, source_ids)
        linked = linked_by_hand(sentence, shown, [*("" for _ in first), *written.pieces(target_ids), ""])
        if linked is not None:
            measure.add(linked, network.cross_attentions(source_ids, [*first, *target_ids, spec.special_ids.eos]))
    return measure.choose(spec.alignment_layer)


def _shown_source(framing: Framing, tokenizer: SourceTokenizer, source_ids: list[int]) -> list[str]:
    """The pieces of a framed source, empty for what was put around the text."""
    before = len(framing.target.source_prefix_ids) + len(framing.source.prefix_ids)
    after = len(source_ids) - len(framing.source.suffix_ids)
    pieces = tokenizer.pieces(source_ids)
    return [piece if before <= place < after else "" for place, piece in enumerate(pieces)]
