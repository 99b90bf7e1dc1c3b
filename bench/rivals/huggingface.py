"""transformers' `generate` in float32: one padded batch, as its documentation has it."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.rivals.rival import Ids, Outcome, Task


class HuggingFaceRival:
    """One checkpoint; everything is translated in a single call, or one call a source."""

    def __init__(self, checkpoint: Path, threads: int) -> None:
        import torch
        from transformers import AutoModelForSeq2SeqLM
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        torch.set_num_threads(threads)
        self._torch = torch
        self._model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
        # Filled in from here, it would contradict the length of the task.
        self._model.generation_config.max_length = None
        self._eos = int(self._model.generation_config.eos_token_id)
        self._pad = int(self._model.generation_config.pad_token_id)

    def translate(self, task: Task) -> Outcome:
        """Translates all sources in one batch, or each in its own."""
        batches = [[source] for source in task.sources] if task.one_by_one else [task.sources]
        inputs = [self._inputs(batch) for batch in batches]
        started = time.perf_counter()
        with self._torch.inference_mode():
            outputs = [self._model.generate(**tensors, **generate_arguments(task)) for tensors in inputs]
        seconds = time.perf_counter() - started
        rows = [row[1:] for output in outputs for row in output.tolist()]
        return Outcome(seconds, tuple(trimmed(rows, self._eos)))

    def _inputs(self, sources: Ids) -> dict[str, Any]:
        ids, mask = padded(sources, self._pad)
        return {"input_ids": self._torch.tensor(ids), "attention_mask": self._torch.tensor(mask)}


def generate_arguments(task: Task) -> dict[str, Any]:
    """Gives the arguments of `generate` that mean what a task says."""
    arguments: dict[str, Any] = {
        "do_sample": False,
        "num_beams": task.beam_size,
        "max_new_tokens": task.max_new_tokens,
        "use_cache": True,
    }
    if task.beam_size > 1:
        arguments["early_stopping"] = True
    return arguments


def padded(sources: Ids, filler: int) -> tuple[list[list[int]], list[list[int]]]:
    """Returns sources filled up to one length, and 1 where they are not filler."""
    width = max(map(len, sources))
    ids = [[*source, *[filler] * (width - len(source))] for source in sources]
    return ids, [[1] * len(source) + [0] * (width - len(source)) for source in sources]


def trimmed(rows: Ids, eos: int) -> Iterator[tuple[int, ...]]:
    """Yields rows up to and with their first end token."""
    for row in rows:
        end = row.index(eos) + 1 if eos in row else len(row)
        yield tuple(row[:end])
