"""What the server takes: memory, descriptors, disk, CPU time; and whether that stays flat."""

import dataclasses
import os
import pathlib

MIB = 1024 * 1024
IS_MEMORY_MEASURED = os.environ.get("SOAK_MEMORY") != "any"  # Under a sanitizer it means nothing.
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
        """What the jobs themselves take, with what of record, index and allocator is around a body."""
        return self.job_bytes + JOB_OVERHEAD_BYTES * self.jobs

    def row(self):
        minutes, seconds = divmod(int(self.seconds), 60)
        return (f"{minutes:>5}:{seconds:02} {self.what:<22} {self.jobs:>6} {self.memory / MIB:>5.1f} MiB "
                f"{self.descriptors:>4} {self.disk / MIB:>5.1f} MiB {self.files:>5} {self.cpu_share * 100:>4.0f} % "
                f"{self.commands:>11,}")


def cpu_seconds(pid):
    # In nanoseconds; all threads, of which there are two.
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def descriptor_count(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def folder_usage(folder):
    """Bytes on the disk and number of files; the server may tidy up meanwhile."""
    total = files = 0
    for entry in os.scandir(folder):
        try:
            total += entry.stat().st_blocks * 512
            files += 1
        except OSError:
            continue
    return total, files


class Limits:
    """What a sample may be at most, given what the server holds or, under load, has held."""

    def __init__(self, file_bytes, connections):
        self.file_bytes = file_bytes
        self.connections = connections
        self._peak = 0

    def excess(self, sample, at_rest):
        """What is wrong with the sample; empty if nothing is."""
        held = sample.held()
        self._peak = held if at_rest else max(self._peak, held)
        # The folder is to be below three files or three times the jobs. Under load it is on its way there,
        # one file with each sync; at rest it has arrived, but for a file or two.
        disk = 3 * max(held, self.file_bytes) + 2 * self.file_bytes if at_rest else 4 * self._peak + 16 * self.file_bytes
        limits = (
            ("memory", sample.memory if IS_MEMORY_MEASURED else 0, 24 * MIB + 3 * self._peak),
            ("descriptors", sample.descriptors, 56 if at_rest else self.connections + 72),
            ("disk", sample.disk, disk),
        )
        return [f"{sample.what}: {name} {value:,} is more than {most:,}"
                for name, value, most in limits if value > most]


def growth(rests):
    """What has grown between the early and the late of samples taken at rest; empty if nothing has.

    What the jobs themselves take is left out of it, and so is the first sample: what a process takes once,
    it takes then. The disk needs no look of this kind, as its limit at rest is as tight.
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
            wrong.append(f"{name} at rest has grown from {before:,.0f} to {after:,.0f}, what the jobs take left out")
    return wrong


def median(values):
    return sorted(values)[len(values) // 2]
