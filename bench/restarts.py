"""Measures the time in which a server restores its jobs, and the memory of a binlog."""

import pathlib
import socket
import statistics
import tempfile
import time

import loads
from memory import Figure, bytes_a_job
from servers import Server

ROUNDS = 3
TIMES_FASTER = 8
BYTES_MORE_A_JOB = 24


def fill(tool, binary, folder, jobs, body_bytes=100):
    """Writes a binlog with `jobs` jobs of that size."""
    with Server(binary, "-b", str(folder), "-F") as server:
        loads.run(tool, server, "--workload", "put", "-n", jobs, "--warm-up=0", "--depth", 100, "-c", 1, "--keep",
                  "--body-size", body_bytes)


def seconds_to_answer(binary, folder):
    """Returns the time from the start of the process to its first answer. The files are in the page cache."""
    started = time.monotonic()
    with Server(binary, "-b", str(folder), "-F") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"list-tube-used\r\n")
            assert client.recv(100) == b"USING default\r\n"
            return time.monotonic() - started


def restart_seconds(tool, binaries, parent, jobs, body_bytes, rounds, log):
    """Returns the median restart times {name: seconds} of servers that take turns."""
    folders, samples = {}, {}
    for name, binary in binaries.items():
        log(f"restart: {jobs:,} jobs of {body_bytes:,} bytes for {name}")
        folders[name] = pathlib.Path(parent) / name
        folders[name].mkdir()
        fill(tool, binary, folders[name], jobs, body_bytes)
        samples[name] = []
    for _ in range(rounds):
        for name, binary in binaries.items():
            samples[name].append(seconds_to_answer(binary, folders[name]))
    return {name: statistics.median(values) for name, values in samples.items()}


def measure(tool, haricotd, beanstalkd, folder, quick, log):
    scale = 0.05 if quick else 1
    jobs = int(1_000_000 * scale)
    both = {"haricotd": haricotd, "beanstalkd": beanstalkd}
    for count, body_bytes, rounds in ((jobs, 100, ROUNDS), (jobs, 2000, ROUNDS - 1)):
        with tempfile.TemporaryDirectory(dir=folder) as parent:
            times = restart_seconds(tool, both, parent, count, body_bytes, rounds, log)
        mine, other = times["haricotd"], times["beanstalkd"]
        if body_bytes == 100:
            of_a_million = other
        yield Figure(f"restart with {count:,} jobs of {body_bytes:,} bytes", "s",
                     other / TIMES_FASTER, mine, other,
                     f"each on its own files; {other / mine:.1f} times as fast, target {TIMES_FASTER}")
    # beanstalkd would need minutes to put these, so its time is ten times that for a tenth of the jobs.
    with tempfile.TemporaryDirectory(dir=folder) as parent:
        mine = restart_seconds(tool, {"haricotd": haricotd}, parent, 10 * jobs, 100, 1,
                                  log)["haricotd"]
    other = 10 * of_a_million
    yield Figure(f"restart with {10 * jobs:,} jobs of 100 bytes", "s", other / TIMES_FASTER, mine,
                 other, f"beanstalkd: ten times a tenth of them; {other / mine:.1f} times as fast")
    log("memory of a job with a binlog")
    without = bytes_a_job(tool, haricotd, jobs)
    with tempfile.TemporaryDirectory(dir=folder) as parent:
        more = bytes_a_job(tool, haricotd, jobs, "-b", parent, "-F") - without
    yield Figure("memory added by -b", "bytes per job", BYTES_MORE_A_JOB + 0.5, more, None,
                 f"the target is {BYTES_MORE_A_JOB}, and half a byte for the data that all jobs share")
