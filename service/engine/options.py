"""How a model's graphs are run."""

from dataclasses import dataclass
from typing import Literal

Provider = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Chosen once, when a model is loaded.

    precision: one of the package's; None takes the package's default.
    num_threads: of each graph run; None chooses by the model's width and the CPUs this process may use.
    num_decode_threads: steps that run at once, each over a batch of its own; None uses the CPUs that are left.
    in_processes: whether each of them has a process of its own, with weights of its own; None if those are small.
    provider: "auto" is the CPU; "cuda" fails unless ONNX Runtime really runs there.
    spin_microseconds: how long pool threads wait actively for the next operator before they sleep.
    """

    precision: str | None = None
    num_threads: int | None = None
    num_decode_threads: int | None = None
    in_processes: bool | None = False
    provider: Provider = "auto"
    spin_microseconds: int = 200
