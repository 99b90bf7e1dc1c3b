"""Where time goes between methods: each named method is charged what it takes less what the named ones inside it take.

Methods are replaced on their classes while the stopwatches run. One that is not there is left out and listed: what the
names mean may move, and a profile must still be had.
"""

import importlib
import time
from collections.abc import Callable, Mapping
from typing import Any


class Stopwatches:
    """Exclusive seconds by label.

    places: "module:Class.method" to the label it is charged to.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(places.values(), 0.0)
        self.missing: list[str] = []
        # Seconds that methods inside those under way have taken; the last entry is for the innermost.
        self._inner: list[float] = []
        for place, label in places.items():
            owner, name = _find(place)
            original = getattr(owner, name, None) if owner is not None else None
            if original is None:
                self.missing.append(place)
            else:
                setattr(owner, name, self._charged(original, label))

    def take(self) -> dict[str, float]:
        """Returns what was charged since the last time, and starts from 0 again."""
        taken = dict(self.seconds)
        self.seconds = dict.fromkeys(taken, 0.0)
        return taken

    def _charged(self, original: Callable[..., Any], label: str) -> Callable[..., Any]:
        def charged(*arguments: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            started = time.perf_counter()
            try:
                return original(*arguments, **named)
            finally:
                elapsed = time.perf_counter() - started
                self.seconds[label] += elapsed - self._inner.pop()
                if self._inner:
                    self._inner[-1] += elapsed

        return charged


def _find(place: str) -> tuple[Any, str]:
    module_name, _, path = place.partition(":")
    *owners, name = path.split(".")
    try:
        owner: Any = importlib.import_module(module_name)
    except ImportError:
        return None, name
    for part in owners:
        owner = getattr(owner, part, None)
    return owner, name
