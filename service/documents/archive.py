"""Zip containers of office documents and books: members read within bounds, some replaced, all others kept.

Nothing is ever extracted to a path. What the members say is for the formats.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Final

from service.errors import InvalidDocumentError

MAX_MEMBER_BYTES: Final = 256 * 1024 * 1024
"""Larger members of an archive are not read; text of this size does not occur."""

MAX_TOTAL_BYTES: Final = 2 * 1024 * 1024 * 1024
MAX_MEMBERS: Final = 20_000
_CHUNK: Final = 1024 * 1024
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"
_ENCRYPTED: Final = 0x1
_KNOWN_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Archive:
    """A zip file held in memory; `content` is the file itself."""

    def __init__(self, content: bytes) -> None:
        """Reads the directory; raises InvalidDocumentError where it is broken, encrypted, or not to be trusted."""
        if content.startswith(_OLD_OFFICE):
            raise InvalidDocumentError("the document is encrypted, or of a binary format older than zip files")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise InvalidDocumentError("the document is not a zip file, or a damaged one") from error
        self.content = content
        self._members = self._zip.infolist()
        _check(self._members)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members, in their order."""
        return tuple(member.filename for member in self._members)

    def read(self, name: str) -> bytes:
        """Returns a member's content; raises InvalidDocumentError if it is missing, damaged or too large."""
        try:
            return self._read(self._zip.getinfo(name), MAX_MEMBER_BYTES)
        except KeyError:
            raise InvalidDocumentError("the document lacks a part it must have", [f"{name}: missing"]) from None

    def replaced(self, changes: Mapping[str, bytes]) -> bytes:
        """Returns the file with other contents of some members: order, names, times and all other contents are kept.

        Without changes it is the very file; with some, members are compressed anew.
        """
        if not changes:
            return self.content
        target = io.BytesIO()
        left = MAX_TOTAL_BYTES
        with zipfile.ZipFile(target, "w") as written:
            written.comment = self._zip.comment
            for member in self._members:
                content = changes.get(member.filename)
                if content is None:
                    content = self._read(member, left)
                    left -= len(content)
                written.writestr(_header_of(member), content)
        return target.getvalue()

    def _read(self, member: zipfile.ZipInfo, limit: int) -> bytes:
        """Reads what a member really holds: the size in the directory may lie."""
        chunks: list[bytes] = []
        left = limit
        try:
            with self._zip.open(member) as stream:
                while chunk := stream.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise InvalidDocumentError("the document unpacks to more than can be held")
                    chunks.append(chunk)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
            raise InvalidDocumentError("the document is damaged", [f"{member.filename}: cannot be read"]) from error
        return b"".join(chunks)


def _check(members: list[zipfile.ZipInfo]) -> None:
    names = [member.filename for member in members]
    if len(names) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_TOTAL_BYTES:
        raise InvalidDocumentError("the document unpacks to more than can be held")
    if len(set(names)) < len(names):
        raise InvalidDocumentError("the document has two parts of one name")
    for member in members:
        if member.flag_bits & _ENCRYPTED:
            raise InvalidDocumentError("the document is encrypted")
        if member.compress_type not in _KNOWN_METHODS:
            raise InvalidDocumentError("the document is compressed by an unknown method")
        if member.filename.startswith(("/", "\\")) or ".." in member.filename.replace("\\", "/").split("/"):
            raise InvalidDocumentError("the document has a part with the name of a path outside it")


def _header_of(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Returns a header for the same name, time, attributes and method; sizes, checksum and offset are made anew."""
    header = zipfile.ZipInfo(member.filename, member.date_time)
    for name in ("compress_type", "comment", "create_system", "external_attr", "internal_attr"):
        setattr(header, name, getattr(member, name))
    return header
