"""Binding numpy buffers to a session's inputs and outputs, again only when one has moved or changed shape."""

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

Array = npt.NDArray[np.generic]


class Binding:
    """Inputs and outputs of one session, read and written in place.

    Every array must be C-contiguous; it is kept alive while it is bound.
    """

    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session
        self._binding = session.io_binding()
        self._bound: dict[str, tuple[Array, int, tuple[int, ...]]] = {}

    def bind_input(self, name: str, array: Array) -> None:
        """Makes the next runs read `array`, of whatever shape and dtype the graph takes there."""
        if self._moved(name, array):
            self._binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

    def bind_output(self, name: str, array: Array) -> None:
        """Makes the next runs write `array`, whose shape and dtype must be the ones the graph will give."""
        if self._moved(name, array):
            self._binding.bind_output(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

    def run(self) -> None:
        """Runs the graph once."""
        self._session.run_with_iobinding(self._binding)

    def _moved(self, name: str, array: Array) -> bool:
        place = (array.ctypes.data, array.shape)
        known = self._bound.get(name)
        if known is not None and known[1:] == place:
            return False
        self._bound[name] = (array, *place)
        return True
