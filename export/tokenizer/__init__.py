"""Turns the tokenizer files of a checkpoint into the two tokenizer files of a package, and compares the two.

A family reads its files into an `Original`: pieces, and the ids it gives them. From there on all families are alike:
normalisation, segmentation (Unigram or BPE) and decoding are expressed with the blocks of a tokenizer file, and an
oracle (SentencePiece itself, or the checkpoint's own tokenizer.json) says whether the result gives the same ids.
"""
