"""The use case: documents in, translations out, over the models that are loaded."""
