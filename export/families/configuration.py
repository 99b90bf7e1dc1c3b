"""Reads the values of a raw config.json one by one, and collects every fault instead of stopping at the first.

Which values a network needs is the families' business. In place of a value that is wrong a stand-in is read, which must
not be used: `Findings.problems` says so in the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from export.checkpoint import Checkpoint
from export.families.spec import Activation

_ACTIVATIONS: Mapping[str, Activation] = {
    "relu": "relu",
    "silu": "swish",
    "swish": "swish",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "quick_gelu": "quick_gelu",
}

# Settings that would make any family another network, with the values at which they do not.
_SWITCHES: Mapping[str, tuple[Any, ...]] = {
    "is_decoder": (False, None),
    "is_encoder_decoder": (True, None),
    "pruned_heads": ({}, None),
    "quantization_config": (None,),
}


@dataclass
class Findings:
    """What reading a checkpoint turned up: why it cannot be exported, and what it decided."""

    problems: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)


class Configuration:
    """config.json as stored; special ids may be in generation_config.json instead.

    sizes_known: whether every count asked for so far was there, so that shapes can be told from them.
    """

    def __init__(self, checkpoint: Checkpoint, findings: Findings) -> None:
        self._config = checkpoint.config
        self._generation = checkpoint.generation
        self._findings = findings
        self.sizes_known = True

    def raw(self, name: str) -> Any:
        """A value as it is, None where there is none."""
        return self._config.get(name)

    def count(self, name: str, default: int | None = None) -> int:
        """A whole number of at least 1; a value that is null or not there is the default, if one is given."""
        value = self._config.get(name)
        if value is None and default is not None:
            self._note_default(name, default)
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.sizes_known = False
            self._findings.problems.append(f"config.json: {name} must be a whole number of at least 1, not {value!r}")
            return 1
        return value

    def has_id(self, name: str) -> bool:
        """Whether a token id is there."""
        return self._stored_id(name) is not None

    def token_id(self, name: str) -> int:
        """A token id."""
        value = self._stored_id(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self._findings.problems.append(f"config.json: {name} must be a whole number of at least 0, not {value!r}")
            return 0
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """A yes or no."""
        value = self._config.get(name)
        if value is None:
            self._note_default(name, default)
            return default
        if not isinstance(value, bool):
            self._findings.problems.append(f"config.json: {name} must be true or false, not {value!r}")
        return bool(value)

    def epsilon(self, name: str, default: float) -> float:
        """A small number above 0."""
        value = self._config.get(name)
        if value is None:
            self._note_default(name, default)
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
            self._findings.problems.append(f"config.json: {name} must be a number between 0 and 1, not {value!r}")
            return default
        return float(value)

    def activation(self, name: str) -> Activation:
        """The activation function named by a value of this name."""
        return self.activation_named(self._config.get(name), name)

    def activation_named(self, value: object, name: str) -> Activation:
        """The activation function called `value`, which the setting `name` asks for."""
        activation = _ACTIVATIONS.get(value) if isinstance(value, str) else None
        if activation is None:
            self._findings.problems.append(
                f"config.json: {name} {value!r} is not known (known: {', '.join(_ACTIVATIONS)})"
            )
            return "relu"
        return activation

    def refuse_switches(self, more: Mapping[str, tuple[Any, ...]]) -> None:
        """Notes every setting that makes the network another one; `more` are the family's own, like `_SWITCHES`."""
        for name, neutral in {**_SWITCHES, **more}.items():
            if name in self._config and self._config[name] not in neutral:
                self._findings.problems.append(f"config.json: {name} = {self._config[name]!r} is not supported")

    def _stored_id(self, name: str) -> Any:
        value = self._config.get(name)
        return self._generation.get(name) if value is None else value

    def _note_default(self, name: str, value: object) -> None:
        self._findings.decisions.append(f"config.json has no {name}: {value} is taken, as transformers does")
