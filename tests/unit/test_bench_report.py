"""What a report looks like, written and shown."""

import json

import pytest

from bench.machine import Machine, commit_of, installed_versions, processor_flags, processor_name
from bench.report import (
    Goal,
    Report,
    Section,
    Table,
    goal_table,
    markdown,
    markdown_table,
    plain_table,
    shown,
    write_report,
)
from bench.spread import Spread

INFO = ["processor\t: 0", "model name\t: Some CPU @ 2.00GHz", "flags\t\t: fpu avx2 fma avx512_vnni xsave", ""]


@pytest.fixture
def report():
    machine = Machine(
        processor="Some CPU",
        flags=("avx2",),
        cores=4,
        usable_cores=2,
        memory_gib=8.0,
        load=0.1,
        system="Linux 6",
        python="3.11.1",
        versions={"numpy": "2.0"},
        commit="0123456789ab",
        date="2026-01-01 00:00 UTC",
    )
    table = Table("Speed", ("case", "rate"), (("1 × 1", Spread.of([1.0, 2.0, 4.0])), ("a|b", None)))
    goal = Goal("fast", 2.0, "at least", "×", 2.5)
    return Report(machine, {"threads": "2"}, (Section("engine", (table,), (goal,), ("A note.",)),))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "–"),
        ("word", "word"),
        (12345, "12,345"),
        (0.0, "0"),
        (1234.5, "1,234"),
        (12.34, "12.3"),
        (1.234, "1.23"),
        (0.01234, "0.012"),
        (-12.34, "-12.3"),
        (Spread.of([1.0, 2.0, 4.0]), "2.00 (1.00–4.00)"),
        (Spread.of([1.5]), "1.50"),
    ],
)
def test_cells_have_three_significant_digits(cell, text):
    assert shown(cell) == text


def test_a_row_needs_a_cell_for_every_column():
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        Table("t", ("a", "b"), ((1,),))


@pytest.mark.parametrize(
    ("kind", "value", "verdict"),
    [
        ("at least", 2.0, "reached"),
        ("at least", 1.9, "missed"),
        ("at most", 2.0, "reached"),
        ("at most", 2.1, "missed"),
        ("at most", None, "not measured"),
    ],
)
def test_a_goal_says_whether_it_was_reached(kind, value, verdict):
    assert Goal("g", 2.0, kind, " ms", value).verdict == verdict


def test_a_goal_table_shows_target_and_result_with_their_unit():
    table = goal_table([Goal("wait", 1.0, "at most", " ms", 0.5), Goal("other", 3.0, "at least", "×", None)])
    assert table.rows == (
        ("wait", "at most 1.00 ms", "0.5 ms", "reached"),
        ("other", "at least 3.00×", "–", "not measured"),
    )


def test_markdown_escapes_what_would_end_a_cell(report):
    lines = markdown_table(report.sections[0].tables[0]).splitlines()
    assert lines == [
        "**Speed**",
        "",
        "| case | rate |",
        "| --- | ---: |",
        "| 1 × 1 | 2.00 (1.00–4.00) |",
        "| a\\|b | – |",
    ]


def test_a_terminal_gets_aligned_columns(report):
    first, *lines = plain_table(report.sections[0].tables[0]).splitlines()
    assert first == "Speed"
    assert len({len(line) for line in lines}) == 1


def test_the_markdown_names_machine_commit_setting_and_goals(report):
    text = markdown(report)
    for part in ("Some CPU", "0123456789ab", "threads 2", "| fast |", "A note.", "## engine"):
        assert part in text


def test_a_failed_workload_is_in_the_report(report):
    section = Section("http", (), failure="ServerError: gone")
    assert "Failed: ServerError: gone" in markdown(Report(report.machine, {}, (section,)))


def test_the_files_hold_all_numbers(report, tmp_path):
    as_json, as_markdown = write_report(report, tmp_path / "new", "one")
    content = json.loads(as_json.read_text(encoding="utf-8"))
    assert content["machine"]["commit"] == "0123456789ab"
    assert content["sections"][0]["tables"][0]["rows"][0][1]["upper_quartile"] == 3.0
    assert as_markdown.read_text(encoding="utf-8") == markdown(report)


def test_the_processor_is_read_from_the_kernels_words():
    assert processor_name(INFO) == "Some CPU @ 2.00GHz"
    assert processor_flags(INFO) == ("avx2", "fma", "avx512_vnni")
    assert processor_name([]) == ""
    assert processor_flags([]) == ()


def test_only_installed_distributions_have_versions():
    assert list(installed_versions(["pytest", "no-such-distribution"])) == ["pytest"]


def test_a_folder_outside_a_repository_has_no_commit(tmp_path):
    assert commit_of(tmp_path) == "none"
