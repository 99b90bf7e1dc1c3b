"""Files that are archives: some members are taken apart, each in its own way, and put back among the others."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from service.documents.archive import Archive
from service.text.document import Document


class Part(Protocol):
    """A member taken apart into documents."""

    @property
    def documents(self) -> Sequence[Document]:
        """What is translated of it, in order."""

    def put_together(self, targets: Sequence[str]) -> bytes | None:
        """Returns the member with the translations of its documents; None where nothing changed."""


class ContainerFile:
    """An archive with the parts, by the names of members, that hold its text."""

    def __init__(self, archive: Archive, parts: Mapping[str, Part]) -> None:
        self._archive = archive
        self._parts = parts
        self.documents = tuple(document for part in parts.values() for document in part.documents)

    def put_together(self, targets: Sequence[str]) -> bytes:
        """Returns the file with the translations of its documents, in their order."""
        changes: dict[str, bytes] = {}
        position = 0
        for name, part in self._parts.items():
            own = targets[position : position + len(part.documents)]
            position += len(own)
            changed = part.put_together(own)
            if changed is not None:
                changes[name] = changed
        return self._archive.replaced(changes)
