"""A system under test with every process it starts: stopped, continued, ended and looked at as one group.

Verso decodes in processes of its own, so what its first process does alone says little.
"""

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# See prctl(2).
_PR_SET_PDEATHSIG = 1
_PROPORTIONAL = Path("/proc/self/smaps_rollup")


def lead_group() -> None:
    """Makes this process the leader of a group of its own, to which all that it starts will belong.

    The kernel ends it when the process that started it ends, also while it is stopped. Members that are stopped when
    their leader ends get SIGHUP and SIGCONT, as in any group that has lost its last tie to its session: they end too.
    """
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A process that called `lead_group`, by its id, and all that it has started."""

    leader: int

    def pause(self) -> None:
        """Stops all of them, so that they disturb nobody."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets them continue."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Ends whichever of them are left."""
        self._signal(signal.SIGKILL)

    def members(self) -> list[int]:
        """Ids of all of them, from /proc."""
        ids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
        return [pid for pid in ids for stat in _content(pid, "stat") if group_of(stat) == self.leader]

    def memory_bytes(self) -> int:
        """Memory they have in use, from /proc: what `memory_measure` says, added up."""
        if _PROPORTIONAL.exists():
            return sum(map(proportional_bytes, self._contents("smaps_rollup")))
        return sum(map(resident_bytes, self._contents("statm")))

    def processor_seconds(self) -> float:
        """Processor time they have used so far, from /proc; that of ended processes counts with who started them."""
        return sum(map(processor_seconds, self._contents("stat")))

    def _contents(self, name: str) -> Iterator[str]:
        return (content for pid in self.members() for content in _content(pid, name))

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.leader, number)


def memory_measure() -> str:
    """Names what memory is counted by: a page that several processes share counts once in all, where Linux tells."""
    return "proportional set sizes" if _PROPORTIONAL.exists() else "resident set sizes"


def proportional_bytes(rollup: str) -> int:
    """Reads the proportional set size of /proc/PID/smaps_rollup."""
    (line,) = (line for line in rollup.splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) * 1024


def resident_bytes(statm: str) -> int:
    """Reads the second number of /proc/PID/statm, which counts pages."""
    return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(stat: str) -> float:
    """Reads user and system time of /proc/PID/stat, its own and that of children it has waited for."""
    return sum(map(int, _fields(stat)[11:15])) / os.sysconf("SC_CLK_TCK")


def group_of(stat: str) -> int:
    """Reads the id of the process group of /proc/PID/stat."""
    return int(_fields(stat)[2])


def _fields(stat: str) -> list[str]:
    """Returns what follows the name, which may hold spaces: the state and on."""
    return stat.rpartition(")")[2].split()


def _content(pid: int, name: str) -> list[str]:
    """Reads a file of /proc/PID; gives nothing when the process has ended meanwhile."""
    try:
        return [Path(f"/proc/{pid}/{name}").read_text()]
    except (FileNotFoundError, ProcessLookupError):
        return []
