"""Files that are translated as documents: read whole, taken apart, translated in windows, and put together."""

import click

from service.cli.files import progress, read_content, shown_name
from service.cli.windows import Translate, translate_documents
from service.documents.formats import DocumentFile, FileFormat
from service.documents.units import Cutting
from service.errors import InvalidDocumentError
from service.text.segmentation import SegmentationOptions
from service.translation.codes import primary_language
from service.translation.opening import Protector
from service.translation.translation import TranslationRequest


def translated_file(name: str, found: FileFormat, translate: Translate, template: TranslationRequest) -> bytes:
    """Returns a file translated; raises ClickException that says what is wrong with it, or what `translate` raises."""
    document_file = _read(name, found, template)
    targets: list[list[str]] = [[] for _ in document_file.documents]
    total = sum(len(part.text) for document in document_file.documents for part in document.parts)
    with progress(total, "characters") as show:
        for index, text, length in translate_documents(document_file.documents, translate, template):
            targets[index].append(text)
            show(length)
    return document_file.put_together(["".join(pieces) for pieces in targets])


def _read(name: str, found: FileFormat, template: TranslationRequest) -> DocumentFile:
    # What a model cannot read or write is found when it is known which; no sentence ends there.
    options = SegmentationOptions(template.split_sentences, Protector(lambda _: True, template.protect))
    try:
        return found.read(read_content(name), Cutting(primary_language(template.source), options), template.target)
    except InvalidDocumentError as error:
        lines = [f"{shown_name(name)}: {error.message}", *(f"  {problem}" for problem in error.problems)]
        raise click.ClickException("\n".join(lines)) from None
