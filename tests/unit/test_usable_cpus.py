"""CPU quotas of both cgroup versions, on made-up file trees."""

import os

import pytest

from service.engine.threads import usable_cpus


def tree(root, files):
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return root


@pytest.fixture(autouse=True)
def _eight_cpus(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, 8),
        ({"sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2),
        ({"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"sys/fs/cgroup/cpu.max": "3200000 100000\n"}, 8),
        (
            {
                "proc/self/cgroup": "0::/kubepods/pod1/c1\n",
                "sys/fs/cgroup/kubepods/pod1/cpu.max": "300000 100000\n",
                "sys/fs/cgroup/kubepods/pod1/c1/cpu.max": "max 100000\n",
            },
            3,
        ),
        (
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            4,
        ),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 8),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "250000\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
    ],
)
def test_the_quota_bounds_the_cpus(tmp_path, files, expected):
    assert usable_cpus(tree(tmp_path, files)) == expected


def test_affinity_bounds_the_cpus(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3})
    assert usable_cpus(tree(tmp_path, {"sys/fs/cgroup/cpu.max": "400000 100000\n"})) == 1
