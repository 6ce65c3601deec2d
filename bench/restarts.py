"""How long a server takes to bring jobs back, and what a binlog costs in memory."""

import pathlib
import socket
import statistics
import tempfile
import time

import loads
from memory import Figure, bytes_a_job
from servers import Server

ROUNDS = 3
TIMES_FASTER = 6
BYTES_MORE_A_JOB = 24


def fill(tool, binary, folder, jobs):
    """Leaves a binlog with so many jobs of 100 bytes."""
    with Server(binary, "-b", str(folder), "-F") as server:
        loads.run(tool, server, "--workload", "put", "-n", jobs, "--warm-up=0", "--depth", 100, "-c", 1, "--keep")


def seconds_to_answer(binary, folder):
    """From the start of the process to its first answer. The files are in the kernel's cache."""
    started = time.monotonic()
    with Server(binary, "-b", str(folder), "-F") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"list-tube-used\r\n")
            assert client.recv(100) == b"USING default\r\n"
            return time.monotonic() - started


def measure(tool, haricotd, beanstalkd, folder, quick, tell):
    jobs = 200_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory(dir=folder) as parent:
        folders = {}
        for name, binary in (("haricotd", haricotd), ("beanstalkd", beanstalkd)):
            tell(f"restart: {jobs:,} jobs for {name}")
            folders[name] = pathlib.Path(parent) / name
            folders[name].mkdir()
            fill(tool, binary, folders[name], jobs)
        samples = {"haricotd": [], "beanstalkd": []}
        for _ in range(ROUNDS):
            for name, binary in (("haricotd", haricotd), ("beanstalkd", beanstalkd)):
                samples[name].append(seconds_to_answer(binary, folders[name]))
    mine, other = (statistics.median(samples[name]) for name in ("haricotd", "beanstalkd"))
    yield Figure(f"{jobs:,} jobs of 100 bytes are back after", "s", other / TIMES_FASTER, mine, other,
                 f"each on its own files; {other / mine:.1f} times as fast, target {TIMES_FASTER}")
    tell("memory of a job with a binlog")
    without = bytes_a_job(tool, haricotd, jobs)
    with tempfile.TemporaryDirectory(dir=folder) as parent:
        more = bytes_a_job(tool, haricotd, jobs, "-b", parent, "-F") - without
    yield Figure("a job more with -b", "bytes", BYTES_MORE_A_JOB + 0.5, more, None,
                 f"the target is {BYTES_MORE_A_JOB}; half a byte for what all jobs share")
