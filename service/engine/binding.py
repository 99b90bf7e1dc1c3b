"""Binding values to a session's inputs and outputs, again only where another value takes the place."""

import onnxruntime as ort


class Binding:
    """Inputs and outputs of one session, read and written in place."""

    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session
        self._binding = session.io_binding()
        self._bound: dict[str, ort.OrtValue] = {}

    def bind_input(self, name: str, value: ort.OrtValue) -> None:
        """Makes the next runs read `value`, of whatever shape and dtype the graph takes there."""
        if self._bound.get(name) is not value:
            self._binding.bind_ortvalue_input(name, value)
            self._bound[name] = value

    def bind_output(self, name: str, value: ort.OrtValue) -> None:
        """Makes the next runs write `value`, whose shape and dtype must be the ones the graph will give."""
        if self._bound.get(name) is not value:
            self._binding.bind_ortvalue_output(name, value)
            self._bound[name] = value

    def run(self) -> None:
        """Runs the graph once."""
        self._session.run_with_iobinding(self._binding)
