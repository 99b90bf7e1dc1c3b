"""Packages made from Marian's own files translate as Marian does: transformer and recurrent decoders alike."""

import numpy as np
import onnx
import onnxruntime
import pytest

from export.checkpoint import Checkpoint
from export.families.registry import find_family
from export.marian.network import describe_marian_native
from export.options import ExportOptions
from export.run import export_checkpoint
from export.verify.graph_pair import GraphPair
from service.errors import ExportError
from service.package.package import ModelPackage
from service.package.tokenizer import SourceTokenizer, TargetTokenizer
from tests.export.marian_models import GOLDEN, cases, changed
from tests.export.tiny_networks import NO_LIMITS

NAMES = ("opus", "odd", "student", "separate")
RECURRENT = ("student", "separate")
# Marian prints five decimals; the graphs compute in float32 like it.
TOLERANCE = 3e-5
LIMIT = 60


def export(checkpoint, folder, **options):
    pair = {"sources": ("en",), "targets": ("de",)} | options
    return export_checkpoint(ExportOptions(checkpoint, folder, limits=NO_LIMITS, **pair))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Opens a package by the name of its model, made when first asked for."""
    root = tmp_path_factory.mktemp("marian")

    def opened(name):
        if not (root / name).exists():
            # One model shows what int8 graphs look like.
            export(GOLDEN / name, root / name, precisions=("fp32", "int8") if name == "student" else ("fp32",))
        return Package(name, root / name)

    return opened


class Package:
    def __init__(self, name, folder):
        self.folder = folder
        self.manifest = ModelPackage.open(folder).manifest
        self.spec = describe_marian_native(Checkpoint.open(GOLDEN / name))
        special, sizes = self.manifest.special_ids, self.manifest.dimensions
        self.source = SourceTokenizer.from_json(
            (folder / "source_tokenizer.json").read_text(encoding="utf-8"),
            sizes.source_vocabulary_size,
            special.source_unk,
        )
        self.target = TargetTokenizer.from_json((folder / "target_tokenizer.json").read_text(encoding="utf-8"))

    def pair(self, precision="fp32"):
        return GraphPair(
            self.folder / f"encoder.{precision}.onnx", self.folder / f"decoder.{precision}.onnx", self.spec
        )

    def sources(self, texts):
        suffix = self.manifest.languages.sources["en"].suffix_ids
        return [[*ids, *suffix] for ids in self.source.encode_batch(list(texts))]


@pytest.mark.parametrize("name", NAMES)
def test_greedy_translations_are_those_of_marian_word_for_word(exported, name):
    package, answers = exported(name), cases(name)
    translations = package.pair().greedy(package.sources(case["text"] for case in answers), LIMIT)
    eos = package.manifest.special_ids.eos
    for case, ids in zip(answers, translations, strict=True):
        # Marian stops at three times the length of the source.
        steps = len(case["greedy"]["scores"])
        text = "".join(case["greedy"]["pieces"]).replace("▁", " ").strip()
        assert package.target.decode([token for token in ids[:steps] if token != eos]) == text


@pytest.mark.parametrize("name", NAMES)
def test_hypotheses_of_marians_beams_have_the_scores_they_have_there(exported, name):
    package, answers = exported(name), cases(name)
    vocabulary = find_family(Checkpoint.open(GOLDEN / name)).convert_tokenizers(Checkpoint.open(GOLDEN / name))
    ids = vocabulary.original.target.vocabulary.ids
    eos, pair = package.manifest.special_ids.eos, package.pair()
    for case in answers:
        sources = package.sources([case["text"]])
        targets = [[*(ids[piece] for piece in one["pieces"]), eos] for one in case["beam"]]
        # Marian stops at three times the length of the source.
        targets = [target[: 3 * len(sources[0])] for target in targets]
        batch = pair.batch(sources, [len(targets)])
        log_probs = pair.log_probs(batch, targets)
        bans = banned_shares(pair, batch, targets)
        for one, target, rows, banned in zip(case["beam"], targets, log_probs, bans, strict=True):
            score = (rows[np.arange(len(target)), target] - banned[: len(target)]).sum() / len(target)
            assert score == pytest.approx(one["score"], abs=TOLERANCE)


def banned_shares(pair, batch, targets):
    """Per row and position, how much smaller log-probabilities are where Marian's banned ids keep their share."""
    shares = np.zeros((batch.num_rows, max(map(len, targets))))
    for position, result in pair.force(batch, targets):
        odds = np.exp(result["banned_logits"] - result["log_normalizer"]).sum(axis=1)
        shares[np.arange(batch.num_rows), position] = np.log1p(odds)
    return shares


