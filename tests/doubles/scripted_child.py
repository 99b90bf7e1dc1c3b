"""A decode process without a model: python -m tests.doubles.scripted_child DESCRIPTOR

Whatever starts with one of the ids below is decoded in a way of its own.
"""

import time
from types import SimpleNamespace

from service.errors import EngineError
from service.scheduler import child
from tests.doubles.scripted_engine import ScriptedEngine

# Every step beside it takes STEP_SECONDS; the engine fails; what is around the engine fails; its values are no numbers.
SLOW, FAILING, FAULTY, BROKEN = 101, 102, 103, 104
STEP_SECONDS = 0.02
SECRET = "canary7f3a"


class OddEngine(ScriptedEngine):
    """A ScriptedEngine that does what sources ask of it."""

    precision, provider, num_threads = "scripted", "none", 1

    def __init__(self) -> None:
        super().__init__(max_length=2048)

    def encode(self, sources):
        firsts = {int(source[0]) for source in sources}
        if FAILING in firsts:
            raise EngineError(f"scripted failure of {SECRET}")
        if FAULTY in firsts:
            raise KeyError(SECRET)
        memories = super().encode(sources)
        self.broken_sources.update(memory for memory in memories if memory[0] == BROKEN)
        return memories

    def step(self, inputs):
        if any(memory[0] == SLOW for held in self._memories.values() for memory in held):
            time.sleep(STEP_SECONDS)
        return super().step(inputs)


if __name__ == "__main__":
    child.ModelPackage = SimpleNamespace(open=lambda folder: folder)
    child.Engine = lambda package, options, max_rows: OddEngine()
    child.main()
