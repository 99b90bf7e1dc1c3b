"""The files of `verso translate`: their format, reading them, and writing without ever leaving half a file."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import click

from service.cli.lines import Line, read_lines
from service.documents.formats import FORMATS, TEXT, FileFormat, format_of, unsupported_kind

STANDARD: Final = "-"
"""Standard input, by the name that commands know it by."""


def chosen_format(names: Sequence[str], format_name: str | None, output: Path | None) -> FileFormat | None:
    """Returns the format of files; None for lines of text. Raises UsageError if they cannot be translated like this."""
    unsupported = [(name, kind) for name in names if format_name is None and (kind := unsupported_kind(name))]
    if unsupported:
        name, kind = unsupported[0]
        supported = ", ".join([TEXT, *FORMATS])
        raise click.UsageError(f"{name}: {kind} are not supported; supported formats: {supported}")
    _refuse_overwriting(names, output)
    formats = {format_name or format_of(name) for name in names}
    if formats == {TEXT}:
        return None
    if len(names) > 1:
        raise click.UsageError("only files of text can be translated several at once; give one file at a time")
    found = FORMATS[formats.pop()]
    if output is None and not found.is_text:
        raise click.UsageError(f"give --output; {found.name} files are not text that could be shown")
    return found


def read_content(name: str) -> bytes:
    """Returns all that a file holds."""
    return sys.stdin.buffer.read() if name == STANDARD else Path(name).read_bytes()


def read_all_lines(names: Sequence[str]) -> Iterator[Line]:
    """Gives the lines of files, one file after the other."""
    for name in names:
        if name == STANDARD:
            yield from read_lines(sys.stdin.buffer, shown_name(name))
        else:
            with Path(name).open("rb") as stream:
                yield from read_lines(stream, name)


def shown_name(name: str) -> str:
    """Returns what a file is called in messages."""
    return "standard input" if name == STANDARD else name


@contextmanager
def written(output: Path | None) -> Iterator[Callable[[bytes], None]]:
    """Gives a function that writes to standard output, or to a file that takes its name when all went well."""
    if output is None:
        yield lambda content: _write_through(sys.stdout.buffer, content)
        return
    partial = output.with_name(output.name + ".partial")
    try:
        with partial.open("wb") as file:
            yield lambda content: _write_through(file, content)
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def progress(total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
    """Shows progress on standard error when it is a terminal; total: of units, None if that is not known."""
    from tqdm import tqdm

    with tqdm(total=total, unit=unit, unit_scale=True, disable=not sys.stderr.isatty(), file=sys.stderr) as bar:
        yield bar.update


def total_bytes(names: Sequence[str]) -> int | None:
    """Returns how large files are together; None if one of them is standard input."""
    return None if STANDARD in names else sum(Path(name).stat().st_size for name in names)


def _refuse_overwriting(names: Sequence[str], output: Path | None) -> None:
    if output is None or not output.exists():
        return
    if any(name != STANDARD and output.samefile(name) for name in names):
        raise click.UsageError(f"{output} is the file to translate; give another name for the output")


def _write_through(stream: BinaryIO, content: bytes) -> None:
    stream.write(content)
    # A reader on the other end of a pipe is to see each line when it is done.
    if content.endswith(b"\n"):
        stream.flush()
