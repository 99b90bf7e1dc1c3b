"""The command line of the benchmark."""

import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from bench.machine import describe_machine
from bench.publishing import prepare_environment, publish, take_cpus
from bench.report import Report, Section
from bench.run import ROOT, Run, RunOptions, Testset
from bench.workloads import bundled, engine, growth, http, mixed, preservation, quality

WORKLOADS: dict[str, Callable[[Run], Section]] = {
    "engine": engine.measure,
    "bundled": bundled.measure,
    "http": http.measure,
    "mixed": mixed.measure,
    "growth": growth.measure,
    "quality": quality.measure,
    "preservation": preservation.measure,
}


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("workloads", nargs=-1, type=click.Choice(list(WORKLOADS)))
@click.option("--rounds", type=click.IntRange(1), help="Rounds of every measurement; otherwise what time allows.")
@click.option("--quick", is_flag=True, help="One round of few cases, to see that everything works.")
@click.option("--full", is_flag=True, help="Every case, five rounds unless --rounds says otherwise; takes long.")
@click.option(
    "--package",
    type=click.Path(path_type=Path, exists=True),
    default=ROOT / "models/en-de",
    show_default=False,
    help="The package to measure; models/en-de by default.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, exists=True),
    default=ROOT / "checkpoints/en-de",
    show_default=False,
    help="The checkpoint it was made from; checkpoints/en-de by default.",
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    help="CPUs for everything, and threads of every system; otherwise all usable ones.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=ROOT / "bench/results",
    show_default=False,
    help="Folder for the results; bench/results by default.",
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    default=ROOT / "build/bench",
    show_default=False,
    help="Folder for models made for the run; build/bench by default.",
)
@click.option(
    "--testset",
    "testsets",
    nargs=2,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    metavar="SOURCE REFERENCE",
    help="Another held-out set for quality, a sentence a line; may be repeated.",
)
def main(
    workloads: tuple[str, ...],
    rounds: int | None,
    quick: bool,
    full: bool,
    package: Path,
    checkpoint: Path,
    threads: int | None,
    output: Path,
    cache: Path,
    testsets: tuple[tuple[Path, Path], ...],
) -> None:
    """Measure Verso beside its rivals: WORKLOADS, or all of them."""
    options = RunOptions(
        package=package.resolve(),
        checkpoint=checkpoint.resolve(),
        threads=take_cpus(threads),
        cache=cache.resolve(),
        heldout=ROOT / "tests/golden/heldout.en-de.tsv",
        rounds=rounds,
        quick=quick,
        full=full,
        testsets=tuple(read_testset(*paths) for paths in testsets),
    )
    prepare_environment()
    machine = describe_machine(ROOT)
    sections = measure_all(Run(options), workloads or tuple(WORKLOADS))
    setting = {
        "threads": str(options.threads),
        "extent": "quick" if quick else "full" if full else "default",
        "rounds": str(rounds or "as time allowed"),
        "package": package.name,
        "checkpoint": checkpoint.name,
    }
    publish(Report(machine, setting, sections), output, "bench")
    if any(section.failure for section in sections):
        sys.exit(1)


def measure_all(run: Run, names: tuple[str, ...]) -> tuple[Section, ...]:
    """Runs workloads one after the other; one that fails leaves a section that says so."""
    sections = []
    for name in dict.fromkeys(names):
        started = time.monotonic()
        try:
            section = WORKLOADS[name](run)
        except Exception as error:
            traceback.print_exc()
            section = Section(name, (), failure=str(error).strip().rpartition("\n")[2] or type(error).__name__)
        sections.append(replace(section, seconds=round(time.monotonic() - started, 1)))
    return tuple(sections)


def read_testset(sources: Path, references: Path) -> Testset:
    """Reads two files of lines that belong together; raises ClickException when they do not."""
    first, second = (tuple(path.read_text(encoding="utf-8").splitlines()) for path in (sources, references))
    if len(first) != len(second) or not first:
        raise click.ClickException(f"{sources} has {len(first)} lines and {references} {len(second)}")
    return Testset(sources.stem, first, second)
