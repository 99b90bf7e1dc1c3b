"""`verso inspect`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click


@click.command(short_help="Show what a model package holds.")
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object with manifest and report.")
def inspect(package: Path, as_json: bool) -> None:
    """Check a model package (every file's size and checksum) and show its manifest and verification report."""
    from service.package.package import ModelPackage

    manifest = ModelPackage.open(package).manifest.model_dump(mode="json")
    report = _report(package)
    if as_json:
        click.echo(json.dumps({"manifest": manifest, "report": report}, indent=2, ensure_ascii=False))
        return
    total = sum(entry["size_bytes"] for entry in manifest["files"].values())
    click.echo(f"{manifest['name']}: every file is present and unchanged, {_megabytes(total)} in all")
    for line in _lines(_with_languages_named(manifest)):
        click.echo(line)
    if report:
        click.echo("report:")
        for line in _lines(report, "  "):
            click.echo(line)


def _report(package: Path) -> dict[str, Any]:
    path = package / "report.json"
    if not path.is_file():
        return {}
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


def _with_languages_named(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a manifest whose languages have their names and take one line each; there may be hundreds."""
    from service.api.language_names import language_name

    named = {
        side: {f"{code} ({language_name(code)})": _settings_line(settings) for code, settings in languages.items()}
        for side, languages in manifest.get("languages", {}).items()
    }
    return {name: named if name == "languages" else value for name, value in manifest.items()}


def _settings_line(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items() if value not in (None, [])) or "no ids"


def _lines(values: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Writes nested values as an indented outline; checksums are cut, files show their sizes."""
    for name, value in values.items():
        if isinstance(value, Mapping) and set(value) == {"size_bytes", "sha256"}:
            yield f"{indent}{name}: {_megabytes(value['size_bytes'])}, sha256 {value['sha256'][:12]}"
        elif isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        else:
            yield f"{indent}{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
