"""`verso translate`."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from service.cli.lines import Line, read_lines
from service.cli.setting_options import ENGINE_SETTINGS, setting_options, settings_from
from service.search.options import PartialOptions

if TYPE_CHECKING:
    from service.translation.registry import Registry
    from service.translation.translation import TranslationRequest

F = TypeVar("F", bound=Callable[..., Any])

# A command line has no other callers to protect, so its own windows are the only bound on what waits.
_UNBOUNDED = {"max_waiting_sequences": 100_000_000, "max_waiting_tokens": 10_000_000_000}
_STANDARD = "-"
_DECODING: dict[str, tuple[Any, str]] = {
    "beam_size": (int, "Hypotheses kept alive; 1 is greedy search."),
    "length_penalty": (float, "Exponent p in score = sum of log-probabilities / length^p."),
    "early_stopping": (click.Choice(["true", "false", "never"]), "When beam search may stop."),
    "min_new_tokens": (int, "No end of a segment before so many tokens."),
    "max_new_tokens": (int, "Tokens per segment at most."),
    "repetition_penalty": (float, "Above 1 makes tokens already produced less likely."),
    "no_repeat_ngram_size": (int, "N-grams of this size never occur twice; 0 is off."),
    "sampling": (bool, "Draw tokens instead of taking the best."),
    "temperature": (float, "Flattens (above 1) or sharpens the draw."),
    "top_k": (int, "Draw among so many most likely tokens."),
    "top_p": (float, "Draw among the fewest tokens of this probability."),
    "seed": (int, "Start of the random stream."),
}


def _decoding_options(command: F) -> F:
    for name, (kind, text) in reversed(_DECODING.items()):
        command = click.option("--" + name.replace("_", "-"), name, type=kind, help=text)(command)
    return command


@click.command(short_help="Translate files, or standard input, line by line.")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--source", help="Language of the texts, by any usual code; may be left out where there is one only.")
@click.option("--target", help="Language to translate into, by any usual code; may be left out likewise.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write there, not to standard output.")
@click.option(
    "--buffer-lines",
    type=click.IntRange(1, 10_000),
    default=64,
    show_default=True,
    help="Lines read ahead and translated together; 1 answers each line at once.",
)
@_decoding_options
@setting_options(ENGINE_SETTINGS)
def translate(files: tuple[str, ...], output: Path | None, buffer_lines: int, **options: Any) -> None:
    """Translate FILES, or standard input, line by line.

    Each line is a text of its own. Lines keep their order, number and endings. The output file appears only when
    everything is translated. `verso inspect` lists the languages of a package.
    """
    settings = settings_from({name: options[name] for name in ENGINE_SETTINGS} | _UNBOUNDED)
    from service.cli.windows import translate_lines
    from service.loading import open_models
    from service.scheduler.stats import NullSink
    from service.translation.translator import Translator

    with ExitStack() as stack:
        registry = open_models(settings, NullSink())
        stack.callback(registry.close, 0.0)
        template = _template(registry, options)
        write = stack.enter_context(_written(output))
        progress = stack.enter_context(_progress(files))
        for line, text in translate_lines(
            _read_all(files or (_STANDARD,)), Translator(registry).translate, template, buffer_lines
        ):
            write((line.prefix + text + line.ending).encode("utf-8"))
            progress(line.num_bytes)


def _template(registry: "Registry", options: Mapping[str, Any]) -> "TranslationRequest":
    """Makes the request that every window is sent with, its texts still missing."""
    from service.translation.translation import TranslationRequest

    source, target = options["source"], options["target"]
    if source is None or target is None:
        source, target = _only_pair(registry, source, target)
    chosen = {name: options[name] for name in _DECODING}
    if chosen["early_stopping"] in ("true", "false"):
        chosen["early_stopping"] = chosen["early_stopping"] == "true"
    return TranslationRequest(texts=(), source=source, target=target, options=PartialOptions(**chosen))


def _only_pair(registry: "Registry", source: str | None, target: str | None) -> tuple[str, str]:
    """Returns the one pair there is with the language that is given; raises UsageError if there are more, or none."""
    from service.translation.codes import DeclaredCodes

    pairs = registry.languages()
    if source is not None:
        source = DeclaredCodes({pair.source for pair in pairs}).find(source)
        pairs = tuple(pair for pair in pairs if pair.source == source)
    if target is not None:
        target = DeclaredCodes({pair.target for pair in pairs}).find(target)
        pairs = tuple(pair for pair in pairs if pair.target == target)
    if len(pairs) != 1:
        number = "more than one pair" if pairs else "no such pair"
        raise click.UsageError(f"give --source and --target; the models translate {number}")
    return pairs[0].source, pairs[0].target


def _read_all(files: tuple[str, ...]) -> Iterator[Line]:
    for name in files:
        if name == _STANDARD:
            yield from read_lines(sys.stdin.buffer, "standard input")
        else:
            with Path(name).open("rb") as stream:
                yield from read_lines(stream, name)


@contextmanager
def _written(output: Path | None) -> Iterator[Callable[[bytes], None]]:
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


def _write_through(stream: BinaryIO, content: bytes) -> None:
    stream.write(content)
    # A reader on the other end of a pipe is to see each line when it is done.
    if content.endswith(b"\n"):
        stream.flush()


@contextmanager
def _progress(files: tuple[str, ...]) -> Iterator[Callable[[int], object]]:
    """Shows progress on standard error when it is a terminal."""
    from tqdm import tqdm

    known = bool(files) and _STANDARD not in files
    total = sum(Path(name).stat().st_size for name in files) if known else None
    with tqdm(total=total, unit="B", unit_scale=True, disable=not sys.stderr.isatty(), file=sys.stderr) as bar:
        yield bar.update
