"""What a decoder step writes into: arrays with room for all rows, of which a step binds the first so many."""

import numpy as np
import onnxruntime as ort

from service.engine.arrays import FloatArray, StepOutputs
from service.engine.binding import Binding
from service.engine.prefix import Prefix


class OutputBuffers:
    """Outputs of steps that give the same number of best tokens and probes of each row.

    num_banned: columns of banned_logits. query_width: columns of alignment_query.
    """

    def __init__(self, max_rows: int, num_best: int, num_probes: int, num_banned: int, query_width: int) -> None:
        self._num_best = ort.OrtValue.ortvalue_from_numpy(np.array([num_best], np.int64))
        self._log_probs = np.empty((max_rows, num_best), np.float32)
        self._ids = np.empty((max_rows, num_best), np.int64)
        self._probes = np.empty((max_rows, num_probes), np.float32)
        self._log_normalizers = np.empty((max_rows, 1), np.float32)
        self._banned_logits = np.empty((max_rows, num_banned), np.float32)
        self._alignment = np.empty((max_rows, 0), np.float32)
        self._queries = np.empty((max_rows, query_width), np.float32)
        self._prefixes = {
            "top_log_probs": Prefix(self._log_probs),
            "top_ids": Prefix(self._ids),
            "probe_log_probs": Prefix(self._probes),
            "log_normalizer": Prefix(self._log_normalizers),
            "banned_logits": Prefix(self._banned_logits),
            "alignment_query": Prefix(self._queries),
        }
        self._views: dict[int, StepOutputs] = {}

    @property
    def queries(self) -> FloatArray:
        """Scaled queries of the alignment layer, (max_rows, H * D) float32."""
        return self._queries

    def bind(self, binding: Binding, num_rows: int) -> StepOutputs:
        """Makes the next run write the first `num_rows` rows, and returns them."""
        binding.bind_input("k", self._num_best)
        for name, prefix in self._prefixes.items():
            binding.bind_output(name, prefix.value(num_rows))
        views = self._views.get(num_rows)
        if views is None:
            views = self._views[num_rows] = self._view(num_rows)
        return views

    def _view(self, num_rows: int) -> StepOutputs:
        return StepOutputs(
            log_probs=self._log_probs[:num_rows],
            ids=self._ids[:num_rows],
            probes=self._probes[:num_rows],
            log_normalizers=self._log_normalizers[:num_rows],
            banned_logits=self._banned_logits[:num_rows],
            alignment=self._alignment[:num_rows],
        )
