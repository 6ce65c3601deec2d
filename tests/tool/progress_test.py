#!/usr/bin/env python3
"""Tests the progress of long subcommands on a terminal, and that `work` does not use up tries; against any beanstalk
server.

    progress_test.py HARICOT SERVER [FLAG...]
"""

import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL
from operator_server import DEADLINE_S, DONE, Scripted, wait_until

LEFT = r", about \d+ (s|min|h|days) left"


class ProgressTest(OperatorTest):
    def on_terminal(self, *words, address=None, stdout=None):
        """Runs the subcommand with a terminal as stdin, stderr and, by default, stdout."""
        master, slave = pty.openpty()
        process = subprocess.Popen([TOOL, "-a", address or self.server.address, *map(str, words)],
                                   stdin=slave, stdout=stdout or slave, stderr=slave)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(slave)
        self.shown = ""

        def read():
            try:
                while piece := os.read(master, 4096):
                    self.shown += piece.decode()
            except OSError:  # The other end is closed.
                pass

        thread = threading.Thread(target=read)
        thread.start()
        self.addCleanup(os.close, master)
        self.addCleanup(thread.join)
        self.addCleanup(process.kill)
        return process

    def assert_shows(self, pattern):
        wait_until(lambda: re.search(pattern, self.shown))


class Estimates(ProgressTest):
    def fill(self, count):
        self.good("put", "-q", "--lines", stdin=b"x\n" * count)

    def test_of_work(self):
        self.fill(1000)
        self.on_terminal("work", "--wait", "0", "--", "sleep", "0.05")
        self.assert_shows(r"done \d+ of 1000" + LEFT)

    def test_of_work_is_below_the_output_of_programs(self):
        self.fill(30)
        process = self.on_terminal("work", "--wait", "0", "--", "sh", "-c", "sleep 0.1; echo said")
        self.assertEqual(process.wait(DEADLINE_S), DONE)
        wait_until(lambda: "30 done, 0 released" in self.shown)
        self.assertRegex(self.shown, r"\x1b\[Kdone \d+ of 30.*\r\x1b\[K\[\d+\] said\r\n")
        # No line is mixed with the progress.
        screen = re.sub(r"[^\n]*\r\x1b\[K", "", self.shown)
        self.assertEqual(screen.count("] said\r\n"), 30)
        self.assertNotIn("of 30", screen)

    def test_of_drain(self):
        self.fill(1000)
        self.on_terminal("drain", "--interval", "100ms")
        worker = subprocess.Popen([TOOL, "-a", self.server.address, "work", "-q", "--", "sleep", "0.05"])
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        self.assert_shows(r"jobs left: \d+, \d+ %" + LEFT)

    def test_of_import(self):
        lines = b'{"tube":"a","body":"x"}\n' * 600
        with tempfile.NamedTemporaryFile() as file, SlowServer() as server:
            file.write(lines * 100)
            file.flush()
            self.on_terminal("import", file.name, address=server.address)
            self.assert_shows(r"imported \d+, \d+ %" + LEFT)

    def test_of_export(self):
        if not self.has("scan-jobs"):
            self.skipTest("the server has no scan-jobs")
        with SlowServer() as server:
            self.on_terminal("export", address=server.address, stdout=subprocess.DEVNULL)
            self.assert_shows(r"exported \d+ of 100000" + LEFT)


def slow_answer(line):
    """Returns the answer of a slow server with 100,000 jobs, which delays each page of them."""
    words = line.split()
    if not words:
        return b""
    if words[0] == "put":
        time.sleep(0.002)
        return b"INSERTED 1\r\n"
    if words[0] == "use":
        return b"USING a\r\n"
    if words[0] == "peek":
        return f"FOUND {words[1]} 1\r\nx\r\n".encode()
    body = "---\ncurrent-jobs-ready: 100000\nversion: 1.13\n"
    if words[0] == "scan-jobs":
        time.sleep(0.2)
        first = int(words[1])
        jobs = "".join(f"- id: {first + i}\n  tube: a\n  state: ready\n  bytes: 1\n" for i in range(100))
        body = f"---\nnext: {first + 100}\njobs:\n{jobs}"
    if words[0] == "capabilities":
        body = "---\n" + "".join(f"- {tag}\n" for tag in ("try", "con", "idp", "grp", "aft"))
    return f"OK {len(body)}\r\n{body}\r\n".encode()


class SlowServer(Scripted):
    def __init__(self):
        # The body of a put is a line of its own, without an answer.
        super().__init__(lambda line: b"" if line == "x" else slow_answer(line))


class Slowdown(ProgressTest):
    def tries(self, *words):
        """Returns the number of programs that fail in three seconds, if workers always find a job."""
        worker = subprocess.Popen([TOOL, "-a", self.server.address, "work", "--delay", "0", *words, "--",
                                   "false"], stderr=subprocess.PIPE)
        self.addCleanup(worker.stderr.close)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        wait_until(lambda: self.releases() > 0)
        time.sleep(3)
        worker.terminate()
        self.error = worker.communicate(timeout=DEADLINE_S)[1].decode()
        return self.releases()

    def releases(self):
        return int(self.server.stat("cmd-release"))

    def test_programs_that_all_fail_are_started_ever_more_rarely(self):
        for _ in range(20):
            self.server.put("x")
        self.assertLess(self.tries("-j", "4"), 30)
        self.assertEqual(self.error.count("10 programs in a row have failed: slowing down"), 1)

    def test_bad_jobs_do_not_slow_good_ones_down(self):
        self.good("put", "-q", "--lines", stdin=b"false\n" * 100 + b"true\n")
        begin = time.monotonic()
        status, _, error = self.haricot("work", "--wait", "0", "--tries", "1", "--bury-on", "1", "--",
                                        "sh", "-c", 'test "$1" = true', "sh", "{}")
        self.assertNotIn("slowly", error)
        self.assertIn("1 done, 0 released, 100 buried", error)
        self.assertLess(time.monotonic() - begin, DEADLINE_S)
        self.assertEqual(status, 7)


if __name__ == "__main__":
    unittest.main()
