"""A checkpoint's own words about its licence are found."""

import pytest

from export.licence import read_attribution, read_licence


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: cc-by-4.0\n---\n# Model\n", "cc-by-4.0"),
        ('---\nlanguage: [en]\nlicense: "apache-2.0"\n---\n', "apache-2.0"),
        ("---\nlanguage: [en]\n---\nlicense: none of this\n", "unknown"),
        ("# Model\n\nlicense: cc-by-4.0\n", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_licence_is_in_the_front_matter_of_the_model_card(tmp_path, card, licence):
    (tmp_path / "README.md").write_text(card)
    assert read_licence(tmp_path) == licence


def test_without_a_card_or_a_notice_nothing_is_claimed(tmp_path):
    assert read_licence(tmp_path) == "unknown"
    assert read_attribution(tmp_path) == ""


def test_the_notice_is_the_attribution(tmp_path):
    (tmp_path / "NOTICE.txt").write_text("Made by\n\n  many.\n")
    assert read_attribution(tmp_path) == "Made by many."
