#!/usr/bin/env python3
"""Tests haricot work when it loses its server.

    work_lost_test.py HARICOT SERVER [FLAG...]
"""

import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import BINARY, FLAGS
from operator_server import DONE, NO_SERVER, Server, wait_until
from work_test import BURIED, WAITER, WorkTest, is_alive


class LostServer(WorkTest):
    def restart(self):
        if os.path.exists(self.server.path):
            os.unlink(self.server.path)
        self.server.start()

    def test_it_reconnects_and_reports_jobs_that_may_run_twice(self):
        self.server.put("x")
        tool = self.start("-c", "2", "--", "sh", "-c", WAITER)
        program = self.process_of(1)
        self.server.stop()
        first = tool.stderr.readline()
        self.assertIn("the program of job 1 continues, and the server releases the job to other workers",
                      first)
        self.assertTrue(is_alive(program))
        self.go()
        self.assertEqual(tool.stderr.readline(),
                         "haricot work: the program of job 1 exited with status 0, but the job was no "
                         "longer reserved: it may be done twice\n")
        self.restart()
        self.server.put("y")
        status, output, error = self.result(tool)
        self.assertEqual((status, output), (DONE, "[1] ready\n[1] ready\n"))
        self.assertEqual(error[-1], "haricot work: 1 done, 0 released, 0 buried, 1 may be done twice")
        self.assertEqual(self.states(), [0, 0, 0, 0])

    def test_a_waiting_worker_reconnects(self):
        tool = self.start("-j", "2", "-c", "1", "--", "true")
        wait_until(lambda: self.server.stat("current-waiting") == "1")
        self.server.stop()
        self.assertIn(": reconnecting", tool.stderr.readline())
        self.restart()
        self.server.put("y")
        status, _, error = self.result(tool)
        self.assertEqual(status, DONE)
        self.assertEqual(error, [f"haricot work: {self.server.address} answers again",
                                 "haricot work: 1 done, 0 released, 0 buried"])

    def test_a_job_of_another_binlog_with_the_same_id_is_left_alone(self):
        self.server.put("x")
        tool = self.start("-j", "2", "-c", "2", "--plain", "--", "sh", "-c", "cat; " + WAITER)
        self.process_of(1)
        self.server.stop()
        self.restart()
        self.assertEqual(self.server.put("another one"), 1)
        self.server.put("third")
        # An idle worker reserves job 1 of this server while the program of the first job 1 runs.
        wait_until(lambda: self.good_json("stats", "1")["state"] == "reserved")
        self.go()
        status, output, error = self.result(tool)
        self.assertEqual(status, DONE)
        self.assertEqual(output.count("ready\n"), 2)
        self.assertIn("another one", output)
        self.assertEqual(error[-1], "haricot work: 1 done, 0 released, 0 buried, 1 may be done twice")
        self.assertEqual(self.states(), [1, 0, 0, 0])
        self.assertEqual(self.server.ask("peek 2").split("\r\n")[1], "third")

    def test_tries_are_counted_on_while_the_server_is_started_again(self):
        with tempfile.TemporaryDirectory() as folder, Server(BINARY, *FLAGS, "-b", folder) as server:
            self.server = server
            server.put("x")
            printed = []
            for _ in range(2):
                printed += self.work("-c1", "-w0", "--tries", "4", "-d0", "--", "false")[1]
                server.stop()
                self.restart()
            printed += self.work("-w0", "--tries", "4", "-d0", "--", "false", ends=BURIED)[1]
            # beanstalkd counts a job's reserves only since its start.
            tries = 4 if pathlib.Path(BINARY).name == "haricotd" else 6
            self.assertEqual(sum("program exited with status 1: " in line for line in printed), tries, printed)
            self.assertEqual(self.states(), [0, 0, 0, 1])

    def test_with_a_limit_it_gives_up(self):
        self.server.put("x")
        tool = self.start("--wait", "1", "--", "sh", "-c", WAITER)
        self.process_of(1)
        self.server.stop()
        self.go()
        self.assertEqual(self.result(tool)[0], NO_SERVER)


if __name__ == "__main__":
    unittest.main()
