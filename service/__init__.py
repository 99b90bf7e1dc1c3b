"""Verso: a translation service over ONNX Runtime.

Importing this package loads nothing; the version here is the one that packaging, `--version`, metrics and the OpenAPI
document show.
"""

VERSION = "0.1.0"
