"""Files taken apart into documents and put together again: what of a format is text, and how a target is written in it.

Pure: bytes in, bytes out. Each format is a module here; `formats` finds the one of a file.
"""
