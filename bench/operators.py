"""ONNX Runtime's own profile of a graph, added up by kind of operator and by part of the network."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.spread import median

_KERNEL = "_kernel_time"
_RUN = "model_run"
# Nodes are named decoder/LAYER/PART/..., or decoder/PART/... outside the layers.
_PART = re.compile(r"^(?:decoder|encoder)/(?:\d+/)?(?P<part>[a-z_]+)")


@dataclass(frozen=True, slots=True)
class OperatorTimes:
    """Seconds of a run, by kind of operator, and by part of the network and kind; a node counts with its median."""

    num_runs: int
    by_kind: dict[str, float]
    by_part: dict[tuple[str, str], float]

    @property
    def total(self) -> float:
        """Seconds of all operators."""
        return sum(self.by_kind.values())


def operator_times(events: Iterable[Mapping[str, Any]]) -> OperatorTimes:
    """Adds up the events of a profile file; raises ValueError if it has no run."""
    durations: dict[tuple[str, str], list[float]] = defaultdict(list)
    num_runs = 0
    for event in events:
        name = str(event.get("name", ""))
        if name == _RUN:
            num_runs += 1
        elif event.get("cat") == "Node" and name.endswith(_KERNEL):
            durations[name, str(event["args"]["op_name"])].append(1e-6 * float(event["dur"]))
    if not num_runs:
        raise ValueError("the profile holds no run")
    by_kind: dict[str, float] = defaultdict(float)
    by_part: dict[tuple[str, str], float] = defaultdict(float)
    for (name, kind), values in durations.items():
        # Nodes without a name share an empty one, and then come several times a run.
        seconds = median(values) * len(values) / num_runs
        by_kind[kind] += seconds
        by_part[part_of(name), kind] += seconds
    return OperatorTimes(num_runs, dict(by_kind), dict(by_part))


def part_of(name: str) -> str:
    """Returns the part of the network a node belongs to by its name; "other" where the name does not say."""
    found = _PART.match(name)
    return found["part"] if found else "other"


def largest(times: Mapping[Any, float], count: int) -> list[tuple[Any, float]]:
    """Returns the largest entries, and what remains under "others"."""
    ordered = sorted(times.items(), key=lambda item: -item[1])
    rest = sum(seconds for _, seconds in ordered[count:])
    return [*ordered[:count], *([("others", rest)] if rest else [])]
