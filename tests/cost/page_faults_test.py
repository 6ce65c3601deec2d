#!/usr/bin/env python3
"""Counts the page faults of haricotd in the steady state: no command causes one.

    page_faults_test.py ROOT HARICOT HARICOTD

The memory of deleted jobs is used for new ones, with or without a binlog, and also for large bodies. A server that
allocates and returns memory of the system for each command has a page fault for each.
"""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT, TOOL, HARICOTD = map(pathlib.Path, sys.argv[1:4])
del sys.argv[1:4]
sys.path.insert(0, str(ROOT / "bench"))

import loads
from servers import Server

MINOR_FAULTS_AT = 7  # Index of the word after the program's name in /proc/PID/stat.


def faults(server):
    text = pathlib.Path(f"/proc/{server.pid}/stat").read_text()
    return int(text.rpartition(")")[2].split()[MINOR_FAULTS_AT])


class PageFaults(unittest.TestCase):
    def check(self, rounds, share_max, load, *server_flags):
        """Checks that at most this share of the commands causes a page fault, after a first run that allocates
        memory."""
        with Server(HARICOTD, *server_flags) as server:
            seen = []
            for _ in range(3):
                before = faults(server)
                loads.run(TOOL, server, "--workload", "cycle", "--warm-up=0", "-n", rounds, *load)
                seen.append(faults(server) - before)
        # The best of the other runs counts, because rare work such as a new file is not part of a command.
        self.assertLessEqual(min(seen[1:]), 3 * rounds * share_max, f"{seen} of {3 * rounds} commands")

    def test_one_command_at_a_time(self):
        self.check(20_000, 0.002, ("--connections=4",))

    def test_batches(self):
        self.check(50_000, 0.002, ("--connections=4", "--depth=64"))

    def test_batches_with_a_binlog(self):
        for sync in ("0", "50"):
            with self.subTest(sync=sync), tempfile.TemporaryDirectory() as folder:
                self.check(50_000, 0.005, ("--connections=4", "--depth=64"), "-b", folder, "-f", sync)

    def test_large_bodies(self):
        self.check(2_000, 0.05, ("--connections=4", "--depth=4", "--body-size=61440"))

    def test_bodies_that_are_mapped_each_by_itself(self):
        # One of them has 245 pages.
        self.check(300, 1, ("--connections=4", "--body-size=1000000"), "-z", "2000000")


if __name__ == "__main__":
    unittest.main()
