"""Measures the memory of jobs and connections, and the memory that is left after jobs are deleted."""

import dataclasses
import time

import loads
from servers import Server

GIVEN_BACK_SECONDS = 10
GIVEN_BACK_BYTES = 30_000_000


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure whose target is an absolute limit, which it must not exceed."""
    text: str
    unit: str
    limit: float
    value: float
    compared: float = None  # The figure of beanstalkd.
    note: str = ""

    @property
    def is_met(self):
        return self.value <= self.limit


def bytes_a_job(tool, binary, jobs, *flags):
    with Server(binary, *flags) as server:
        result = loads.run(tool, server, "--workload", "put", "-n", jobs, "--warm-up=0", "--depth", 100, "-c", 1,
                           "--keep")["server"]
    return (result["resident_behind"] - result["resident_at_first"]) / jobs


def bytes_an_idle_connection(tool, binary, connections):
    with Server(binary) as server:
        result = loads.run(tool, server, "--idle-connections", connections, "-c", 1, "-n", 100,
                           "--warm-up=0")["server"]
    return (result["resident_before"] - result["resident_at_first"]) / connections


def left_over(tool, binary, jobs):
    """Puts and deletes jobs. Returns the resident bytes afterwards, and the seconds until they were below the limit."""
    with Server(binary) as server:
        loads.run(tool, server, "--workload", "put", "-n", jobs, "--body-size", 200, "--depth", 100, "-c", 1,
                  "--warm-up=0")  # Without --keep, so that all jobs are deleted.
        started = time.monotonic()
        while True:
            resident, waited = server.resident(), time.monotonic() - started
            if resident < GIVEN_BACK_BYTES or waited > GIVEN_BACK_SECONDS:
                return resident, waited
            time.sleep(0.1)


def measure(tool, haricotd, beanstalkd, quick, log):
    jobs = 200_000 if quick else 1_000_000
    connections = 2_000 if quick else 10_000
    beanstalkd_jobs = 100_000  # Enough for a figure per job, and beanstalkd is slow.
    log("memory of a job")
    yield Figure(f"{jobs:,} ready jobs of 100 bytes", "bytes per job", 180,
                 bytes_a_job(tool, haricotd, jobs), bytes_a_job(tool, beanstalkd, beanstalkd_jobs))
    log("memory of an idle connection")
    yield Figure(f"{connections:,} idle connections", "bytes each", 584,
                 bytes_an_idle_connection(tool, haricotd, connections),
                 bytes_an_idle_connection(tool, beanstalkd, connections))
    log("memory given back")
    resident, waited = left_over(tool, haricotd, jobs)
    compared, _ = left_over(tool, beanstalkd, beanstalkd_jobs)
    yield Figure(f"after {jobs:,} jobs of 200 bytes were put and deleted", "MB", 30,
                 resident / 1e6, compared / 1e6,
                 f"after {waited:.1f} s; beanstalkd with {beanstalkd_jobs:,} jobs")
