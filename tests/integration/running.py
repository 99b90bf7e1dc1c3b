"""The bundled package, and sequences running through its engine without HTTP."""

import random
from functools import cache
from pathlib import Path

import numpy as np

from service.engine.engine import Engine
from service.engine.options import EngineOptions
from service.package.package import ModelPackage
from service.scheduler.batch import RunningBatch
from service.scheduler.sequence import Sequence, Submission
from service.search.group import SearchTask
from service.search.hypothesis import Hypothesis
from service.search.options import DecodingOptions
from service.search.rules import DecodingRules

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "models" / "en-de"
HELD_OUT = ROOT / "tests" / "golden" / "heldout.en-de.tsv"
MAX_ROWS = 96


@cache
def package() -> ModelPackage:
    return ModelPackage.open(PACKAGE)


@cache
def engine(precision: str) -> Engine:
    return Engine(package(), EngineOptions(precision=precision), MAX_ROWS)


def rules() -> DecodingRules:
    manifest = package().manifest
    return DecodingRules(
        manifest.special_ids.decoder_start,
        manifest.special_ids.eos,
        manifest.generation.forced_eos_id,
        manifest.generation.renormalize,
    )


def held_out_sources(count: int) -> list[str]:
    """Every so-manieth English sentence, so that short everyday and long encyclopedic ones are among them."""
    lines = [line.split("\t")[0] for line in HELD_OUT.read_text(encoding="utf-8").splitlines()]
    return [lines[index * len(lines) // count] for index in range(count)]


def sequence(text: str, options: DecodingOptions) -> Sequence:
    ids = [*package().source_tokenizer.encode(text), package().manifest.special_ids.eos]
    one = Sequence(np.array(ids, np.int64), SearchTask(options, None, len(ids), with_alignment=False))
    Submission([one])
    return one


def decode_alone(precision: str, text: str, options: DecodingOptions) -> tuple[Hypothesis, ...]:
    batch = RunningBatch(engine(precision), rules())
    batch.admit([sequence(text, options)])
    while True:
        ended = batch.step()
        if ended:
            return ended[0].hypotheses


def decode_in_company(
    precision: str, work: list[tuple[str, DecodingOptions]], neighbours: int, seed: int
) -> list[tuple[Hypothesis, ...]]:
    """Decodes everything in one running batch of at most `neighbours` sequences, joined at random steps."""
    chance = random.Random(seed)
    batch = RunningBatch(engine(precision), rules())
    waiting = list(enumerate(work))
    chance.shuffle(waiting)
    results: dict[int, tuple[Hypothesis, ...]] = {}
    index_of: dict[Sequence, int] = {}
    while waiting or len(batch):
        joining = []
        while waiting and len(batch) + len(joining) < neighbours and chance.random() < 0.5:
            index, item = waiting.pop()
            one = sequence(*item)
            index_of[one] = index
            joining.append(one)
        if joining:
            batch.admit(joining)
        if len(batch):
            results.update({index_of[ended.sequence]: ended.hypotheses for ended in batch.step()})
    return [results[index] for index in range(len(work))]
