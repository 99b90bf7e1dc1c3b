"""`verso export`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import click

_PRECISION = click.Choice(["fp32", "fp16", "int8"])
# Which extra brings a library that the exporter may miss.
_EXTRAS = {"torch": "parity"}


@click.command(short_help="Turn a checkpoint into a model package.")
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("output", required=False, type=click.Path(path_type=Path))
@click.option(
    "--check", is_flag=True, help="Say what CHECKPOINT is and what keeps it from being exported; write nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Write what --check finds as one JSON object.")
@click.option("--source", "sources", multiple=True, help="Source language code; repeat for several.")
@click.option("--target", "targets", multiple=True, help="Target language code; repeat for several.")
@click.option(
    "--text-prefix",
    "text_prefixes",
    multiple=True,
    metavar="CODE=TEXT",
    help="Words in front of a source that ask for a target, where the checkpoint does not say; repeat for several.",
)
@click.option("--name", default="", help="Name of the package; that of the output folder unless given.")
@click.option(
    "--precision",
    "precisions",
    multiple=True,
    type=_PRECISION,
    help="Graphs to write, fp32 and int8 unless given; fp16 is for GPUs. Repeat for several.",
)
@click.option("--default-precision", type=_PRECISION, help="What the service runs unless told otherwise.")
@click.option("--weight-bits", type=click.Choice(["7", "8"]), help="Bits of int8 weights: 7 is faster, 8 closer.")
@click.option(
    "--sample",
    type=click.File(encoding="utf-8"),
    help="Sentences of the source language, one a line, to calibrate int8 on; some hundred are enough.",
)
@click.option("--licence", help="Licence of the weights, written into the manifest.")
@click.option("--attribution", help="Whom to name for the weights, written into the manifest.")
@click.option("--replace", "replace_output", is_flag=True, help="Replace an output folder that exists.")
@click.pass_context
def export(context: click.Context, /, *, check: bool, as_json: bool, output: Path | None, **options: Any) -> None:
    """Turn CHECKPOINT into the model package OUTPUT.

    CHECKPOINT is a folder in the Hugging Face layout (MarianMT, M2M100, NLLB, mBART, T5, mT5 or MADLAD-400), or one of
    Marian's own files. Languages are read off it unless given. Nothing is written unless the result agrees with the
    checkpoint.
    """
    chosen = {name: value for name, value in options.items() if value not in (None, ())}
    if output is None and not check:
        raise click.UsageError("Missing argument 'OUTPUT'.", context)
    if as_json and not check:
        raise click.UsageError("--json goes with --check.", context)
    chosen["output"] = output or Path()
    if "sample" in chosen:
        chosen["sample"] = [line for line in chosen["sample"].read().splitlines() if line.strip()]
    if "weight_bits" in chosen:
        chosen["weight_bits"] = _weight_bits(chosen["weight_bits"])
    chosen["text_prefixes"] = _text_prefixes(chosen.get("text_prefixes", ()))
    with _named_extras():
        if check:
            _explain(context, chosen, as_json=as_json)
        else:
            _export(chosen)


def _export(chosen: dict[str, Any]) -> None:
    from export.options import ExportOptions
    from export.run import export_checkpoint

    report = export_checkpoint(ExportOptions(**chosen))
    for decision in report.decisions:
        click.echo(decision)
    click.echo(f"{report.folder}: {sum(report.sizes_bytes.values()) / 1e6:.1f} MB")


def _explain(context: click.Context, chosen: dict[str, Any], *, as_json: bool) -> None:
    from export.explanation import explain
    from export.options import ExportOptions

    explanation = explain(ExportOptions(**chosen))
    click.echo(explanation.to_json() if as_json else "\n".join(explanation.lines()))
    context.exit(1 if explanation.problems else 0)


def _weight_bits(text: str) -> Literal[7, 8]:
    return 7 if text == "7" else 8


def _text_prefixes(given: Sequence[str]) -> dict[str, str]:
    """Target code to words. They usually end with a space, which is kept."""
    pairs = [text.partition("=") for text in given]
    if wrong := [text for text, (code, _, words) in zip(given, pairs, strict=True) if not code or not words]:
        raise click.BadParameter(f"{wrong[0]!r} is not CODE=TEXT", param_hint="--text-prefix")
    return {code: words for code, _, words in pairs}


@contextmanager
def _named_extras() -> Iterator[None]:
    """Turns a library that is not installed into a message that names the extra it comes with."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").split(".")[0]
        extra = _EXTRAS.get(library, "export")
        raise click.ClickException(f"{library} is not installed; it comes with the extra: verso[{extra}]") from None
