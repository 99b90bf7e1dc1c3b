"""A package of a network alone: graphs and a manifest, and a tokenizer of numbers, for tests that decode token ids."""

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from export.checkpoint import Checkpoint
from export.families.spec import ModelSpec
from export.graphs import GraphPlan, write_graphs
from export.network import NetworkWeights
from export.package import dimensions_of
from service.package.manifest import (
    Generation,
    GraphFiles,
    Languages,
    Manifest,
    Origin,
    SourceLanguage,
    SpecialIds,
    TargetLanguage,
    TokenizerFiles,
)
from service.package.package import MANIFEST_FILE, file_record


def write_ids_package(folder: Path, checkpoint: Checkpoint, spec: ModelSpec) -> GraphFiles:
    """Writes float32 graphs of a checkpoint and a manifest that the service's engine takes; returns the graphs' names.

    Decoding defaults are those few of generation_config.json that are no option of a request.
    """
    folder.mkdir(parents=True)
    graphs = write_graphs(folder, spec, NetworkWeights(checkpoint, spec), GraphPlan(("fp32",), 7, calibrate=None))
    rows = max(spec.source_vocabulary_size, spec.target_vocabulary_size)
    words = WordLevel({str(token_id): token_id for token_id in range(rows)}, unk_token="0")
    (folder / "tokenizer.json").write_text(Tokenizer(words).to_str())
    generation = Generation(
        max_new_tokens=spec.max_target_tokens - 1,
        renormalize=bool(checkpoint.generation.get("renormalize_logits")),
        forced_eos_id=checkpoint.generation.get("forced_eos_token_id"),
    )
    special = spec.special_ids
    manifest = Manifest(
        format_version=1,
        name="ids",
        family=spec.family,
        dimensions=dimensions_of(spec),
        special_ids=SpecialIds(
            decoder_start=special.decoder_start, eos=special.eos, pad=special.pad, source_unk=0, target_unk=0
        ),
        banned_ids=spec.banned_ids,
        languages=Languages(
            sources={"en": SourceLanguage(suffix_ids=(special.eos,))}, targets={"de": TargetLanguage()}
        ),
        generation=generation,
        alignment_layer=spec.alignment_layer,
        precisions=dict(graphs.files),
        default_precision="fp32",
        tokenizers=TokenizerFiles(source="tokenizer.json", target="tokenizer.json"),
        files={path.name: file_record(path) for path in sorted(folder.iterdir())},
        licence="",
        attribution="",
        origin=Origin(checkpoint="ids", weights_sha256="0" * 64, exporter="test"),
    )
    (folder / MANIFEST_FILE).write_text(manifest.model_dump_json(), encoding="utf-8")
    return graphs.files["fp32"]
