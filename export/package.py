"""Makes a folder of exported files a package: the manifest, with a record of every other file.

Checking a package when it is opened is the service's job (`service.package`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from export.checkpoint import Checkpoint
from export.families.spec import ModelSpec
from export.graphs import Precision
from export.tokenizer.converted import ConvertedTokenizers
from service import VERSION
from service.errors import ExportError
from service.package.manifest import (
    FORMAT_VERSION,
    Dimensions,
    Generation,
    GraphFiles,
    Languages,
    Manifest,
    Origin,
    SpecialIds,
    TokenizerFiles,
)
from service.package.package import MANIFEST_FILE, file_record

TOKENIZER_FILES = TokenizerFiles(source="source_tokenizer.json", target="target_tokenizer.json")


@dataclass(frozen=True, slots=True)
class Description:
    """What a manifest says beyond the spec.

    default_precision: what the service runs unless told otherwise.
    """

    name: str
    languages: Languages
    generation: Generation
    precisions: Mapping[Precision, GraphFiles]
    default_precision: Precision
    licence: str
    attribution: str


def write_tokenizers(folder: Path, tokenizers: ConvertedTokenizers) -> None:
    """Writes the two tokenizer files."""
    for name, content in (
        (TOKENIZER_FILES.source, tokenizers.source_json),
        (TOKENIZER_FILES.target, tokenizers.target_json),
    ):
        (folder / name).write_text(content + "\n", encoding="utf-8")


def write_manifest(
    folder: Path, checkpoint: Checkpoint, spec: ModelSpec, tokenizers: ConvertedTokenizers, description: Description
) -> Manifest:
    """Writes manifest.json about all files in `folder`. Raises ExportError with every inconsistency."""
    try:
        manifest = Manifest(
            format_version=FORMAT_VERSION,
            name=description.name,
            family=spec.family,
            dimensions=dimensions_of(spec),
            special_ids=SpecialIds(
                decoder_start=spec.special_ids.decoder_start,
                eos=spec.special_ids.eos,
                pad=spec.special_ids.pad,
                source_unk=tokenizers.source_special.unk,
                target_unk=tokenizers.target_special.unk,
            ),
            banned_ids=spec.banned_ids,
            languages=description.languages,
            generation=description.generation,
            alignment_layer=spec.alignment_layer,
            alignment_heads=spec.alignment_heads,
            precisions=dict(description.precisions.items()),
            default_precision=description.default_precision,
            tokenizers=TOKENIZER_FILES,
            files={path.name: file_record(path) for path in sorted(folder.iterdir())},
            licence=description.licence,
            attribution=description.attribution,
            origin=Origin(
                checkpoint=checkpoint.folder.name,
                weights_sha256=checkpoint.weights_sha256(),
                exporter=f"verso {VERSION}",
            ),
        )
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, fault['loc'])) or 'manifest'}: {fault['msg']}" for fault in error.errors()]
        raise ExportError("the checkpoint cannot be described by a manifest", problems) from None
    content = json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False)
    (folder / MANIFEST_FILE).write_text(content + "\n", encoding="utf-8")
    return manifest


def dimensions_of(spec: ModelSpec) -> Dimensions:
    """Sizes of a network as a manifest has them."""
    return Dimensions(
        encoder_layers=len(spec.keys.encoder),
        decoder_layers=len(spec.keys.decoder),
        model_width=spec.model_width,
        num_heads=spec.num_heads,
        head_width=spec.head_width,
        cache_head_width=spec.cache_head_width,
        source_vocabulary_size=spec.source_vocabulary_size,
        target_vocabulary_size=spec.target_vocabulary_size,
        max_source_tokens=spec.max_source_tokens,
        max_target_tokens=spec.max_target_tokens,
    )
