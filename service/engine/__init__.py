"""Running the two graphs of a model: encode sources, step rows, keep their caches.

Knows nothing of hypotheses, options or requests.
"""
