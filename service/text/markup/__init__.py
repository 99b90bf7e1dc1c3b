"""Markup taken apart by source positions: HTML and XML to documents whose text is rewritten in place.

Nothing is ever serialised: a document's gaps and placeholders are stretches of the source.
"""
