"""From attention weights of a hypothesis to linked words, by the characters that tokens stand for."""

from collections.abc import Sequence

from service.search.hypothesis import Hypothesis
from service.text.alignment import Link, word_links
from service.text.token_spans import token_spans
from service.translation.direction import Direction


def shown_source(source_ids: Sequence[int], direction: Direction) -> list[str]:
    """Returns the pieces of a whole source; empty for tokens that are none of its text, and unknown ones."""
    own = direction.own_source_places(source_ids)
    unknown = direction.package.manifest.special_ids.source_unk
    pieces = direction.package.source_tokenizer.pieces(source_ids)
    return [
        piece if place in own and token != unknown else ""
        for place, (piece, token) in enumerate(zip(pieces, source_ids, strict=True))
    ]


def shown_target(token_ids: Sequence[int], direction: Direction) -> list[str]:
    """Returns the pieces of a hypothesis; empty for tokens that are none of its text, and unknown ones."""
    own = frozenset(direction.own_target_places(token_ids))
    unknown = direction.package.manifest.special_ids.target_unk
    pieces = direction.package.target_tokenizer.pieces(token_ids)
    return [
        piece if place in own and token != unknown else ""
        for place, (piece, token) in enumerate(zip(pieces, token_ids, strict=True))
    ]


def links_of(
    texts: tuple[str, str], source_ids: Sequence[int], hypothesis: Hypothesis, direction: Direction
) -> tuple[Link, ...]:
    """Returns which words of a hypothesis' text translate which of its source; none without weights.

    texts: the source as the model was given it, and the target as the model wrote it.
    """
    if hypothesis.alignment is None:
        return ()
    source, target = texts
    return word_links(
        hypothesis.alignment.tolist(),
        token_spans(shown_source(source_ids, direction), source),
        token_spans(shown_target(hypothesis.token_ids, direction), target),
        source,
        target,
    )
