"""XML by byte positions, and putting stretches into it: the rest is copied, and nothing hostile is followed."""

import pytest

from service.documents.splicing import Splice, replacing, spliced
from service.documents.xml_parts import in_utf_8
from service.documents.xml_tree import MAX_DEPTH, XmlElement, XmlText, elements_named, read_elements
from service.errors import InvalidDocumentError

PAGE = (
    '\ufeff<?xml version="1.0"?>\r\n<!DOCTYPE r SYSTEM "x.dtd"><r xmlns="u" xmlns:v="w">'
    "<p a=\"&gt;/>\" v:b='c'>hä&amp;x<b/>y<b></b>z<!-- <p> --><![CDATA[<q>]]>&nbsp;<i>t</i  >\r\n</p>"
    "<p/><s><p>closed</p></s><v:p>other</v:p><p></p></r>"
).encode()


def is_p(name):
    return name == "u p"


def test_elements_stand_where_they_say():
    found = list(read_elements(PAGE, is_p, lambda name, _: name == "u s"))
    shown = [(PAGE[one.start : one.end].decode(), PAGE[one.inner_start : one.inner_end].decode()) for one in found]
    inner = "hä&amp;x<b/>y<b></b>z<!-- <p> --><![CDATA[<q>]]>&nbsp;<i>t</i  >\r\n"
    assert shown == [(f"<p a=\"&gt;/>\" v:b='c'>{inner}</p>", inner), ("<p/>", ""), ("<p></p>", "")]
    assert found[0].attributes == {"a": ">/>", "w b": "c"}


def test_children_stand_where_they_say():
    first = next(read_elements(PAGE, is_p))
    children = [
        (PAGE[child.start : child.end].decode(), child.text if isinstance(child, XmlText) else child.local)
        for child in first.children
    ]
    assert children == [
        *[("hä", "hä"), ("&amp;", "&"), ("x", "x"), ("<b/>", "b"), ("y", "y"), ("<b></b>", "b"), ("z", "z")],
        *[("<q>", "<q>"), ("<i>t</i  >", "i"), ("\r\n", "\n")],
    ]


def test_positions_hold_over_the_pieces_the_parser_is_fed():
    filler = "ä" * 70_001
    data = f"<r>{filler}<p>one{filler}<b>two</b></p>{filler}<p>three</p></r>".encode()
    found = list(read_elements(data, lambda name: name == "p"))
    first, second = (data[one.start : one.end] for one in found)
    assert (first[:6], first[-14:], second) == (b"<p>one", b"<b>two</b></p>", b"<p>three</p>")
    assert isinstance(found[0].children[-1], XmlElement)


def test_elements_inside_elements_are_found_in_order():
    data = b"<r><p>1<x><p>2</p><c><p>3</p></c></x></p><p>4</p></r>"
    found = elements_named(read_elements(data, lambda name: name == "p"), lambda name: name == "p", closed_c)
    assert [data[one.inner_start] for one in found] == [*b"124"]


def closed_c(name, _):
    return name == "c"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no element found"),
        (b"<a><b></a>", "mismatched tag"),
        (b"<a>\xff</a>", "not well-formed"),
        (b"<a>" * (MAX_DEPTH + 1), "nested too deeply"),
        (b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "declares entities"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>', "declares entities"),
        (b'<!DOCTYPE a [<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;]><a/>', "declares entities"),
    ],
)
def test_what_is_broken_or_hostile_is_refused(data, problem):
    with pytest.raises(InvalidDocumentError, match=problem):
        list(read_elements(data, lambda name: True))


def test_a_document_type_elsewhere_is_not_fetched():
    data = b'<!DOCTYPE r PUBLIC "-//X" "http://localhost:1/x.dtd"><r><p>a&nbsp;b</p></r>'
    (found,) = read_elements(data, lambda name: name == "p")
    assert [child.text for child in found.children] == ["a", "b"]


@pytest.mark.parametrize("data", ["<a/>".encode("utf-16"), b"<?xml version='1.0' encoding='ISO-8859-1'?><a/>"])
def test_other_encodings_are_refused(data):
    with pytest.raises(InvalidDocumentError, match="UTF-8"):
        in_utf_8(data)


def test_stretches_are_replaced_and_the_rest_is_copied():
    assert spliced("abcdef", []) == "abcdef"
    assert spliced("abcdef", [replacing(4, 5, "X"), replacing(0, 1, ""), replacing(2, 2, "+")]) == "b+cdXf"
    assert spliced(b"ab", [replacing(2, 2, b"c"), replacing(0, 0, b"_")]) == b"_abc"


def test_a_stretch_may_lie_in_another_that_copies_it():
    outer = Splice(0, 6, lambda copy: "<" + copy(3, 6) + "|" + copy(0, 3) + ">")
    assert spliced("abcdefg", [replacing(1, 2, "B"), replacing(4, 5, "E"), outer, replacing(6, 7, "G")]) == "<dEf|aBc>G"
    # One that does not copy it leaves it out.
    assert spliced("abcdefg", [replacing(1, 2, "B"), replacing(0, 6, "x")]) == "xg"


def test_many_stretches_take_linear_time():
    data = "ab" * 100_000
    assert spliced(data, [replacing(start, start + 1, "c") for start in range(0, len(data), 2)]) == "cb" * 100_000
