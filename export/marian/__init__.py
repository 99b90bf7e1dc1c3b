"""Marian's own files: weights in `.npz` or `.bin`, options and vocabularies in YAML, SentencePiece models.

The formats are those of marian-nmt and of its Bergamot fork, which made the models of Firefox Translations. What the
modules here cannot tell from the files they refuse; nothing needs Marian itself.
"""
