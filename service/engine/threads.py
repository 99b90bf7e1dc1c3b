"""How many CPUs this process may really use: affinity and the cgroup's CPU quota, whichever is less.

`os.cpu_count` and the affinity mask know nothing of a container's quota; more threads than the quota allows are
throttled and make everything slower.
"""

import math
import os
from pathlib import Path

# Narrower graphs lose more by waiting for each other's threads than they gain.
_WIDTH_PER_THREAD = 256


def threads_of_run(num_threads: int | None, model_width: int, cpus: int) -> int:
    """Returns the threads of one graph run: as asked, or one for each 256 of the model's width, at most the CPUs."""
    return num_threads or max(1, min(cpus, model_width // _WIDTH_PER_THREAD))


def decode_threads(num_decode_threads: int | None, threads_of_each: int, cpus: int) -> int:
    """Returns how many steps may run at once: as asked, or as many as the CPUs carry."""
    return num_decode_threads or max(1, cpus // threads_of_each)


def usable_cpus(root: Path = Path("/")) -> int:
    """Returns the CPUs to plan for, at least 1; `root` is where /proc and /sys are looked up."""
    quotas = [quota for quota in (_quota_v2(root), _quota_v1(root)) if quota is not None]
    return max(1, min([len(os.sched_getaffinity(0)), *(math.ceil(quota) for quota in quotas)]))


def _quota_v2(root: Path) -> float | None:
    """Reads `cpu.max` ("max 100000" or "150000 100000") of this process's cgroup and all above it."""
    base = root / "sys/fs/cgroup"
    quotas = []
    for folder in _ancestors(base, _own_cgroup(root, "")):
        words = _words(folder / "cpu.max")
        if len(words) == 2 and words[0] != "max" and float(words[1]) > 0:
            quotas.append(float(words[0]) / float(words[1]))
    return min(quotas, default=None)


def _quota_v1(root: Path) -> float | None:
    """Reads `cpu.cfs_quota_us` and `cpu.cfs_period_us`; the controller is mounted as cpu or cpu,cpuacct."""
    quotas = []
    for controller in ("cpu", "cpu,cpuacct", "cpuacct,cpu"):
        base = root / "sys/fs/cgroup" / controller
        for folder in _ancestors(base, _own_cgroup(root, controller)):
            quota, period = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
            if quota and period and float(quota[0]) > 0 and float(period[0]) > 0:
                quotas.append(float(quota[0]) / float(period[0]))
    return min(quotas, default=None)


def _own_cgroup(root: Path, controller: str) -> str:
    """Returns this process's path below the controller's mount; "" where it is unknown."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ""
    for line in lines:
        fields = line.split(":", 2)
        if len(fields) == 3 and fields[1] == controller:
            return fields[2].strip("/")
    return ""


def _ancestors(base: Path, relative: str) -> list[Path]:
    folder = base / relative
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(base))]


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
