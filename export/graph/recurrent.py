"""Emits a decoder layer's recurrent unit: one new token per row, and one vector that stands for all tokens before it.

A state belongs to a row as cached keys and values do, but does not grow with the row. Like those, it means nothing
while the row has no past, so a row may begin anywhere without anything being cleared.
"""

from dataclasses import dataclass

import numpy as np

from export.families.spec import RecurrentKeys
from export.graph.sublayers import Parts


@dataclass(frozen=True, slots=True)
class State:
    """Names of one layer's state, float32 [R, E], before and after the step."""

    past: str
    present: str


def rows_with_past(parts: Parts, position: str) -> str:
    """Which rows, of `position` int32 [R], have a past, bool [R, 1]; empty where no layer has a recurrent unit."""
    builder = parts.builder
    if not any(isinstance(layer.attention, RecurrentKeys) for layer in parts.spec.keys.decoder):
        return ""
    has_past = builder.node("Greater", [position, builder.weight("beginning", np.int32(0))], "has_past")
    return builder.node("Unsqueeze", [has_past, builder.integers(1)], "has_past")


def recurrent_unit(parts: Parts, value: str, keys: RecurrentKeys, state: State, has_past: str) -> str:
    """The simpler simple recurrent unit (SSRU) of Kim et al. 2019 for rows [R, E]; the row's state goes on.

    f = sigmoid(forget(x)); state = f * state + (1 - f) * candidate(x); the output is output(relu(state)). The state of
    a row without a past is zeros whatever stands there.
    """
    builder = parts.builder
    projections = parts.weights.side_by_side((keys.candidate, keys.forget))
    packed = parts.linear.apply(value, projections, "projection")
    candidate, gate = builder.nodes("Split", [packed], 2, "parts", axis=1, num_outputs=2)
    forget = builder.node("Sigmoid", [gate], "forget")
    past = builder.node("Where", [has_past, state.past, builder.weight("no_past", np.float32(0))], "past")
    kept = builder.node("Mul", [forget, builder.node("Sub", [past, candidate], "difference")], "kept")
    builder.nodes("Add", [candidate, kept], [state.present], "state")
    active = builder.node("Relu", [state.present], "active")
    return active if keys.output is None else parts.linear.apply(active, parts.weights.linear(keys.output), "output")
