"""Zip containers: read within bounds, kept but for what changed, and refused where they are not to be trusted."""

import io
import struct
import zipfile

import pytest

from service.documents import archive as archive_module
from service.documents.archive import Archive
from service.errors import InvalidDocumentError
from tests.doubles.document_translators import packed, unpacked

MEMBERS = {"mimetype": "x/y", "a/content.xml": "<a>" + "text " * 500 + "</a>", "b.png": bytes(range(256)) * 40}


def test_an_archive_without_changes_is_the_very_file():
    content = packed(MEMBERS, stored={"mimetype"})
    assert Archive(content).replaced({}) == content


def test_only_what_changes_is_changed():
    content = packed(MEMBERS, stored={"mimetype"})
    changed = Archive(content).replaced({"a/content.xml": b"<new/>"})
    assert unpacked(changed) == unpacked(content) | {"a/content.xml": b"<new/>"}
    before, after = (zipfile.ZipFile(io.BytesIO(one)).infolist() for one in (content, changed))
    for one, two in zip(before, after, strict=True):
        kept = ("filename", "date_time", "compress_type", "external_attr", "create_system", "comment")
        assert [getattr(one, name) for name in kept] == [getattr(two, name) for name in kept]


def test_the_comment_of_an_archive_is_kept():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as written:
        written.writestr("a", "1")
        written.comment = b"a comment"
    changed = Archive(target.getvalue()).replaced({"a": b"2"})
    assert zipfile.ZipFile(io.BytesIO(changed)).comment == b"a comment"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not a zip file"),
        (b"hello", "not a zip file"),
        (packed(MEMBERS)[:-30], "not a zip file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "encrypted, or of a binary format"),
        (packed({"../x": "1"}), "path outside"),
        (packed({"/etc/x": "1"}), "path outside"),
        (packed({"a\\..\\..\\x": "1"}), "path outside"),
    ],
)
def test_what_cannot_be_trusted_is_refused(content, problem):
    with pytest.raises(InvalidDocumentError, match=problem):
        Archive(content)


def test_two_members_of_one_name_are_refused():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as written:
        written.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            written.writestr("a", "2")
    with pytest.raises(InvalidDocumentError, match="two parts of one name"):
        Archive(target.getvalue())


def with_flag(content: bytes, flag: int) -> bytes:
    """Sets a flag of the first member in its directory entry."""
    place = content.index(b"PK\x01\x02") + 8
    (flags,) = struct.unpack_from("<H", content, place)
    return content[:place] + struct.pack("<H", flags | flag) + content[place + 2 :]


def test_an_encrypted_member_is_refused():
    with pytest.raises(InvalidDocumentError, match="encrypted"):
        Archive(with_flag(packed({"a": "1"}), 1))


def test_a_damaged_member_is_named():
    content = packed({"a.xml": "text " * 100})
    damaged = content[:38] + b"\xff" * 6 + content[44:]
    with pytest.raises(InvalidDocumentError) as caught:
        Archive(damaged).read("a.xml")
    assert caught.value.problems == ("a.xml: cannot be read",)
    with pytest.raises(InvalidDocumentError):
        Archive(damaged).replaced({"b": b"x"})


def test_a_member_that_is_missing_is_named():
    with pytest.raises(InvalidDocumentError, match="lacks a part") as caught:
        Archive(packed({"a": "1"})).read("b")
    assert caught.value.problems == ("b: missing",)


def test_a_member_that_unpacks_to_too_much_is_given_up(monkeypatch):
    monkeypatch.setattr(archive_module, "MAX_MEMBER_BYTES", 100_000)
    bomb = Archive(packed({"a": b"\x00" * 100_001, "b": b"\x00" * 100_000}))
    with pytest.raises(InvalidDocumentError, match="more than can be held"):
        bomb.read("a")
    assert len(bomb.read("b")) == 100_000


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch):
    content = packed({"a": b"\x00" * 60_000, "b": b"\x00" * 60_000})
    monkeypatch.setattr(archive_module, "MAX_TOTAL_BYTES", 100_000)
    with pytest.raises(InvalidDocumentError, match="more than can be held"):
        Archive(content)
    # A directory that lies about sizes is believed at first, but not while reading.
    lying = content
    for size in (struct.pack("<L", 60_000),):
        lying = lying.replace(size, struct.pack("<L", 1_000))
    with pytest.raises(InvalidDocumentError):
        Archive(lying).replaced({"c": b"x"})


def test_an_archive_of_very_many_members_is_refused(monkeypatch):
    monkeypatch.setattr(archive_module, "MAX_MEMBERS", 3)
    with pytest.raises(InvalidDocumentError, match="more than can be held"):
        Archive(packed({str(number): "" for number in range(4)}))
