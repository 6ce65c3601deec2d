"""Measures memory, descriptors, disk and CPU time of the server, and checks their limits and growth."""

import dataclasses
import os
import pathlib

MIB = 1024 * 1024
IS_MEMORY_MEASURED = os.environ.get("SOAK_MEMORY") != "any"  # Meaningless under a sanitizer.
PAGE = os.sysconf("SC_PAGESIZE")
JOB_OVERHEAD_BYTES = 300
CPU_SHARE_AT_REST_MAX = 0.05


@dataclasses.dataclass
class Sample:
    seconds: float
    what: str
    jobs: int
    job_bytes: int
    memory: int
    descriptors: int
    disk: int
    files: int
    cpu_share: float
    commands: int

    HEADING = f"{'time':>8} {'':<22} {'jobs':>6} {'memory':>9} {'fds':>4} {'disk':>9} {'files':>5} {'CPU':>6} {'commands':>11}"

    def held(self):
        """Returns the bytes of all jobs: bodies, and the overhead of records, indexes and the allocator."""
        return self.job_bytes + JOB_OVERHEAD_BYTES * self.jobs

    def row(self):
        minutes, seconds = divmod(int(self.seconds), 60)
        return (f"{minutes:>5}:{seconds:02} {self.what:<22} {self.jobs:>6} {self.memory / MIB:>5.1f} MiB "
                f"{self.descriptors:>4} {self.disk / MIB:>5.1f} MiB {self.files:>5} {self.cpu_share * 100:>4.0f} % "
                f"{self.commands:>11,}")


def cpu_seconds(pid):
    # Sum over all threads. schedstat counts nanoseconds.
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def descriptor_count(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def folder_usage(folder):
    """Returns the bytes on disk and the number of files. The server may remove files meanwhile."""
    total = files = 0
    for entry in os.scandir(folder):
        try:
            total += entry.stat().st_blocks * 512
            files += 1
        except OSError:
            continue
    return total, files


class Limits:
    """Limits for samples. They depend on the current jobs, or under load on the most jobs so far."""

    def __init__(self, file_bytes, connections):
        self.file_bytes = file_bytes
        self.connections = connections
        self._peak = 0

    def excess(self, sample, at_rest):
        """Returns a text for each limit that the sample exceeds."""
        held = sample.held()
        self._peak = held if at_rest else max(self._peak, held)
        # The target size of the folder is three files or three times the jobs. Under load the server removes one file
        # with each sync until then; at rest it has reached the target, except for a file or two.
        disk = 3 * max(held, self.file_bytes) + 2 * self.file_bytes if at_rest else 4 * self._peak + 16 * self.file_bytes
        limits = (
            ("memory", sample.memory if IS_MEMORY_MEASURED else 0, 24 * MIB + 3 * self._peak),
            ("descriptors", sample.descriptors, 56 if at_rest else self.connections + 72),
            ("disk", sample.disk, disk),
        )
        return [f"{sample.what}: {name} {value:,} exceeds {most:,}"
                for name, value, most in limits if value > most]


def growth(rests):
    """Returns a text for each value that has grown between the early and the late samples at rest.

    Ignores the bytes of the jobs, and the first sample, because a process allocates some memory only once. The disk is
    not checked, because its limit at rest is as strict.
    """
    rests = rests[1:]
    if len(rests) < 4:
        return []
    quarter = max(len(rests) // 4, 2)
    wrong = []
    for name, slack, value in (("memory", 6 * MIB, lambda sample: sample.memory - 1.2 * sample.held()),
                               ("descriptors", 4, lambda sample: sample.descriptors)):
        before = median([value(sample) for sample in rests[:quarter]])
        after = median([value(sample) for sample in rests[-quarter:]])
        if after > before + slack and (IS_MEMORY_MEASURED or name != "memory"):
            wrong.append(f"{name} at rest grew from {before:,.0f} to {after:,.0f}, without the bytes of the jobs")
    return wrong


def median(values):
    return sorted(values)[len(values) // 2]
