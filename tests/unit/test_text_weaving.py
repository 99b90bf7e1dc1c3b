"""Where placeholders come back in a translation, and how they are given to a model."""

from service.text.alignment import Link, mutual_links, word_links
from service.text.attempts import attempts
from service.text.document import Item, Placeholder, Span
from service.text.model_text import model_text
from service.text.weaving import weave
from service.text.words import words


def mark(text: str, shown: str = "") -> Placeholder:
    return Placeholder(text, shown=shown)


def pair(text: str, number: int, *inner: Item) -> tuple[Item, ...]:
    return (Placeholder(f"<{text}>", "open", number), *inner, Placeholder(f"</{text}>", "close", number))


def linked(source: str, target: str, *pairs: tuple[int, int]) -> list[Link]:
    ours, theirs = words(source), words(target)
    return [Link(ours[one], theirs[other], 1.0) for one, other in pairs]


def woven(items: tuple[Item, ...], target: str, *pairs: tuple[int, int], names: tuple[str, ...] = ()) -> str | None:
    model = model_text(items, names)
    found = weave(model, target, linked(model.text, target, *pairs))
    return None if found is None else "".join(item if isinstance(item, str) else item.text for item in found)


NESTED = ("Hello ", *pair("b", 1, "big"), " world", mark("<br>"), "end.")


def test_the_model_reads_words_and_no_tags() -> None:
    assert model_text(NESTED).text == "Hello big world end."


def test_a_pair_goes_around_what_its_words_became() -> None:
    assert (
        woven(NESTED, "Hallo große Welt Ende.", (0, 0), (1, 1), (2, 2), (3, 3), (4, 4))
        == "Hallo <b>große</b> Welt<br>Ende."
    )
    assert woven(("A ", *pair("b", 1, "red"), " car stops"), "Halt macht rotes Auto", (1, 2), (2, 3), (3, 0)) == (
        "Halt macht <b>rotes</b> Auto"
    )


def test_surrogates_give_way_to_what_they_stand_for() -> None:
    items = ("Copy ", mark("{a}", "{a}"), " to ", mark("{b}", "{b}"), ".")
    assert woven(items, "Nach X2 kopiert X1.", names=("X1", "X2")) == "Nach {b} kopiert {a}."


def test_a_lost_or_doubled_surrogate_does_not_hold() -> None:
    items = ("Copy ", mark("{a}", "{a}"), " now.")
    assert woven(items, "Jetzt kopieren.", names=("X1",)) is None
    assert woven(items, "X1 und X1.", names=("X1",)) is None
    assert woven(items, "X11 jetzt.", names=("X1",)) is None


def test_a_picture_stands_beside_its_word_with_its_space() -> None:
    assert woven(("Hello ", mark("😀"), ", you"), "Du, hallo", (0, 2), (2, 0)) == "Du, hallo 😀"
    assert woven((mark("😀"), " Hello you"), "Du hallo", (0, 1), (1, 0)) == "😀 Du hallo"


def test_attempts_go_from_surrogates_to_parts() -> None:
    items = ("See ", mark("{x}", "{x}"), " and more.")
    tried = list(attempts(items, lambda text: True))
    assert [(one.way, [model.text for model in one.texts]) for one in tried] == [
        ("copied", ["See X1 and more."]),
        ("copied", ["See 365 and more."]),
        ("aligned", ["See and more."]),
        ("parts", ["See", "and more."]),
    ]
    assert tried[-1].weave([("Siehe.", ()), ("und mehr.", ())]) == ("Siehe ", mark("{x}", "{x}"), " und mehr.")


def test_what_alignment_does_not_support_is_left_to_the_next_attempt() -> None:
    items = ("See ", mark("{x}", "{x}"), " and more.")
    aligned = list(attempts(items, lambda text: True))[2]
    assert aligned.weave([("Mehr sehen.", linked("See and more.", "Mehr sehen.", (2, 0)))]) is None


def test_words_are_linked_by_the_attention_of_their_pieces() -> None:
    spans = [Span(0, 3), Span(3, 5), Span(6, 9), None]
    matrix = [[0.1, 0.1, 0.7, 0.1], [0.6, 0.3, 0.0, 0.1], [0.0, 0.0, 0.0, 1.0]]
    found = mutual_links(word_links(matrix, spans, [Span(0, 3), Span(4, 9), None], "cases end", "Ein Fälle"))
    assert [(link.source, link.target) for link in found] == [(Span(6, 9), Span(0, 3)), (Span(0, 5), Span(4, 9))]
