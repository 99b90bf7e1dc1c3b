"""Drawing tokens at random, shaped by temperature, top-k and top-p.

The stream of random numbers belongs to one sequence and starts from its seed, so a text's draw never depends on
what else is running.
"""

import numpy as np

from service.search.options import DecodingOptions
from service.search.rules import FloatArray


class Sampler:
    """Draws one sequence's tokens."""

    def __init__(self, options: DecodingOptions) -> None:
        self._options = options
        self._random = np.random.Generator(np.random.Philox(options.seed))

    def draw(self, log_probs: FloatArray) -> int:
        """Returns an index into `log_probs` (n,) float32, which is descending and holds at least the top k.

        Temperature, then top-k, then nucleus sampling (Holtzman et al. 2020): the smallest set whose probability
        reaches top_p, never empty.
        """
        scores = log_probs[: self._options.top_k].astype(np.float64) / self._options.temperature
        probs = np.exp(scores - scores[0])
        probs /= probs.sum()
        before = np.cumsum(probs) - probs
        kept = np.where(before < self._options.top_p, probs, 0.0)
        cumulative = np.cumsum(kept)
        return int(np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right"))
