"""XML as a document: its text cut into segments in place, by which elements hold text and which hold structure.

Nothing in it is expanded or written anew. A text that is not well-formed is refused.
"""

from typing import Final

from service.text.document import Document
from service.text.markup.references import escape_xml
from service.text.markup.runs import parts_of
from service.text.markup.source import Source
from service.text.markup.xml_reader import XmlReader, XmlTags
from service.text.markup.xml_tokens import xml_tokens
from service.text.segmentation import SegmentationOptions

DEFAULT_OPTIONS: Final = SegmentationOptions()
DEFAULT_TAGS: Final = XmlTags()


def parse_xml(
    text: str, language: str, options: SegmentationOptions = DEFAULT_OPTIONS, tags: XmlTags = DEFAULT_TAGS
) -> Document:
    """Take a document or a fragment of XML apart.

    language: code of its language; see `sentences`. options: "on" ends sentences at line breaks in text too, "off"
    makes a segment of all text between tags that cut. `protect` is asked where not to cut.

    Raises InvalidRequestError for a text that is not well-formed.
    """
    source = Source(text, language, options, breaks_end_sentences=options.split_sentences == "on")
    return Document(parts_of(source, XmlReader(source, tags).read(xml_tokens(text))), escape_xml)
