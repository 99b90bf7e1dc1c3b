"""Subtitles: cues keep their times and have text, sentences are translated whole, nothing else is touched."""

from itertools import pairwise

import pytest

from service.documents.spreading import line_starts
from service.documents.subtitle_cues import read_srt, read_vtt
from service.documents.subtitles import SubtitleFile
from service.documents.units import Cutting
from service.errors import InvalidDocumentError
from tests.doubles.document_translators import identity, mangling, rewritten, shouting, texts_of

EN = Cutting("en")

SRT = """\ufeff1\r
00:00:01,000 --> 00:00:02,500 X1:10 X2:20\r
<i>I was going to leave\r
the house</i> tomorrow.\r
\r
2\r
00:00:03,000 --> 00:00:04,000\r
- Hello there.\r
- {\\an8}Hi!\r
\r
7\r
00:00:05,000 --> 00:00:06,000\r
When I think about it\r
\r
8\r
00:00:06,100 --> 00:00:07,000\r
it was a very good idea\r
to stay.\r
\r
9\r
00:00:08,000 --> 00:00:09,000\r
♪ 12:34 ♪\r
"""

VTT = """WEBVTT - a title
Kind: captions

STYLE
::cue { color: red }

NOTE
A remark that is not shown.

intro
00:01.000 --> 00:02.000 line:0 align:start
<v Bob>Hello &amp; <b>good</b> day, my friend
and all <00:00:01.500>others</v>

00:03.000 --> 00:04.000
Bye"""


def srt(text: str, target: str = "de") -> SubtitleFile:
    return SubtitleFile.srt(text.encode(), EN, target)


def vtt(text: str, target: str = "de") -> SubtitleFile:
    return SubtitleFile.vtt(text.encode(), EN, target)


def test_an_identity_changes_no_byte():
    assert rewritten(srt(SRT), identity).decode() == SRT
    assert rewritten(vtt(VTT), identity).decode() == VTT


def test_a_sentence_over_lines_or_cues_is_one_text():
    assert texts_of(srt(SRT)) == [
        "I was going to leave the house tomorrow.",
        "Hello there.",
        "Hi!",
        "When I think about it it was a very good idea to stay.",
    ]


def test_only_the_words_of_subrip_change():
    expected = (
        SRT.replace(
            "<i>I was going to leave\r\nthe house</i> tomorrow.", "<i>§I WAS GOING TO LEAVE\r\nTHE HOUSE</i>§ TOMORROW."
        )
        .replace("- Hello there.", "- §HELLO THERE.")
        .replace("- {\\an8}Hi!", "- {\\an8}§HI!")
        .replace("When I think about it", "§WHEN I THINK ABOUT IT")
        .replace("it was a very good idea\r\nto stay.", "IT WAS A VERY GOOD IDEA\r\nTO STAY.")
    )
    assert rewritten(srt(SRT), shouting).decode() == expected


def test_only_the_words_of_webvtt_change():
    expected = VTT.replace(
        "Hello &amp; <b>good</b> day, my friend\nand all <00:00:01.500>others",
        "§HELLO &amp; <b>§GOOD</b>§ DAY, MY FRIEND\nAND ALL <00:00:01.500>§OTHERS",
    ).replace("Bye", "§BYE")
    assert rewritten(vtt(VTT), shouting).decode() == expected


@pytest.mark.parametrize(
    ("first", "second", "times"),
    [
        ("He said that", "He would come.", "00:00:03,000"),  # a capital letter
        ("He came.", "and left.", "00:00:03,000"),  # the sentence has ended
        ("He said", "that he would.", "00:00:09,000"),  # too long after
        ("He said", "that he would.", "00:00:01,500"),  # at the same time
        ("He said", "- that he would.", "00:00:03,000"),  # somebody else
        ("He said", "that <i>he</i> would.", "00:00:03,000"),  # markup
        ("He said", "[door closes]", "00:00:03,000"),
    ],
)
def test_cues_go_together_only_where_a_sentence_surely_goes_on(first, second, times):
    text = f"1\n00:00:01,000 --> 00:00:02,000\n{first}\n\n2\n{times} --> 00:00:10,000\n{second}\n"
    assert len(srt(text).documents) == 2


def test_lines_of_two_speakers_are_two_texts():
    text = "1\n00:00:01,000 --> 00:00:02,000\nANNA: I will\nBOB: not go\n"
    assert texts_of(srt(text)) == ["ANNA: I will", "BOB: not go"]


