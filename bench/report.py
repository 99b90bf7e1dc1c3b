"""The result of a run: goals and tables, written as JSON with all numbers and as Markdown to be read."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from bench.machine import Machine
from bench.spread import Spread

Cell = str | int | float | Spread | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; a cell may be a spread, of which the median and the range are shown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        wrong = [row for row in self.rows if len(row) != len(self.columns)]
        if wrong:
            raise ValueError(f"{self.title}: a row has {len(wrong[0])} cells for {len(self.columns)} columns")


@dataclass(frozen=True, slots=True)
class Goal:
    """A number that was set before the work, and what came out; None where it was not measured."""

    name: str
    target: float
    kind: Literal["at least", "at most"]
    unit: str
    value: float | None

    @property
    def verdict(self) -> str:
        """Says "reached", "missed" or "not measured"."""
        if self.value is None:
            return "not measured"
        reached = self.value >= self.target if self.kind == "at least" else self.value <= self.target
        return "reached" if reached else "missed"


@dataclass(frozen=True, slots=True)
class Section:
    """What one workload gives; failure says why it gives nothing."""

    name: str
    tables: tuple[Table, ...]
    goals: tuple[Goal, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str = ""
    seconds: float = 0.0

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be read above the tables."""
        return (*self.notes, *([f"Failed: {self.failure}"] if self.failure else []))


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run. setting: the options that shaped it, by name."""

    machine: Machine
    setting: dict[str, str]
    sections: tuple[Section, ...]


def write_report(report: Report, folder: Path, name: str) -> tuple[Path, Path]:
    """Writes NAME.json and NAME.md into `folder`; returns both paths."""
    folder.mkdir(parents=True, exist_ok=True)
    as_json, as_markdown = folder / f"{name}.json", folder / f"{name}.md"
    as_json.write_text(json.dumps(asdict(report), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    as_markdown.write_text(markdown(report), encoding="utf-8")
    return as_json, as_markdown


def markdown(report: Report) -> str:
    """Returns the report as Markdown."""
    blocks = ["# Measurements", _machine_block(report.machine), _setting_block(report)]
    goals = [goal for section in report.sections for goal in section.goals]
    if goals:
        blocks.append(markdown_table(goal_table(goals)))
    for section in report.sections:
        blocks.append(f"## {section.name}")
        blocks.extend(section.remarks)
        blocks.extend(markdown_table(table) for table in section.tables)
    return "\n\n".join(blocks) + "\n"


def goal_table(goals: Sequence[Goal]) -> Table:
    """Returns goals and results side by side."""
    rows = [(goal.name, f"{goal.kind} {shown(goal.target)}{goal.unit}", _result(goal), goal.verdict) for goal in goals]
    return Table("Goals", ("goal", "target", "measured", "verdict"), tuple(rows))


def markdown_table(table: Table) -> str:
    """Returns a table in Markdown under its title."""
    lines = [
        f"**{table.title}**",
        "",
        _line(table.columns),
        _line(["---", *["---:"] * (len(table.columns) - 1)]),
        *(_line([shown(cell) for cell in row]) for row in table.rows),
    ]
    return "\n".join(lines)


def plain_table(table: Table) -> str:
    """Returns a table in aligned columns for a terminal."""
    cells = [list(table.columns), *([shown(cell) for cell in row] for row in table.rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.columns))]
    lines = [
        "  ".join(text.ljust(width) if column == 0 else text.rjust(width) for column, (text, width) in enumerate(pairs))
        for pairs in ([*zip(row, widths, strict=True)] for row in cells)
    ]
    return "\n".join([table.title, *(f"  {line.rstrip()}" for line in lines)])


def shown(cell: Cell) -> str:
    """Returns a cell as text: numbers with three significant digits, a spread as its median and its range."""
    if cell is None:
        return "–"
    if isinstance(cell, Spread):
        if cell.count == 1:
            return _number(cell.median)
        return f"{_number(cell.median)} ({_number(cell.minimum)}–{_number(cell.maximum)})"
    return cell if isinstance(cell, str) else _number(cell)


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.2g}"


def _result(goal: Goal) -> str:
    return shown(goal.value) + (goal.unit if goal.value is not None else "")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _machine_block(machine: Machine) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions.items())
    return "\n".join(
        [
            f"- {machine.processor}, {machine.cores} cores ({machine.usable_cores} usable), {machine.memory_gib} GiB",
            f"- instructions: {', '.join(machine.flags) or 'unknown'}",
            f"- {machine.system}, Python {machine.python}, {versions}",
            f"- commit {machine.commit}, {machine.date}, load before the run {machine.load}",
        ]
    )


def _setting_block(report: Report) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in report.setting.items())
    return f"Setting: {settings}. A cell shows the median of the rounds and their range."
