"""`verso export`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import click

_PRECISION = click.Choice(["fp32", "int8"])
# Which extra brings a library that the exporter may miss.
_EXTRAS = {"torch": "parity"}


@click.command(short_help="Turn a checkpoint into a model package.")
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--source", "sources", multiple=True, help="Source language code; repeat for several.")
@click.option("--target", "targets", multiple=True, help="Target language code; repeat for several.")
@click.option("--name", default="", help="Name of the package; that of the output folder unless given.")
@click.option("--precision", "precisions", multiple=True, type=_PRECISION, help="Graphs to write; all unless given.")
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
def export(**options: Any) -> None:
    """Turn CHECKPOINT, a folder in the Hugging Face layout, into the model package OUTPUT.

    Languages are read off the checkpoint unless given. Nothing is written unless the result agrees with the checkpoint.
    """
    with _named_extras():
        from export.options import ExportOptions
        from export.run import export_checkpoint

        chosen = {name: value for name, value in options.items() if value not in (None, ())}
        if "sample" in chosen:
            chosen["sample"] = [line for line in chosen["sample"].read().splitlines() if line.strip()]
        if "weight_bits" in chosen:
            chosen["weight_bits"] = _weight_bits(chosen["weight_bits"])
        report = export_checkpoint(ExportOptions(**chosen))
    for decision in report.decisions:
        click.echo(decision)
    click.echo(f"{report.folder}: {sum(report.sizes_bytes.values()) / 1e6:.1f} MB")


def _weight_bits(text: str) -> Literal[7, 8]:
    return 7 if text == "7" else 8


@contextmanager
def _named_extras() -> Iterator[None]:
    """Turns a library that is not installed into a message that names the extra it comes with."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").split(".")[0]
        extra = _EXTRAS.get(library, "export")
        raise click.ClickException(f"{library} is not installed; it comes with the extra: verso[{extra}]") from None
