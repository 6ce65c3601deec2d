"""Measures the size of a binlog folder relative to its living jobs, and the CPU time of compaction."""

import contextlib
import os
import pathlib
import tempfile
import time

from memory import Figure
from servers import Server
from stalls import Client

BODY = b"x" * 100
RECORD_BYTES = 193  # Size of the record of a job with this body in the tube default (docs/binlog.md).
FILE_BYTES = 10 * 1024 * 1024  # The default of -s.
FILES_MAX = 4
TIMES_LIVE_MAX = 2
BATCH = 500
LONG_EVERY = 100
# Limits the CPU time instead of the rate, which the client determines here. 85 % of the rate is 1.18 times the time.
CPU_RATIO_MAX = 1.18
SAMPLE_EVERY = 100 * BATCH
# The files of the last deleted jobs are removed after the next syncs.
SETTLED_AFTER_SECONDS = 1


def folder_bytes(folder):
    """Returns the size of the files, without spares. A file may be removed meanwhile."""
    total = 0
    for path in pathlib.Path(folder).glob("binlog.*"):
        if path.suffix != ".tmp":
            with contextlib.suppress(FileNotFoundError):
                total += path.stat().st_size
    return total


def numbers(client):
    """Returns two counters of `stats`: records written, and those of them that compaction has written."""
    report = client.run(b"stats\r\n", 50)
    rows = dict(line.split(b": ", 1) for line in report.split(b"\n") if b": " in line)
    return tuple(int(rows[b"binlog-records-" + key]) for key in (b"written", b"migrated"))


class Load:
    """A server with a binlog, and its only client, which therefore knows the next id."""

    def __init__(self, haricotd, folder):
        self.folder = folder
        self.server = Server(haricotd, "-b", folder)
        self.client = Client(self.server)
        self.next_id = 1
        self.largest = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.server.stop()

    def put(self, count):
        self.client.run(b"put 0 0 600 %d\r\n%s\r\n" % (len(BODY), BODY) * count, count)
        self.next_id += count

    def put_and_delete(self, jobs, long_every):
        """Puts `jobs` jobs and deletes them, except one in `long_every` (0: none). Returns CPU us per command."""
        started = self.cpu_seconds()
        commands = 0
        while commands < 2 * jobs:
            first = self.next_id
            self.put(BATCH)
            short = [i for i in range(first, first + BATCH) if not long_every or i % long_every]
            self.client.run(b"".join(b"delete %d\r\n" % i for i in short), len(short))
            commands += 2 * BATCH
            if commands % SAMPLE_EVERY == 0:
                self.sample()
        return (self.cpu_seconds() - started) / commands * 1e6

    def release_again(self, jobs, times):
        """Reserves and releases each of `jobs` jobs with a delay, `times` times. Returns CPU us per command."""
        started = self.cpu_seconds()
        for _ in range(times):
            for first in range(1, jobs + 1, BATCH):
                ids = range(first, first + BATCH)
                # Three lines for each job, because the answer to a reserve has the body.
                self.client.run(b"".join(b"reserve-job %d\r\nrelease %d 0 1000\r\n" % (i, i)
                                         for i in ids), 3 * BATCH)
            self.sample()
        return (self.cpu_seconds() - started) / (2 * jobs * times) * 1e6

    def cpu_seconds(self):
        """Returns the user and system time of all threads."""
        words = pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def sample(self):
        self.largest = max(self.largest, folder_bytes(self.folder))

    def folder_figure(self, text, live, note):
        written, migrated = numbers(self.client)
        time.sleep(SETTLED_AFTER_SECONDS)
        live_bytes = live * RECORD_BYTES
        limit = max(TIMES_LIVE_MAX * live_bytes, FILES_MAX * FILE_BYTES)
        return Figure(f"{text}: files", "MB on disk", limit / 1e6, folder_bytes(self.folder) / 1e6, None,
                      f"{live_bytes / 1e6:.1f} MB live, files up to {self.largest / 1e6:.0f} MB under load;"
                      f" compaction wrote {migrated / written:.1%} of the records{note}")


def measure(haricotd, folder, quick, log):
    scale = 0.05 if quick else 1
    jobs, delayed, times = int(5_000_000 * scale), int(100_000 * scale), 20
    log(f"space: {jobs:,} short jobs, one in {LONG_EVERY} kept")
    costs = []
    for long_every in (0, LONG_EVERY):
        with tempfile.TemporaryDirectory(dir=folder) as inside, Load(haricotd, inside) as load:
            costs.append(load.put_and_delete(jobs, long_every))
            if long_every:
                text = f"{jobs:,} short jobs, one in {LONG_EVERY} kept"
                yield load.folder_figure(text, jobs // LONG_EVERY, "")
                yield Figure(f"{text}: CPU per command", "us", CPU_RATIO_MAX * costs[0], costs[1], None,
                             f"without kept jobs {costs[0]:.3f} us")
    log(f"space: {delayed:,} jobs are released with a delay {times} times")
    with tempfile.TemporaryDirectory(dir=folder) as inside, Load(haricotd, inside) as load:
        for _ in range(delayed // BATCH):
            load.put(BATCH)
        cost = load.release_again(delayed, times)
        yield load.folder_figure(f"{delayed:,} jobs released with a delay {times} times", delayed,
                                 f"; {cost:.3f} us of CPU per command")
