"""The service's fp32 decoding finds the translations that Marian found with the same model.

Both searches give up at different moments, so of a beam only the best hypothesis is compared, and only where it ended
by itself: with the recorded models it is then always the same.
"""

import json
from pathlib import Path

import pytest

from export.checkpoint import Checkpoint
from export.marian.tokenizers import read_marian_native
from export.options import ExportOptions
from export.run import export_checkpoint
from service.package.package import ModelPackage
from service.package.tokenizer import SourceTokenizer
from service.search.options import DecodingOptions
from tests.parity.verso_side import decode

FOLDER = Path(__file__).parent
NAMES = ("opus", "odd", "student", "separate")
# Marian's own limit on translations.
LENGTH_FACTOR = 3


@pytest.fixture(scope="module", params=NAMES)
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the package of one model."""
    folder = tmp_path_factory.mktemp("marian") / request.param
    export_checkpoint(
        ExportOptions(FOLDER / request.param, folder, sources=("en",), targets=("de",), precisions=("fp32",))
    )
    return folder


@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_best_translation_is_the_recorded_one(package: Path, beam_size: int) -> None:
    answers = [json.loads(line) for line in (FOLDER / f"{package.name}.cases.jsonl").read_text("utf-8").splitlines()]
    expected = [case["greedy"] if beam_size == 1 else case["beam"][0] for case in answers]
    sources = _source_ids(package, [case["text"] for case in answers])
    options = [
        DecodingOptions(beam_size=beam_size, length_penalty=1.0, max_new_tokens=LENGTH_FACTOR * len(ids))
        for ids in sources
    ]
    vocabulary = read_marian_native(Checkpoint.open(FOLDER / package.name)).target.vocabulary
    pieces = {token_id: piece for piece, token_id in vocabulary.ids.items()}
    decoded = [
        [pieces[token_id] for token_id in hypotheses[0].token_ids if token_id != vocabulary.roles.eos]
        for hypotheses in decode(package, "fp32", sources, options)
    ]
    ended = [len(one["pieces"]) < LENGTH_FACTOR * len(ids) for one, ids in zip(expected, sources, strict=True)]

    assert sum(ended) >= 0.9 * len(ended)
    for one, found, has_ended in zip(expected, decoded, ended, strict=True):
        assert found == one["pieces"] or (beam_size > 1 and not has_ended)


def _source_ids(package: Path, texts: list[str]) -> list[list[int]]:
    manifest = ModelPackage.open(package).manifest
    tokenizer = SourceTokenizer.from_json(
        (package / manifest.tokenizers.source).read_text(encoding="utf-8"),
        manifest.dimensions.source_vocabulary_size,
        manifest.special_ids.source_unk,
    )
    suffix = manifest.languages.sources["en"].suffix_ids
    return [[*ids, *suffix] for ids in tokenizer.encode_batch(texts)]
