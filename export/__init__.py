"""Turns a translation checkpoint into a model package: two ONNX graphs, tokenizers, a manifest and a report.

Needs numpy and onnx; torch and transformers are never imported (torch only to read `.bin` weight files).
"""
