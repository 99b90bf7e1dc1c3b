"""The command line of `python -m bench profile`."""

import time
from dataclasses import replace
from pathlib import Path

import click

from bench.machine import describe_machine
from bench.publishing import prepare_environment, publish, take_cpus
from bench.random_checkpoint import Sizes, random_sources
from bench.report import Report
from bench.rivals.rival import Task
from bench.run import ROOT, Run, RunOptions
from bench.step_profile import Shape, profile_steps
from bench.workloads.bundled import source_ids
from service.package.package import ModelPackage

_RANDOM = {"base-32k": Sizes(32_000), "base-58k": Sizes(58_000)}
_SOURCE_TOKENS = (15, 25)
_DEFAULT_SHAPES = ("1x1", "8x1", "32x1", "8x4", "32x4")


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("shapes", nargs=-1, metavar="[SOURCESxBEAM]...")
@click.option(
    "--model",
    type=click.Choice([*_RANDOM, "package"]),
    default="base-32k",
    show_default=True,
    help="Random weights of OPUS-MT's size, or the package.",
)
@click.option(
    "--package",
    type=click.Path(path_type=Path, exists=True),
    default=ROOT / "models/en-de",
    show_default=False,
    help="What --model package stands for; models/en-de by default.",
)
@click.option("--precision", type=click.Choice(["int8", "fp32"]), default="int8", show_default=True)
@click.option("--tokens", type=click.IntRange(5), default=25, show_default=True, help="Target tokens at most.")
@click.option("--threads", type=click.IntRange(1), help="CPUs to use; otherwise all usable ones.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=ROOT / "bench/results",
    show_default=False,
    help="Folder for the results; bench/results by default.",
)
def main(
    shapes: tuple[str, ...],
    model: str,
    package: Path,
    precision: str,
    tokens: int,
    threads: int | None,
    output: Path,
) -> None:
    """Show where the time of a decoder step goes, for shapes such as 32x4."""
    prepare_environment()
    options = RunOptions(
        package=package.resolve(),
        checkpoint=package.resolve(),
        threads=take_cpus(threads),
        cache=ROOT / "build/bench",
        heldout=ROOT / "tests/golden/heldout.en-de.tsv",
    )
    run = Run(options)
    machine = describe_machine(ROOT)
    chosen = [read_shape(text) for text in shapes or _DEFAULT_SHAPES]
    folder = options.package if model == "package" else run.random(_RANDOM[model]).package
    tasks = [(shape, Task(_sources(run, model, shape.num_sources), shape.beam_size, tokens)) for shape in chosen]
    started = time.monotonic()
    section = replace(profile_steps(run, folder, precision, tasks), seconds=round(time.monotonic() - started, 1))
    publish(Report(machine, {"model": model, "threads": str(options.threads)}, (section,)), output, "profile")


def read_shape(text: str) -> Shape:
    """Reads a shape from the command line; raises BadParameter."""
    try:
        return Shape.parse(text)
    except ValueError:
        raise click.BadParameter(f"{text} is not SOURCESxBEAM, such as 32x4") from None


def _sources(run: Run, model: str, count: int) -> list[list[int]]:
    if model in _RANDOM:
        return random_sources(_RANDOM[model], count, _SOURCE_TOKENS, seed=count)
    return source_ids(ModelPackage.open(run.options.package), run.heldout.sources[:count])
