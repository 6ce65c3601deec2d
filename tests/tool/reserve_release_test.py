#!/usr/bin/env python3
"""Tests haricot reserve and haricot release against any beanstalk server.

    reserve_release_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL
from operator_server import DONE, LOCAL, NO, NO_SERVER, USAGE, wait_until


class Reserve(OperatorTest):
    def state(self, job):
        return self.good_json("stats", job)["state"]

    def test_it_prints_a_job_and_gives_it_back(self):
        self.server.put("body\n\x00", priority=9)
        status, output, error = self.haricot("reserve")
        self.assertEqual((status, output, error), (DONE, b"body\n\x00", ""))
        wait_until(lambda: self.state(1) == "ready")
        job = self.good_json("stats", "1")
        self.assertEqual((job["pri"], job["reserves"], job["releases"]), (9, 1, 0))

    def test_then_deletes_buries_or_releases(self):
        for i in range(4):
            self.server.put(f"job {i + 1}", "mail", priority=i + 1)
        self.assertEqual(self.good("reserve", "-t", "mail", "--then", "delete"), "job 1")
        self.refused(NO, "there is no job 1", "stats", "1")
        self.assertEqual(self.good("reserve", "-t", "mail", "--then", "bury"), "job 2")
        job = self.good_json("stats", "2")
        self.assertEqual((job["state"], job["pri"]), ("buried", 2))
        self.assertEqual(
            self.good("reserve", "-t", "mail", "--then", "release", "-d", "5m", "-p", "77"), "job 3")
        job = self.good_json("stats", "3")
        self.assertEqual((job["state"], job["pri"], job["delay"]), ("delayed", 77, 300))
        self.assertEqual(self.good("reserve", "-t", "mail", "--then", "release", "--id"), "4\n")
        job = self.good_json("stats", "4")
        self.assertEqual((job["state"], job["pri"], job["releases"]), ("ready", 4, 1))

    def test_json_has_job_and_body(self):
        self.server.put("body", "mail")
        job = self.good_json("reserve", "-t", "mail", "--then", "delete")
        self.assertEqual((job["id"], job["tube"], job["body"]), (1, "mail", "body"))
        self.assertEqual((job["state"], job["reserves"]), ("reserved", 1))

    def test_tubes_can_be_several(self):
        self.server.put("a", "a", priority=2)
        self.server.put("b", "b", priority=1)
        self.server.put("c")
        words = ["reserve", "-t", "a", "-t", "b", "--then", "delete", "--wait", "0"]
        self.assertEqual(self.good(*words), "b")
        self.assertEqual(self.good(*words), "a")
        self.refused(NO, "there is no ready job", *words)
        self.assertEqual(self.good("reserve", "-t", "a", "-t", "default", "--then", "delete"), "c")

    def test_it_waits_for_a_job(self):
        self.refused(NO, "there is no ready job", "reserve", "--wait", "3s", "-T", "2s")
        tool = subprocess.Popen([TOOL, "-a", self.server.address, "reserve", "--then", "delete"],
                                stdout=subprocess.PIPE)
        wait_until(lambda: self.server.stat("current-waiting") == "1")
        self.server.put("late")
        self.assertEqual(tool.communicate()[0], b"late")
        self.assertEqual(tool.returncode, DONE)

    def test_a_job_that_was_not_written_is_not_deleted(self):
        self.server.put("x" * 100)
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([TOOL, "reserve", "--then", "delete", "-a", self.server.address],
                                   stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(ended.returncode, LOCAL)
        self.assertIn(b"cannot write to stdout", ended.stderr)
        wait_until(lambda: self.state(1) == "ready")

    def test_a_lost_server_is_reported_at_once(self):
        tool = subprocess.Popen([TOOL, "reserve", "-a", self.server.address],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: self.server.stat("current-waiting") == "1")
        self.server.stop()
        self.assertIn(b"closed the connection", tool.communicate()[1])
        self.assertEqual(tool.returncode, NO_SERVER)

    def test_mistakes(self):
        self.refused(USAGE, "is not delete, bury or release", "reserve", "--then", "drop")
        self.refused(USAGE, "--delay requires --then release", "reserve", "-d", "5")
        self.refused(USAGE, "--delay requires", "reserve", "-d", "5", "--then", "bury")
        self.refused(USAGE, "--priority requires", "reserve", "-p", "5", "--then", "delete")
        self.refused(USAGE, "is not a tube name", "reserve", "no name")


class Release(OperatorTest):
    def test_it_moves_jobs_without_a_holder(self):
        self.server.put("x", priority=5)
        self.server.put("x", priority=6, delay=500)
        self.server.put("x", priority=7)
        self.assertEqual(self.good("bury", "3"), "buried 1\n")
        self.assertEqual(self.good("release", "2", "3"), "released 2\n")
        jobs = [self.good_json("stats", job) for job in (1, 2, 3)]
        self.assertEqual([job["state"] for job in jobs], ["ready"] * 3)
        self.assertEqual([job["pri"] for job in jobs], [5, 6, 7])
        self.assertEqual(self.good("release", "-q", "1", "--delay", "1h", "-p", "9"), "")
        job = self.good_json("stats", "1")
        self.assertEqual((job["state"], job["pri"], job["delay"]), ("delayed", 9, 3600))

    def test_a_job_of_a_worker_stays_with_it(self):
        self.server.put("x")
        self.hold()
        output = self.refused(NO, "job 1 does not exist, or a worker holds it", "release", "1", "--json")
        self.assertEqual(json.loads(output), {"released": 0, "not_found": [1]})
        self.refused(USAGE, "requires ids of jobs", "release")


if __name__ == "__main__":
    unittest.main()
