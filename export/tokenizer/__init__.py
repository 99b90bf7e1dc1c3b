"""Turns the tokenizer files of a checkpoint into the two tokenizer files of a package, and compares the two.

One module per question: what a SentencePiece model says, how its normalisation and its pieces are expressed, where a
family's ids come from, and whether the result gives the same ids as SentencePiece itself.
"""
