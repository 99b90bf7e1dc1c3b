"""Saying what is wrong with which field, in the words of the schema only.

A caller's keys and values never come back: unknown names are answered with the known ones, and long lists of faults are
cut, so that an answer stays small whatever was sent.
"""

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

MAX_PROBLEMS = 20


def field_problems(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Writes each fault as `path: problem`, without repetition, MAX_PROBLEMS at most."""
    names = _field_names(model)
    details = error.errors(include_url=False, include_context=False, include_input=False)
    problems = list(dict.fromkeys(_problem(detail["loc"], detail["type"], detail["msg"], names) for detail in details))
    if len(problems) > MAX_PROBLEMS:
        return [*problems[:MAX_PROBLEMS], "body: has more problems than are listed"]
    return problems


def _problem(location: tuple[int | str, ...], kind: str, message: str, names: dict[str, list[str]]) -> str:
    known = {name for listed in names.values() for name in listed}
    if kind == "extra_forbidden":
        path = _path(location[:-1], known)
        fields = names.get(path, names[""])
        return f"{path or 'body'}: has an unknown field; known are {', '.join(fields)}"
    return f"{_path(location, known) or 'body'}: {message.removeprefix('Value error, ')}"


def _path(location: Iterable[int | str], known: set[str]) -> str:
    """Joins the parts that the schema knows; union members, which pydantic adds, and foreign names are left out."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part in known:
            path += f".{part}" if path else part
    return path


def _field_names(model: type[BaseModel], path: str = "") -> dict[str, list[str]]:
    """Lists the field names of a model and the models inside it, by path."""
    names = {path: list(model.model_fields)}
    for name, field in model.model_fields.items():
        for inner in _models_in(field.annotation):
            names |= _field_names(inner, f"{path}.{name}" if path else name)
    return names


def _models_in(annotation: Any) -> Iterable[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
