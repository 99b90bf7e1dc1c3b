"""Settings come from flags and the environment, and everything wrong with them is said at once."""

import re
from pathlib import Path

import pytest

from service.errors import SettingsError
from service.loading import package_folders
from service.settings import Settings, flag, load_settings, variable
from service.settings_page import default_text, render_settings_page

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


@pytest.fixture
def environment(monkeypatch):
    def put(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return put


def problems_of(flags=None):
    with pytest.raises(SettingsError) as caught:
        load_settings(flags)
    return caught.value.problems


def test_without_anything_given_the_defaults_hold():
    settings = load_settings()
    assert settings.models == (Path("models"),)
    assert settings.keep_alive_seconds == 75


def test_a_flag_wins_over_the_environment(environment):
    environment(VERSO_PORT="1", VERSO_MAX_ROWS="70")
    settings = load_settings({"port": "2"})
    assert (settings.port, settings.max_rows) == (2, 70)


def test_an_empty_variable_is_ignored(environment):
    environment(VERSO_PORT="", VERSO_MODELS="", VERSO_PRECISION="")
    settings = load_settings()
    assert (settings.port, settings.models, settings.precision) == (8080, (Path("models"),), None)


@pytest.mark.parametrize(
    ("given", "models"),
    [("a", ("a",)), ("a,b", ("a", "b")), (("a", "b,c"), ("a", "b", "c")), ("a,,b,", ("a", "b"))],
)
def test_models_are_paths_with_commas_or_repeated(given, models):
    assert load_settings({"models": given}).models == tuple(map(Path, models))


def test_auto_leaves_threads_and_precision_open(environment):
    environment(VERSO_THREADS="auto", VERSO_PRECISION="auto")
    assert load_settings().threads is None
    assert load_settings({"threads": "3", "precision": "fp32"}).threads == 3


def test_every_problem_of_both_sources_is_listed(environment):
    environment(VERSO_PROT="1", VERSO_PORT="99999", VERSO_SOMETHING="x")
    problems = problems_of({"max_rows": "none", "drain_delay_seconds": "nan", "models": ","})
    assert sorted(problem.split(":")[0] for problem in problems) == [
        "VERSO_DRAIN_DELAY_SECONDS (--drain-delay-seconds)",
        "VERSO_MAX_ROWS (--max-rows)",
        "VERSO_MODELS (--models)",
        "VERSO_PORT (--port)",
        "VERSO_PROT",
        "VERSO_SOMETHING",
    ]
    assert "VERSO_PROT: unknown setting; did you mean VERSO_PORT?" in problems


def test_a_value_is_never_repeated(environment):
    environment(VERSO_PORT="canary7f3a", VERSO_LOG_LEVEL="canary7f3a", VERSO_THREADS="canary7f3a")
    problems = problems_of({"provider": "canary7f3a", "max_timeout_seconds": "canary7f3a"})
    assert len(problems) == 5
    assert "canary7f3a" not in "".join(problems)


def test_the_default_timeout_is_within_the_maximum():
    problems = problems_of({"max_timeout_seconds": "10"})
    assert problems == ("VERSO_DEFAULT_TIMEOUT_SECONDS: at most VERSO_MAX_TIMEOUT_SECONDS",)


def test_names_with_a_size_or_a_duration_carry_its_unit():
    kinds = {name: str(field.annotation) for name, field in Settings.model_fields.items()}
    measured = [name for name, kind in kinds.items() if ("int" in kind or "float" in kind) and "Literal" not in kind]
    unit = re.compile(r"_(seconds|microseconds|bytes|tokens|characters|rows|sequences|texts)$|^port$|threads$")
    assert [name for name in measured if not unit.search(name)] == []


def test_the_page_of_settings_is_fresh():
    assert PAGE.read_text(encoding="utf-8") == render_settings_page(), (
        "write it anew: verso settings --markdown > docs/configuration.md"
    )


def test_the_page_shows_every_setting_with_flag_and_default():
    page = render_settings_page()
    for name, field in Settings.model_fields.items():
        assert f"### `{variable(name)}`" in page
        assert f"`{flag(name)}`" in page
        assert f"Default: `{default_text(field.default)}`" in page


def test_every_default_written_as_text_reads_back_as_itself():
    for name, field in Settings.model_fields.items():
        assert getattr(load_settings({name: default_text(field.default)}), name) == field.default


def test_a_path_is_a_package_or_a_folder_of_packages(tmp_path):
    for name in ("b", "a", "empty"):
        (tmp_path / name).mkdir()
    for name in ("b", "a"):
        (tmp_path / name / "manifest.json").touch()
    a, b = tmp_path / "a", tmp_path / "b"
    assert package_folders([tmp_path]) == (a, b)
    assert package_folders([b, tmp_path]) == (b, a)


def test_every_path_without_a_package_is_named(tmp_path):
    with pytest.raises(SettingsError) as caught:
        package_folders([tmp_path / "gone", tmp_path])
    assert [str(tmp_path) in problem for problem in caught.value.problems] == [True, True]
