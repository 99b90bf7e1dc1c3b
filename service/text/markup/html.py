"""HTML as a document: its text cut into segments in place, its tags, entities and white space as they are.

Any text is HTML. Broken markup costs translation at most, never text: what cannot be read is a gap.
"""

from typing import Final

from service.errors import InvalidRequestError
from service.text.document import Document
from service.text.markup.html_reader import HtmlReader
from service.text.markup.html_tokens import html_tokens
from service.text.markup.references import escape_html, escape_xml
from service.text.markup.runs import parts_of
from service.text.markup.source import Source
from service.text.markup.tokens import Token
from service.text.markup.xml_tokens import xml_tokens
from service.text.segmentation import SegmentationOptions

DEFAULT_OPTIONS: Final = SegmentationOptions()


def parse_html(text: str, language: str, options: SegmentationOptions = DEFAULT_OPTIONS) -> Document:
    """Take a page or a piece of one apart.

    language: code of its language; see `sentences`. options: line breaks are white space in HTML, so that "on" and
    "nonewlines" are the same; "off" makes a segment of each block. `protect` is asked where not to cut.
    """
    source = Source(text, language, options)
    xhtml = _tokens_of_xhtml(text)
    if xhtml is not None:
        return Document(parts_of(source, HtmlReader(source, is_xml=True).read(xhtml)), escape_xml)
    return Document(parts_of(source, HtmlReader(source).read(html_tokens(text))), escape_html)


def _tokens_of_xhtml(text: str) -> list[Token] | None:
    """Return the tokens of HTML in the syntax of XML, where <title/> is empty; None where a text is not well-formed."""
    if not text.removeprefix("\ufeff").startswith("<?xml"):
        return None
    try:
        return xml_tokens(text)
    except InvalidRequestError:
        return None