@pytest.mark.parametrize("name", RECURRENT)
def test_a_recurrent_decoder_keeps_one_vector_a_layer_and_no_keys_and_values(exported, name):
    package = exported(name)
    for precision in package.manifest.precisions:
        graph = onnx.load(package.folder / f"decoder.{precision}.onnx", load_external_data=False).graph
        for side, kept in ((graph.input, "past"), (graph.output, "present")):
            shapes = {
                value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
                for value in side
                if value.name.startswith(f"{kept}_")
            }
            width = package.spec.model_width
            assert shapes == {f"{kept}_state.{layer}": ["R", width] for layer in range(len(package.spec.keys.decoder))}


@pytest.mark.parametrize("name", RECURRENT)
def test_states_may_be_updated_in_place(exported, name):
    package = exported(name)
    pair, sources = package.pair(), package.sources(case["text"] for case in cases(name)[:4])
    targets = pair.greedy(sources, 12)
    expected = pair.log_probs(pair.batch(sources), targets)
    in_place = InPlacePair(package.folder / "encoder.fp32.onnx", package.folder / "decoder.fp32.onnx", package.spec)
    shortest = min(map(len, targets))
    actual = in_place.log_probs(in_place.batch(sources), [target[:shortest] for target in targets])
    for rows, wanted in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(rows, wanted[:shortest])


class InPlacePair(GraphPair):
    """Gives the decoder the memory of each past state for the present one."""

    def __init__(self, encoder, decoder, spec):
        super().__init__(encoder, decoder, spec)
        self._session = onnxruntime.InferenceSession(decoder, providers=["CPUExecutionProvider"])

    def _run(self, kind, feeds):
        states = {name: np.array(values) for name, values in feeds.items() if name.startswith("past_state")}
        if not states:
            return super()._run(kind, feeds)
        session = self._session
        binding, kept = session.io_binding(), {}
        for name, values in feeds.items():
            value = onnxruntime.OrtValue.ortvalue_from_numpy(states.get(name, values))
            binding.bind_ortvalue_input(name, value)
            if name in states:
                kept[name.replace("past", "present")] = value
        names = [output.name for output in session.get_outputs()]
        for name in names:
            if name in kept:
                binding.bind_ortvalue_output(name, kept[name])
            else:
                binding.bind_output(name)
        session.run_with_iobinding(binding)
        # A copy, since values only look at memory that ends with this call.
        return dict(zip(names, (np.array(value.numpy()) for value in binding.get_outputs()), strict=True))


def test_the_manifest_says_what_the_files_say(exported):
    opus, student = exported("opus").manifest, exported("student").manifest
    assert (opus.generation.beam_size, opus.generation.length_penalty) == (4, 1.0)
    assert (student.generation.beam_size, student.generation.max_new_tokens) == (1, 511)
    assert student.special_ids.decoder_start == student.special_ids.pad == 144
    assert student.banned_ids == (1, 144)
    assert student.origin.checkpoint == "student"


def test_languages_in_file_names_need_not_be_named_and_others_must(tmp_path):
    export(GOLDEN / "student", tmp_path / "student", sources=(), targets=(), precisions=("fp32",))
    assert ModelPackage.open(tmp_path / "student").manifest.languages.pairs == (("en", "de"),)
    with pytest.raises(ExportError) as caught:
        export(GOLDEN / "odd", tmp_path / "odd", sources=(), targets=())
    assert len([problem for problem in caught.value.problems if "language" in problem]) == 2


def test_two_exports_are_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        export(GOLDEN / "separate", tmp_path / name, name="tiny")
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()


def test_rms_norms_and_learned_positions_export_like_the_reference(tmp_path):
    random = np.random.default_rng(5)
    stored = Checkpoint.open(GOLDEN / "odd")
    norms = [name for name in stored.names if "_ln_" in name and "emb" not in name]
    scales = {name.replace("_ln_", "_rms_"): stored.tensor(name)[None] for name in norms if "_ln_scale" in name}
    folder = changed(
        "odd",
        tmp_path / "folder",
        options={
            "transformer-postprocess": "dar",
            "transformer-postprocess-emb": "d",
            "transformer-train-position-embeddings": True,
        },
        tensors={**scales, "Wpos": random.standard_normal((40, 24)).astype(np.float32)},
        without=[name for name in stored.names if "_ln_" in name],
    )
    report = export(folder, tmp_path / "package", precisions=("fp32",))
    assert report.verification.parities["fp32"].max_difference < 1e-4
    assert ModelPackage.open(tmp_path / "package").manifest.dimensions.max_source_tokens == 40
