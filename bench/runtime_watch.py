"""How long ONNX Runtime itself runs, seen from outside: its run methods are replaced by ones that look at the clock.

Nothing in the service is touched, so this holds whatever the engine does around those calls.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Literal

import onnxruntime as ort

GraphKind = Literal["encoder", "decoder"]

_RUN_METHODS = ("run", "run_with_iobinding")


class RuntimeWatch(AbstractContextManager["RuntimeWatch"]):
    """Adds up seconds of the encoder and the decoder graph while it is entered.

    Sessions are told apart by what they read: the decoder reads a token. `sessions` has the last one of each kind.
    """

    def __init__(self) -> None:
        self.seconds: dict[GraphKind, float] = {"encoder": 0.0, "decoder": 0.0}
        self.sessions: dict[GraphKind, Any] = {}
        self._kinds: dict[int, GraphKind] = {}
        self._originals: dict[str, Callable[..., Any]] = {}

    def __enter__(self) -> "RuntimeWatch":
        for name in _RUN_METHODS:
            self._originals[name] = getattr(ort.InferenceSession, name)
            setattr(ort.InferenceSession, name, self._timed(self._originals[name]))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, original in self._originals.items():
            setattr(ort.InferenceSession, name, original)

    def kind(self, session: Any) -> GraphKind:
        """Says which graph a session runs."""
        known = self._kinds.get(id(session))
        if known is None:
            names = {value.name for value in session.get_inputs()}
            known = self._kinds[id(session)] = "decoder" if "token" in names else "encoder"
            self.sessions[known] = session
        return known

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def timed(session: Any, *arguments: Any, **named: Any) -> Any:
            kind = self.kind(session)
            started = time.perf_counter()
            try:
                return original(session, *arguments, **named)
            finally:
                self.seconds[kind] += time.perf_counter() - started

        return timed