@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_model_says_cues_keep_their_times_and_have_text(seed):
    for text, read, cues in ((SRT, srt, read_srt), (VTT, vtt, read_vtt)):
        before, after = cues(text), cues(rewritten(read(text), mangling(seed)).decode())
        assert [(cue.start, cue.end) for cue in before] == [(cue.start, cue.end) for cue in after]
        assert all(1 <= len(two.lines) <= len(one.lines) for one, two in zip(before, after, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_whatever_a_model_says_tags_come_back_once(seed):
    changed = rewritten(vtt(VTT), mangling(seed)).decode()
    assert [changed.count(tag) for tag in ("<v Bob>", "</v>", "<b>", "</b>", "<00:00:01.500>")] == [1] * 5
    assert changed.index("<b>") < changed.index("</b>")


def test_a_target_with_fewer_words_than_cues_still_fills_each():
    text = "1\n00:00:01,000 --> 00:00:02,000\nwhen all is said\n\n2\n00:00:02,100 --> 00:00:03,000\nand done\n"
    file = srt(text)
    assert len(file.documents) == 1
    changed = file.put_together(["Schließlich"]).decode()
    first, second = (changed[cue.lines[0].start : cue.lines[0].end] for cue in read_srt(changed))
    assert first + second == "Schließlich"


def test_cues_may_lack_numbers_blank_lines_and_a_last_line_break():
    text = (
        "00:00:01.000 --> 00:00:02.000\nOne\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n\nstill two\n"
        "0:0:5,5 --> 0:0:6,5\nThree"
    )
    cues = read_srt(text)
    assert [[text[line.start : line.end] for line in cue.lines] for cue in cues] == [
        ["One"],
        ["Two", "still two"],
        ["Three"],
    ]
    assert [(cue.start, cue.end) for cue in cues] == [(1000, 2000), (3000, 4000), (5500, 6500)]
    assert len(srt(text).documents) == 4


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_is_kept(ending):
    text = VTT.replace("\n", ending)
    assert rewritten(vtt(text), identity).decode() == text
    assert rewritten(vtt(text), shouting).decode() == rewritten(vtt(VTT), shouting).decode().replace("\n", ending)


@pytest.mark.parametrize("text", ["", "\n", "\r\n\r\n", "WEBVTT", "WEBVTT\n", "WEBVTT\n\nNOTE nothing\n"])
def test_files_without_cues_are_fine(text):
    assert rewritten((vtt if text.startswith("W") else srt)(text), shouting).decode() == text


@pytest.mark.parametrize(
    ("read", "content", "problem"),
    [
        (SubtitleFile.srt, b"Just a text.\n", "no line has times"),
        (SubtitleFile.srt, b"1\n\xff", "not UTF-8 at byte 2"),
        (SubtitleFile.vtt, b"", "does not begin with WEBVTT"),
        (SubtitleFile.vtt, SRT.encode(), "does not begin with WEBVTT"),
        (SubtitleFile.vtt, b"WEBVTTX\n", "does not begin with WEBVTT"),
    ],
)
def test_what_is_no_subtitle_file_is_refused(read, content, problem):
    with pytest.raises(InvalidDocumentError, match=problem):
        read(content, EN, "de")


@pytest.mark.parametrize(
    ("text", "lengths", "lines"),
    [
        ("one two three four", [9, 9], ["one two ", "three four"]),
        ("yes, I was going to", [6, 12], ["yes, ", "I was going to"]),
        ("one", [5, 5], ["one"]),
        ("one two", [5, 5, 5], ["one ", "two"]),
        ("", [5, 5], [""]),
        ("  one two", [1, 9], ["  one ", "two"]),
    ],
)
def test_lines_are_broken_between_words_in_proportion(text, lengths, lines):
    bounds = [0, *line_starts(text, lengths, spaced=True), len(text)]
    assert [text[start:end] for start, end in pairwise(bounds)] == lines


def test_scripts_without_spaces_are_broken_between_characters():
    starts = line_starts("我明天要离开这个家。", [5, 5], spaced=False)
    assert len(starts) == 1
    assert line_starts("好。", [3, 3], spaced=False) == []


@pytest.mark.parametrize(
    "unit", ["a\n", "\n", "1\n", "1", "<", "<i>", "{\\", "a ", "- ", "<b", "字", "00:00:01,000 --> 00:00:02,000\n"]
)
def test_hostile_subtitles_take_linear_time(unit):
    text = "1\n00:00:01,000 --> 00:00:02,000\n" + unit * (100_000 // len(unit))
    rewritten(srt(text, "zh"), shouting)
    rewritten(vtt("WEBVTT\n\n" + text.replace(",", ".")), shouting)
