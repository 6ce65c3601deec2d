#!/usr/bin/env python3
"""Tests haricot wait as a black box.

    wait_test.py HARICOT SERVER [FLAG...]
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import FLAGS, OperatorTest, TOOL
from operator_server import DEADLINE_S, DONE, LOCAL, NO, NO_SERVER, REFUSED, USAGE, wait_until

BURIED = 7


class Without(OperatorTest):
    """Tests a server without wait-job."""

    def test_it_is_reported(self):
        if self.has("wait-job"):
            self.skipTest("the server has wait-job")
        complaint = "does not know wait-job: it is beanstalkd " + self.server.stat("version")
        job = self.server.put("x")
        self.assertEqual(self.refused(REFUSED, complaint, "wait", job), "")
        self.assertEqual(self.refused(REFUSED, complaint, "wait", "-w", "0", job, "99"), "")


class Wait(OperatorTest):
    def setUp(self):
        super().setUp()
        if not self.has("wait-job"):
            self.skipTest("the server has no wait-job")

    def wait(self, *words):
        """Starts the tool, and returns when it waits."""
        process = subprocess.Popen([TOOL, "-a", self.server.address, "wait", *map(str, words)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: self.waits() or process.poll() is not None)
        return process

    def waits(self):
        return "state: waiting" in self.server.ask("list-clients 1 100")

    def end(self, process):
        output, error = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(error, "")
        return process.returncode, output

    def test_it_lasts_until_the_job_is_deleted(self):
        job = self.server.put("x")
        process = self.wait(job)
        self.hold().close()  # The job is ready again, which does not end the wait.
        self.bury(job)
        self.assertEqual(self.end(process), (BURIED, f"{job} buried\n"))
        self.good("kick", job)
        process = self.wait(job, "--wait", "1h")
        self.good("delete", job)
        self.assertEqual(self.end(process), (DONE, f"{job} deleted\n"))

    def bury(self, job):
        self.good("bury", job)
        return job

    def test_each_job_has_a_line(self):
        first, second, third, buried = (self.server.put("x") for _ in range(4))
        self.bury(buried)
        process = self.wait(first, second, third, buried)
        # The wait for this job is over before its turn.
        self.assertEqual(process.stdout.readline(), f"{buried} buried\n")
        self.good("delete", second)
        self.bury(third)
        self.good("delete", first)
        self.assertEqual(self.end(process), (BURIED, f"{first} deleted\n{second} deleted\n"
                                             f"{third} buried\n"))

    def test_a_job_that_has_ended_before_is_no_failure(self):
        job = self.server.put("x")
        self.good("delete", job)
        printed = f"haricot wait: job {job} was deleted before, or never put\n"
        self.assertEqual(self.haricot("wait", job), (DONE, f"{job} not found\n".encode(), printed))
        self.assertEqual(self.haricot("wait", "-q", job), (DONE, b"", ""))
        self.assertEqual(self.good_json("wait", job), {"id": job, "end": "not_found"})

    def test_the_status_is_the_worst_one(self):
        there, buried = self.server.put("x"), self.bury(self.server.put("x"))
        for words, status, output in (
                ((buried,), BURIED, f"{buried} buried\n"),
                ((buried, there), NO, f"{buried} buried\n{there} still there\n"),
                ((there, there), NO, f"{there} still there\n" * 2)):
            self.assertEqual(self.haricot("wait", "-w", "0", *words), (status, output.encode(), ""))
            self.assertEqual(self.haricot("wait", "-qw0", *words), (status, b"", ""))
        status, output, _ = self.haricot("wait", "--json", "-w", "10ms", there, buried, 4711)
        self.assertEqual((status, [json.loads(line) for line in output.splitlines()]),
                         (NO, [{"id": buried, "end": "buried"}, {"id": 4711, "end": "not_found"},
                               {"id": there, "end": "still_there"}]))

    def test_hundreds_of_jobs(self):
        jobs = [self.server.put("x") for _ in range(3)]
        process = self.wait(*jobs, *range(1000, 2200))
        for job in jobs:
            self.good("delete", job)
        output, error = process.communicate(timeout=DEADLINE_S)
        self.assertEqual((process.returncode, len(output.splitlines())), (DONE, 1203))
        self.assertEqual(error, "haricot wait: 1200 jobs were deleted before, or never put\n")
        self.assertEqual(output.splitlines()[-3:], [f"{job} deleted" for job in jobs])

    def test_mistakes(self):
        self.refused(USAGE, "requires ids of jobs", "wait")
        for word in ("mail", "1a", "18446744073709551616"):
            self.refused(USAGE, f"'{word}' is not a job id", "wait", word)
        self.refused(USAGE, "is not a time", "wait", "-w", "x", "1")
        self.assertEqual(self.haricot("wait", 2**64 - 1)[:2], (DONE, b"18446744073709551615 not found\n"))

    def test_a_lost_server_is_reported_at_once(self):
        job = self.server.put("x")
        process = self.wait(job)
        self.server.process.kill()
        output, error = process.communicate(timeout=DEADLINE_S)
        self.assertEqual((process.returncode, output), (NO_SERVER, ""))
        self.assertIn("the server closed the connection during wait-job", error)

    def test_it_outlives_a_restart_that_keeps_the_connections(self):
        with tempfile.TemporaryDirectory() as folder:
            socket = folder + "/take-over"
            self.server.stop()
            self.server.flags = (*FLAGS, "--take-over-socket", socket)
            self.server.start()
            first, second = self.server.put("x"), self.server.put("x")
            process = self.wait(first, second)
            old = self.server.process
            self.server.flags = (*FLAGS, "--take-over", socket)
            self.server.start()
            self.assertEqual(old.wait(DEADLINE_S), DONE)
            self.good("delete", second, first)
            self.assertEqual(self.end(process), (DONE, f"{first} deleted\n{second} deleted\n"))

    def test_a_silent_server_is_reported(self):
        job = self.server.put("x")
        os.kill(self.server.process.pid, signal.SIGSTOP)
        try:
            self.refused(NO_SERVER, "the server sent nothing in time", "wait", "-T", "0.1", job)
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)

    def test_signals_end_it(self):
        job = self.server.put("x")
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.wait(job)
            process.send_signal(number)
            self.assertEqual(self.end(process), (-number, ""))
            wait_until(lambda: not self.waits())

    def test_a_closed_pipe_ends_it(self):
        first, second = self.server.put("x"), self.server.put("x")
        process = self.wait(first, second)
        process.stdout.close()
        self.good("delete", first)
        self.assertEqual(process.wait(DEADLINE_S), LOCAL)


if __name__ == "__main__":
    unittest.main()
