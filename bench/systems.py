"""The systems that are compared, by name, each started in a process of its own."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial

from bench.models import BenchModel
from bench.rivals.ctranslate import CTranslateRival, Layout
from bench.rivals.huggingface import HuggingFaceRival
from bench.rivals.verso import VersoRival
from bench.worker import Worker, workers

VERSO = "Verso int8"
VERSO_FP32 = "Verso fp32"
CTRANSLATE = "CTranslate2"
HUGGING_FACE = "transformers"


def plain_layout(threads: int) -> Layout:
    """Gives CTranslate2 in float32 with all threads on one batch."""
    return Layout("float32", 1, threads)


def start_systems(names: Sequence[str], model: BenchModel, threads: int) -> AbstractContextManager[dict[str, Worker]]:
    """Starts the named systems with one model; they end with the context.

    Verso divides the CPUs itself; the others are told how many threads there may be.
    """
    verso = partial(Worker, VersoRival, package=model.package)
    factories = {
        VERSO: partial(verso, precision="int8"),
        VERSO_FP32: partial(verso, precision="fp32"),
        CTRANSLATE: partial(
            Worker,
            CTranslateRival,
            model=model.converted,
            checkpoint=model.checkpoint,
            layout=plain_layout(threads),
        ),
        HUGGING_FACE: partial(Worker, HuggingFaceRival, checkpoint=model.checkpoint, threads=threads),
    }
    return workers({name: factories[name] for name in names})
