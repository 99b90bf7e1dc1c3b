"""The command line: lines stay lines, failures are one message, and exit codes mean something."""

import asyncio
import io
import json
import subprocess
import sys
import types

import pytest
from click.testing import CliRunner

import service.loading
import service.package.package
import service.translation.translator
from service import VERSION
from service.cli import main
from service.cli.lines import Line, gather, read_lines
from service.cli.windows import translate_lines
from service.errors import DeadlineExceededError, PackageInvalidError
from service.search.options import PartialOptions
from service.translation.registry import LanguagePairInfo
from service.translation.translation import TranslationRequest
from tests.contract.scripted_backend import ScriptedRegistry, ScriptedTranslator, result_of

TEMPLATE = TranslationRequest(texts=(), source="en", target="de")


class OnePair(ScriptedRegistry):
    def languages(self):
        return (LanguagePairInfo("en", "de", "scripted"),)


@pytest.fixture
def translator():
    return ScriptedTranslator()


@pytest.fixture
def registry():
    return OnePair()


@pytest.fixture
def run(monkeypatch, translator, registry):
    monkeypatch.setattr(service.loading, "open_models", lambda settings, sink: registry)
    monkeypatch.setattr(service.translation.translator, "Translator", lambda registry: translator)

    def invoke(*arguments, **options):
        return CliRunner().invoke(main, list(arguments), **options)

    return invoke


LINES = {
    "ordinary": b"a\nb\n",
    "without a last line break": b"a\nb",
    "windows": b"a\r\nb\r\n",
    "mixed": b"a\r\n\nb\n\r\n",
    "empty": b"",
    "one break": b"\n",
    "lone returns": b"a\rb\n",
    "mark": b"\xef\xbb\xbfa\n",
    "a mark alone": b"\xef\xbb\xbf",
    "other separators": "a\u2028b\x0bc\x85d\n".encode(),
}


@pytest.mark.parametrize("content", LINES.values(), ids=LINES.keys())
def test_lines_joined_are_the_stream(content):
    lines = list(read_lines(io.BytesIO(content), "x"))
    assert "".join(line.prefix + line.text + line.ending for line in lines).encode() == content
    assert sum(line.num_bytes for line in lines) == len(content)
    assert all(line.ending in ("\n", "\r\n", "") and "\n" not in line.text for line in lines)


@pytest.mark.parametrize("content", LINES.values(), ids=LINES.keys())
def test_translating_keeps_every_line_and_its_ending(run, content):
    result = run("translate", input=content)
    assert result.exit_code == 0, result.output
    expected = b""
    for line in read_lines(io.BytesIO(content), "x"):
        expected += (line.prefix + "de:" + line.text + line.ending).encode()
    assert result.stdout_bytes == expected


