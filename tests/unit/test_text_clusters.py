"""What is seen as one character, by example."""

import pytest

from service.text.clusters import starts_cluster


def clusters_of(text: str) -> list[str]:
    starts = [position for position in range(len(text)) if starts_cluster(text, position)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


@pytest.mark.parametrize(
    "clusters",
    [
        ["a", "b", " ", "c"],
        ["e\u0301", "a"],
        ["a\u0301\u0302\u0303", "b"],
        ["👩\u200d👩\u200d👧\u200d👦", "👍🏽", "!"],
        ["❤\ufe0f", "x"],
        ["👩\u200d", " ", "a\u200d", "\r"],
        ["🇩🇪", "🇫🇷", "🇪"],
        ["1\ufe0f\u20e3", "2"],
        ["🏴\U000e0067\U000e0062\U000e007f", "x"],
        ["\u1112\u1161\u11ab", "\u1100\u1173\u11af"],
        ["한", "글"],
        ["क्षि", "क"],
        ["กำ", "ก"],
        ["\r\n", "a"],
        ["，\ufe00", "你"],
        ["我", "们"],
    ],
    ids=ascii,
)
def test_a_cluster_starts_only_where_a_reader_sees_a_new_character(clusters: list[str]) -> None:
    assert clusters_of("".join(clusters)) == clusters


def test_flags_are_paired_from_the_given_start() -> None:
    assert not starts_cluster("🇩🇪🇫🇷", 1, 0)
    assert starts_cluster("🇩🇪🇫🇷", 2, 0)
    assert not starts_cluster("🇩🇪🇫🇷", 2, 1)
