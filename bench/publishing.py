"""Showing a report and writing it down, and what every command of the benchmark sets up first."""

import os
from datetime import UTC, datetime
from pathlib import Path

import click

from bench.report import Report, goal_table, plain_table, write_report
from service.engine.threads import usable_cpus


def prepare_environment() -> None:
    """Sets what this process and those it starts go by."""
    # Models are on disk; libraries that look for newer ones only cost time.
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", PYTHONWARNINGS="ignore")


def take_cpus(count: int | None) -> int:
    """Keeps this process, and all it starts, to so many of its CPUs; None keeps all. Returns how many there are.

    Every system finds its threads from there, or is told the number. Raises BadParameter when there are too few.
    """
    usable = usable_cpus()
    if count is None:
        return usable
    if count > usable:
        raise click.BadParameter(f"--threads {count}: this process may use {usable} CPUs")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    return count


def publish(report: Report, folder: Path, prefix: str) -> None:
    """Prints a report and writes it into `folder` under a name of its own."""
    show(report)
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for path in write_report(report, folder, f"{prefix}-{stamp}"):
        click.echo(f"written: {path}")


def show(report: Report) -> None:
    """Prints tables and goals."""
    for section in report.sections:
        click.echo(f"\n== {section.name} ({section.seconds:.0f} s)")
        for note in section.remarks:
            click.echo(note)
        for table in section.tables:
            click.echo("\n" + plain_table(table))
    goals = [goal for section in report.sections for goal in section.goals]
    if goals:
        click.echo("\n" + plain_table(goal_table(goals)))
