"""Our own sentences, on which an export's precisions are compared; one file per language."""