def test_files_are_read_one_after_the_other(run, tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("a\n")
    second.write_text("b\n")
    assert run("translate", str(first), "-", str(second), input="c\n").stdout == "de:a\nde:c\nde:b\n"


def test_the_output_file_appears_only_when_all_went_well(run, translator, tmp_path):
    output = tmp_path / "out"
    assert run("translate", "--output", str(output), input="a\n").exit_code == 0
    assert output.read_text() == "de:a\n"
    translator.failure = DeadlineExceededError("too late")
    other = tmp_path / "other"
    assert run("translate", "--output", str(other), input="a\n").exit_code == 1
    assert list(tmp_path.iterdir()) == [output]


def test_broken_utf_8_is_named_by_its_byte(run):
    result = run("translate", input=b"ab\n\xc3\xa4c\xff\n")
    assert result.exit_code == 1
    assert result.stderr == "Error: standard input: not UTF-8 at byte 6\n"
    assert "Traceback" not in result.output


def test_options_of_the_search_reach_the_translator(run, translator):
    arguments = ["--beam-size", "4", "--length-penalty", "0.6", "--early-stopping", "true", "--max-new-tokens", "9"]
    assert run("translate", *arguments, input="a\n").exit_code == 0
    assert translator.requests[0].options == PartialOptions(
        beam_size=4, length_penalty=0.6, early_stopping=True, max_new_tokens=9
    )
    assert translator.requests[0].deadline_seconds is None
    run("translate", "--early-stopping", "never", input="a\n")
    assert translator.requests[1].options.early_stopping == "never"


def test_languages_may_be_left_out_when_there_is_one_pair_only(run, translator, registry, monkeypatch):
    run("translate", input="a\n")
    assert (translator.requests[0].source, translator.requests[0].target) == ("en", "de")
    monkeypatch.setattr(registry, "languages", ScriptedRegistry().languages)
    assert run("translate", input="a\n").exit_code == 2
    assert run("translate", "--target", "fr", input="a\n").stdout == "fr:a\n"
    assert run("translate", "--source", "de", "--target", "xx", input="a\n").stdout == "xx:a\n"


def test_a_language_that_is_given_may_be_written_as_usual(run, translator, registry, monkeypatch):
    pairs = tuple(LanguagePairInfo("eng_Latn", code, "many") for code in ("deu_Latn", "zho_Hans", "zho_Hant"))
    monkeypatch.setattr(registry, "languages", lambda: pairs)
    assert run("translate", "--target", "DE", input="a\n").stdout == "deu_Latn:a\n"
    assert run("translate", "--target", "zh-TW", input="a\n").stdout == "zho_Hant:a\n"
    several = run("translate", "--source", "en", input="a\n")
    assert (several.exit_code, "more than one pair" in several.stderr) == (2, True)
    none = run("translate", "--target", "sr", input="a\n")
    assert (none.exit_code, "no such pair" in none.stderr) == (2, True)


def test_models_are_closed_whether_it_went_well_or_not(run, translator, registry):
    run("translate", input="a\n")
    assert registry.is_closed
    registry.is_closed = False
    translator.failure = DeadlineExceededError("too late")
    assert run("translate", input="a\n").exit_code == 1
    assert registry.is_closed


def test_an_expected_failure_is_one_message_with_every_problem(run, monkeypatch):
    def fail(settings, sink):
        raise PackageInvalidError("models cannot be loaded", ["a: damaged", "b: damaged"])

    monkeypatch.setattr(service.loading, "open_models", fail)
    result = run("translate", input="a\n")
    assert result.exit_code == 1
    assert result.stderr == "Error: models cannot be loaded\n  a: damaged\n  b: damaged\n"


def test_settings_that_are_not_valid_end_with_2(run, monkeypatch):
    monkeypatch.setenv("VERSO_PROT", "1")
    for command in (["translate"], ["serve"], ["settings"]):
        result = run(*command, input="")
        assert result.exit_code == 2
        assert "VERSO_PROT: unknown setting" in result.stderr
    assert run("serve", "--no-such-option").exit_code == 2


def test_serving_without_models_says_so(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["serve", "--port", "0"])
    assert result.exit_code == 2
    assert "no model package at models" in result.output


def test_the_version_is_the_packages(run):
    assert run("--version").stdout == f"verso, version {VERSION}\n"


def test_settings_show_what_is_in_effect(run, monkeypatch):
    monkeypatch.setenv("VERSO_MAX_ROWS", "70")
    assert "VERSO_MAX_ROWS=70\n" in run("settings").stdout
    assert run("settings", "--markdown").stdout.startswith("# Configuration\n")


@pytest.mark.parametrize("command", ["serve", "translate", "inspect", "export", "settings"])
def test_every_command_explains_itself(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "[OPTIONS]" in result.stdout


def test_importing_the_command_line_loads_neither_models_nor_server():
    code = "import sys, service.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"onnxruntime", "tokenizers", "uvicorn", "fastapi"} & set(loaded)


def lines_of(count, size=1):
    return [Line("", "x" * size, "\n", size + 1) for _ in range(count)]


@pytest.mark.parametrize(
    ("lines", "sizes"),
    [
        (lines_of(0), []),
        (lines_of(7), [3, 3, 1]),
        (lines_of(4, size=50), [2, 2]),
        (lines_of(2, size=500), [1, 1]),
        ([*lines_of(1), *lines_of(1, size=500), *lines_of(2)], [1, 1, 2]),
    ],
)
def test_windows_are_bounded_in_lines_and_characters(lines, sizes):
    windows = list(gather(lines, max_lines=3, max_characters=100))
    assert [len(window) for window in windows] == sizes
    assert [line for window in windows for line in window] == lines


def test_windows_overlap_but_come_in_order():
    started, finished = [], []

    async def translate(request):
        started.append(request.texts)
        # The earlier a window, the longer it takes.
        for _ in range(20 - len(started)):
            await asyncio.sleep(0)
        finished.append(request.texts)
        return result_of(request)

    lines = [Line("", str(number), "\n", 2) for number in range(9)]
    given = [text for _, text in translate_lines(lines, translate, TEMPLATE, window_lines=2)]
    assert given == [f"de:{number}" for number in range(9)]
    assert sorted(started) == sorted(finished)


def test_with_one_line_to_a_window_each_is_answered_before_the_next_is_read():
    read = []

    def lines():
        for number in range(3):
            read.append(number)
            yield Line("", str(number), "\n", 2)

    translated = translate_lines(lines(), ScriptedTranslator().translate, TEMPLATE, window_lines=1)
    for number in range(3):
        assert next(translated)[1] == f"de:{number}"
        assert read == list(range(number + 1))


def test_a_failure_gives_the_other_windows_up():
    translator = ScriptedTranslator(failure=DeadlineExceededError("too late"))
    with pytest.raises(DeadlineExceededError):
        list(translate_lines(lines_of(100), translator.translate, TEMPLATE, window_lines=1))
    assert len(translator.requests) == 1


@pytest.mark.parametrize(("library", "extra"), [("onnx", "export"), ("sentencepiece", "export"), ("torch", "parity")])
def test_exporting_without_its_libraries_names_the_extra(run, monkeypatch, tmp_path, library, extra):
    def missing(options):
        raise ModuleNotFoundError(f"No module named {library!r}", name=library)

    module = types.ModuleType("export.run")
    module.export_checkpoint = missing
    monkeypatch.setitem(sys.modules, "export.run", module)
    result = run("export", str(tmp_path), str(tmp_path / "out"))
    assert result.exit_code == 1
    assert result.stderr == f"Error: {library} is not installed; it comes with the extra: verso[{extra}]\n"


def test_options_of_the_export_reach_the_exporter(run, monkeypatch, tmp_path):
    given = []

    def exported(options):
        given.append(options)
        return types.SimpleNamespace(folder=options.output, decisions=("it was so",), sizes_bytes={"a": 1_500_000})

    module = types.ModuleType("export.run")
    module.export_checkpoint = exported
    monkeypatch.setitem(sys.modules, "export.run", module)
    out = tmp_path / "out"
    arguments = ["--source", "en", "--target", "de", "--precision", "fp32", "--default-precision", "fp32"]
    result = run("export", str(tmp_path), str(out), *arguments, "--weight-bits", "8", "--replace")
    assert result.stdout == f"it was so\n{out}: 1.5 MB\n"
    (options,) = given
    assert (options.checkpoint, options.output) == (tmp_path, out)
    assert (options.sources, options.targets, options.precisions) == (("en",), ("de",), ("fp32",))
    assert (options.default_precision, options.weight_bits, options.replace_output) == ("fp32", 8, True)


@pytest.fixture
def package(monkeypatch, tmp_path):
    manifest = {
        "name": "en-de",
        "generation": {"beam_size": 4, "early_stopping": "never"},
        "files": {"weights.bin": {"size_bytes": 2_500_000, "sha256": "0123456789abcdef"}},
    }
    opened = types.SimpleNamespace(manifest=types.SimpleNamespace(model_dump=lambda mode: manifest))
    monkeypatch.setattr(service.package.package.ModelPackage, "open", lambda folder: opened)
    (tmp_path / "report.json").write_text('{"agreement": {"int8": 0.99}}')
    return tmp_path


def test_a_package_is_shown_with_its_report(run, package):
    assert run("inspect", str(package)).stdout == (
        "en-de: every file is present and unchanged, 2.5 MB in all\n"
        "name: en-de\n"
        "generation:\n"
        "  beam_size: 4\n"
        "  early_stopping: never\n"
        "files:\n"
        "  weights.bin: 2.5 MB, sha256 0123456789ab\n"
        "report:\n"
        "  agreement:\n"
        "    int8: 0.99\n"
    )


def test_languages_are_shown_by_name_in_a_line_each(run, package, monkeypatch):
    languages = {
        "sources": {"eng_Latn": {"prefix_ids": [256047], "suffix_ids": [2]}},
        "targets": {
            "zho_Hant": {"source_prefix_ids": [], "forced_first_id": 256201, "start_id": None},
            "de": {"source_prefix_ids": [], "forced_first_id": None, "start_id": None},
        },
    }
    opened = types.SimpleNamespace(model_dump=lambda mode: {"name": "many", "languages": languages, "files": {}})
    monkeypatch.setattr(
        service.package.package.ModelPackage, "open", lambda folder: types.SimpleNamespace(manifest=opened)
    )
    assert (
        "languages:\n"
        "  sources:\n"
        "    eng_Latn (English): prefix_ids [256047], suffix_ids [2]\n"
        "  targets:\n"
        "    zho_Hant (Chinese (Traditional)): forced_first_id 256201\n"
        "    de (German): no ids\n"
    ) in run("inspect", str(package)).stdout


def test_a_package_is_shown_to_programs_as_json(run, package):
    shown = json.loads(run("inspect", "--json", str(package)).stdout)
    assert shown["manifest"]["name"] == "en-de"
    assert shown["report"] == {"agreement": {"int8": 0.99}}


def test_a_folder_that_is_no_package_is_one_message(run, tmp_path):
    result = run("inspect", str(tmp_path / "gone"))
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
