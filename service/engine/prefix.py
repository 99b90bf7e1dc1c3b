"""Arrays of which ONNX Runtime reads and writes the first so many entries in place.

Making one of its values for an array costs more than binding it again, and the same few sizes come back all the time:
so a value is made once for each size.
"""

from typing import Any

import numpy.typing as npt
import onnxruntime as ort


class Prefix:
    """An array of any shape, C-contiguous, and its first entries as views and as ONNX Runtime values.

    The array lives as long as any of its values does, and never moves.
    """

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self._array = array
        self._values: dict[int, ort.OrtValue] = {}

    def __len__(self) -> int:
        return len(self._array)

    def view(self, count: int) -> npt.NDArray[Any]:
        """Returns the first `count` entries."""
        return self._array[:count]

    def value(self, count: int) -> ort.OrtValue:
        """Returns the first `count` entries as an ONNX Runtime value over the same memory."""
        value = self._values.get(count)
        if value is None:
            value = self._values[count] = ort.OrtValue.ortvalue_from_numpy(self._array[:count])
        return value
