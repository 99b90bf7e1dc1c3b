"""What a model is on disk: its manifest, its checked files, its tokenizers."""
