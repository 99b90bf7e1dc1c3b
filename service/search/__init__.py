"""Pure decoding decisions on arrays: which token each row takes next, and when a sequence is done.

Knows neither graphs nor threads. Rules and their order are those of Hugging Face `generate`.
"""
