"""`verso translate`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from service.cli.files import STANDARD, chosen_format, progress, read_all_lines, total_bytes, written
from service.cli.lines import paragraphs
from service.cli.setting_options import ENGINE_SETTINGS, setting_options, settings_from
from service.documents.formats import FORMATS, TEXT
from service.search.options import PartialOptions

if TYPE_CHECKING:
    from service.cli.windows import Translate
    from service.translation.registry import Registry
    from service.translation.translation import TranslationRequest

F = TypeVar("F", bound=Callable[..., Any])

# A command line has no other callers to protect, so its own windows are the only bound on what waits. It answers no
# requests meanwhile either, which is what processes for decoding are good for.
_FIXED = {"max_waiting_sequences": 100_000_000, "max_waiting_tokens": 10_000_000_000, "decode_processes": "off"}
_DECODING: dict[str, tuple[Any, str]] = {
    "beam_size": (int, "Hypotheses kept alive; 1 is greedy search."),
    "length_penalty": (float, "Exponent p in score = sum of log-probabilities / length^p."),
    "early_stopping": (click.Choice(["true", "false", "never"]), "When beam search may stop."),
    "min_new_tokens": (int, "No end of a segment before so many tokens."),
    "max_new_tokens": (int, "Tokens per segment at most."),
    "max_length_ratio": (float, "Tokens per segment at most, times those of its source; 0 is off."),
    "stop_loops": (bool, "Stop a segment that repeats more than its source does."),
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


@click.command(short_help="Translate files, or standard input.")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--source", help="Language of the texts, by any usual code; may be left out where there is one only.")
@click.option("--target", help="Language to translate into, by any usual code; may be left out likewise.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write there, not to standard output.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice([TEXT, *FORMATS]),
    help="What the file is; by its suffix unless given, and lines of text where that is not known.",
)
@click.option(
    "--split-sentences",
    type=click.Choice(["on", "off", "nonewlines"]),
    default="on",
    show_default=True,
    help="Whether texts are cut into sentences; nonewlines joins hard-wrapped lines before that.",
)
@click.option("--protect", multiple=True, help="What must not be translated, wherever it stands; repeat for several.")
@click.option(
    "--buffer-lines",
    type=click.IntRange(1, 10_000),
    default=64,
    show_default=True,
    help="Lines of text read ahead and translated together; 1 answers each line at once.",
)
@_decoding_options
@setting_options(ENGINE_SETTINGS)
def translate(
    files: tuple[str, ...], output: Path | None, format_name: str | None, buffer_lines: int, **options: Any
) -> None:
    """Translate FILES, or standard input.

    Text is translated line by line: each line is a text of its own, and lines keep their order, number and endings.
    Any other file, known by its suffix or by --format, is translated as a document of which only the words change
    (docs/documents.md); one at a time. The output file appears only when everything is translated. `verso inspect`
    lists the languages of a package.
    """
    names = files or (STANDARD,)
    found = chosen_format(names, format_name, output)
    settings = settings_from({name: options[name] for name in ENGINE_SETTINGS} | _FIXED)
    from service.cli.document_files import translated_file
    from service.loading import open_models
    from service.scheduler.stats import NullSink
    from service.translation.translator import Translator

    with ExitStack() as stack:
        registry = open_models(settings, NullSink())
        stack.callback(registry.close, 0.0)
        template = _template(registry, options)
        write = stack.enter_context(written(output))
        translator = Translator(registry)
        if found is None:
            _translate_lines(names, translator.translate, template, buffer_lines, write)
        else:
            write(translated_file(names[0], found, translator.translate, template))


def _translate_lines(
    names: Sequence[str],
    translate: "Translate",
    template: "TranslationRequest",
    buffer_lines: int,
    write: Callable[[bytes], None],
) -> None:
    from service.cli.windows import translate_lines

    lines = read_all_lines(names)
    if template.split_sentences != "on":
        # A sentence may go on in the next line then.
        lines = paragraphs(lines)
    with progress(total_bytes(names), "B") as show:
        for line, text in translate_lines(lines, translate, template, buffer_lines):
            write((line.prefix + text + line.ending).encode("utf-8"))
            show(line.num_bytes)


def _template(registry: "Registry", options: Mapping[str, Any]) -> "TranslationRequest":
    """Makes the request that every window is sent with, its texts still missing."""
    from service.translation.translation import TranslationRequest

    source, target = options["source"], options["target"]
    if source is None or target is None:
        source, target = _only_pair(registry, source, target)
    chosen = {name: options[name] for name in _DECODING}
    if chosen["early_stopping"] in ("true", "false"):
        chosen["early_stopping"] = chosen["early_stopping"] == "true"
    return TranslationRequest(
        texts=(),
        source=source,
        target=target,
        options=PartialOptions(**chosen),
        split_sentences=options["split_sentences"],
        protect=tuple(text for text in options["protect"] if text),
    )


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
