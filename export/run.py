"""The export as a whole: a checkpoint folder in, a verified model package out, or nothing at all.

Everything is written into a hidden folder beside the output, checked there, and renamed at the very end.
"""

import shutil
import tempfile
from pathlib import Path

from export.aligning import choose_alignment
from export.calibration import calibrate
from export.graphs import GraphPlan, write_graphs
from export.half_range import beyond_half, linear_tensors
from export.licence import LEGAL_FILES, read_attribution, read_licence
from export.network import NetworkWeights
from export.options import ExportOptions
from export.package import Description, write_manifest, write_tokenizers
from export.reading import ReadCheckpoint, read_checkpoint
from export.report import REPORT_FILE, ExportReport
from export.sample import BUILT_IN_LANGUAGES, Framing, built_in_sentences, sample_pair
from export.sizes import affordable_sentences
from export.verify.verification import Subject, verify
from service.errors import ExportError
from service.package.package import ModelPackage

# Built-in sentences for calibration are as many as take so much of it step by step.
_MOST_READ = 40_000_000_000


def export_checkpoint(options: ExportOptions) -> ExportReport:
    """Exports one checkpoint. Raises ExportError with every reason found, and then leaves nothing behind."""
    if options.output.exists() and not options.replace_output:
        raise ExportError(f"{options.output} exists already")
    read = read_checkpoint(options.checkpoint, options.sources, options.targets, options.text_prefixes)
    _refuse_large_weights(read, options)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{options.output.name}.", dir=options.output.parent))
    try:
        folder = scratch / "package"
        folder.mkdir()
        report = _write(folder, read, options)
        if options.output.exists():
            options.output.rename(scratch / "replaced")
        folder.rename(options.output)
    finally:
        shutil.rmtree(scratch)
    return report


def _write(folder: Path, read: ReadCheckpoint, options: ExportOptions) -> ExportReport:
    checkpoint, tokenizers = read.checkpoint, read.tokenizers
    spec, alignment_decisions = choose_alignment(read)
    source, target = sample_pair(read.languages)
    framing = Framing(spec, tokenizers, read.languages.sources[source], read.languages.targets[target])
    graphs = write_graphs(folder, spec, NetworkWeights(checkpoint, spec), _plan(folder, read, framing, options))
    write_tokenizers(folder, tokenizers)
    for name in LEGAL_FILES:
        if (checkpoint.folder / name).is_file():
            shutil.copyfile(checkpoint.folder / name, folder / name)
    subject = Subject(folder, checkpoint, graphs.files, framing)
    report = ExportReport(
        folder=options.output,
        decisions=(*read.decisions, *alignment_decisions, *graphs.decisions),
        verification=verify(subject, options.limits),
        sizes_bytes={path.name: path.stat().st_size for path in sorted(folder.iterdir())},
    )
    (folder / REPORT_FILE).write_text(report.to_json(), encoding="utf-8")
    description = Description(
        name=options.name or options.output.name,
        languages=read.languages,
        generation=read.defaults.generation,
        precisions=graphs.files,
        default_precision=options.chosen_precision,
        licence=options.licence or read_licence(checkpoint.folder),
        attribution=options.attribution or read_attribution(checkpoint.folder),
    )
    write_manifest(folder, checkpoint, spec, tokenizers, description)
    ModelPackage.open(folder)
    return report


def _refuse_large_weights(read: ReadCheckpoint, options: ExportOptions) -> None:
    if "fp16" in options.precisions and (problems := beyond_half(read.checkpoint, linear_tensors(read.spec.keys))):
        raise ExportError(f"the checkpoint {options.checkpoint.name} cannot be exported in fp16", problems)


def _plan(folder: Path, read: ReadCheckpoint, framing: Framing, options: ExportOptions) -> GraphPlan:
    """Calibrates on sentences of the source language, where there are any; otherwise int8 scales every row."""
    source, _ = sample_pair(read.languages)
    affordable = affordable_sentences(read.checkpoint, framing.spec, _MOST_READ)
    built_in = built_in_sentences("calibration")[:affordable] if source in BUILT_IN_LANGUAGES else ()
    sentences = tuple(options.sample) or built_in
    if not sentences:
        return GraphPlan(options.precisions, options.weight_bits, None)
    sources = framing.frame(sentences)
    return GraphPlan(
        options.precisions,
        options.weight_bits,
        lambda graphs, inputs: calibrate(folder, graphs, framing.spec, inputs, sources),
    )
