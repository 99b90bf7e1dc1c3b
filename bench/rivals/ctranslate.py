"""CTranslate2 on a checkpoint that its own converter has converted, in any compute type and layout of threads."""

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.rivals.rival import Outcome, Task

# Above so many sources one batch of all is no longer worth trying.
_LARGEST_WHOLE = 256
_USUAL_BATCH_SIZES = (32, 64, 128)


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to run CTranslate2.

    inter_threads: batches at a time; intra_threads: threads of each; batch_size: sources in a batch, 0 for all.
    """

    compute_type: str
    inter_threads: int
    intra_threads: int
    batch_size: int = 0

    def __str__(self) -> str:
        batches = f", batches of {self.batch_size}" if self.batch_size else ""
        return f"{self.compute_type} {self.inter_threads}×{self.intra_threads}{batches}"


class CTranslateRival:
    """One converted model; a translator is loaded for each layout that is asked for, and kept."""

    def __init__(self, model: Path, checkpoint: Path, layout: Layout) -> None:
        self._model = model
        self._source_pieces, self._target_ids = read_vocabularies(checkpoint)
        self._translators: dict[tuple[str, int, int], Any] = {}
        self.use(layout)

    def use(self, layout: Layout) -> None:
        """Takes another layout."""
        import ctranslate2

        key = (layout.compute_type, layout.inter_threads, layout.intra_threads)
        if key not in self._translators:
            self._translators[key] = ctranslate2.Translator(
                str(self._model),
                device="cpu",
                compute_type=layout.compute_type,
                inter_threads=layout.inter_threads,
                intra_threads=layout.intra_threads,
            )
        self._translator = self._translators[key]
        self._layout = layout

    def compute_types(self) -> list[str]:
        """Lists what this processor supports; see `distinct_compute_types`."""
        import ctranslate2

        return distinct_compute_types(ctranslate2.get_supported_compute_types("cpu"))

    def translate(self, task: Task) -> Outcome:
        """Translates all sources in one call, or each in its own."""
        pieces = [[self._source_pieces[token] for token in source] for source in task.sources]
        calls = [[source] for source in pieces] if task.one_by_one else [pieces]
        arguments = translate_arguments(task, self._layout)
        started = time.perf_counter()
        results = [result for batch in calls for result in self._translator.translate_batch(batch, **arguments)]
        seconds = time.perf_counter() - started
        targets = (result.hypotheses[0] for result in results)
        return Outcome(seconds, tuple(tuple(self._target_ids[piece] for piece in target) for target in targets))


def translate_arguments(task: Task, layout: Layout) -> dict[str, Any]:
    """Gives the arguments of `translate_batch` that mean what a task says."""
    return {
        "beam_size": task.beam_size,
        "max_decoding_length": task.max_new_tokens,
        # The default forces one token before the end token; Hugging Face and Verso force none.
        "min_decoding_length": 0,
        "max_input_length": 0,
        "max_batch_size": layout.batch_size,
        "return_end_token": True,
    }


def read_vocabularies(checkpoint: Path) -> tuple[dict[int, str], dict[str, int]]:
    """Returns source id to piece and target piece to id of a Marian checkpoint."""
    source = json.loads((checkpoint / "vocab.json").read_text(encoding="utf-8"))
    separate = checkpoint / "target_vocab.json"
    target = json.loads(separate.read_text(encoding="utf-8")) if separate.is_file() else source
    return {token: piece for piece, token in source.items()}, target


def layouts(compute_types: Sequence[str], threads: int, num_sources: int) -> list[Layout]:
    """Lists the ways worth trying for calls of so many sources.

    One source: on all threads, or on one alone, which a small model may prefer. Several: all threads on one batch, or
    one thread on each of several batches; shared out evenly, or cut into batches of a usual size, which CTranslate2
    fills in order of length.
    """
    if num_sources == 1:
        shapes = [(1, intra, 0) for intra in sorted({1, threads})]
    else:
        shapes = [
            (inter, threads // inter, size)
            for inter in sorted({1, threads})
            for size in _batch_sizes(inter, num_sources)
        ]
    return [Layout(compute_type, *shape) for compute_type in compute_types for shape in shapes]


def distinct_compute_types(supported: Iterable[str]) -> list[str]:
    """Sorts the supported types and leaves out names that stand for another of them."""
    names = set(supported)
    # "int8" means whichever of the int8_* suits the processor.
    return sorted(names - {"int8"} if any(name.startswith("int8_") for name in names) else names)


def convert(checkpoint: Path, folder: Path) -> Path:
    """Converts a checkpoint with CTranslate2's own command unless `folder` has it already; returns `folder`.

    Weights stay float32; each translator rounds them as its compute type says when it loads them.
    """
    if not (folder / "model.bin").is_file():
        command = Path(sys.executable).with_name("ct2-transformers-converter")
        arguments = ["--model", str(checkpoint), "--output_dir", str(folder), "--force"]
        done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"CTranslate2 cannot convert {checkpoint.name}:\n{done.stderr}")
    return folder


def _batch_sizes(inter: int, num_sources: int) -> list[int]:
    """Returns batch sizes for `inter` batches at a time, 0 for all sources in one."""
    even = -(-num_sources // inter)
    sizes = {size for size in _USUAL_BATCH_SIZES if size < even}
    if num_sources <= _LARGEST_WHOLE:
        sizes = {size for size in sizes if size == min(_USUAL_BATCH_SIZES)} | {0 if inter == 1 else even}
    return sorted(sizes)
