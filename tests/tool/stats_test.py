#!/usr/bin/env python3
"""Tests haricot stats against any beanstalk server.

    stats_test.py HARICOT SERVER [FLAG...]
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest
from operator_server import NO, Server, USAGE, wait_until


class Stats(OperatorTest):
    def test_they_are_those_of_the_server_without_quotes(self):
        lines = dict(line.split(": ", 1) for line in self.good("stats").splitlines())
        self.assertEqual(lines["version"], self.server.stat("version"))
        self.assertEqual(lines["max-job-size"], "65535")
        self.assertEqual(lines["hostname"], self.server.stat("hostname"))

    def test_a_command_reports_when_its_server_is_foreign(self):
        kind = pathlib.Path(self.server.binary).name
        self.assertEqual(self.good("stats").splitlines()[-1], f"server: {kind}")
        self.assertEqual(self.good("stats", "-k", "server"), f"{kind}\n")
        (server,) = self.good_json("stats")["servers"]
        self.assertEqual(list(server.items())[-1], ("server", kind))
        (server,) = self.good_json("stats", "default")["servers"]
        self.assertNotIn("server", server)

    def test_json_has_numbers_where_there_are_numbers(self):
        (stats,) = self.good_json("stats")["servers"]
        self.assertEqual(stats["max-job-size"], 65535)
        self.assertIsInstance(stats["version"], str)
        self.assertIsInstance(stats["id"], str)
        self.assertIsInstance(stats["rusage-utime"], float)
        self.assertIs(stats["draining"], False)

    def test_digits_are_a_job_and_anything_else_a_tube(self):
        job = self.server.put("hello", "mail", priority=7)
        self.assertEqual(self.good_json("stats", job)["pri"], 7)
        self.assertEqual(self.good_json("stats", job)["id"], job)
        self.assertEqual(self.good_json("stats", "mail")["sum"]["current-jobs-ready"], 1)

    def test_flags_are_for_names_made_of_digits(self):
        self.server.put("x", "77")
        self.assertEqual(self.good_json("stats", "--tube", "77")["servers"][0]["name"], "77")
        self.assertEqual(self.good_json("stats", "--job", "1")["tube"], "77")

    def test_one_key_alone(self):
        self.server.put("x", "mail")
        self.assertEqual(self.good("stats", "mail", "-k", "current-jobs-ready"), "1\n")
        self.assertEqual(self.good_json("stats", "-k", "version")["servers"][0]["version"],
                         self.server.stat("version"))
        self.refused(NO, "there is no brew", "stats", "-k", "brew")

    def test_missing_things_are_reported(self):
        self.refused(NO, "there is no tube mail", "stats", "mail")
        self.refused(NO, "there is no job 5", "stats", "5")
        self.refused(USAGE, "neither a tube name nor a job id", "stats", "no name")
        self.refused(USAGE, "more than one", "stats", "a", "--job", "1")


class Keys(OperatorTest):
    def test_a_tube_that_is_gone_has_no_jobs(self):
        for key in ("ready", "current-jobs-ready", "buried", "total-jobs", "waiting"):
            self.assertEqual(self.good("stats", "gone", "--key", key), "0\n")
        self.assertEqual(self.good_json("stats", "gone", "--key", "ready"),
                         {"sum": {"current-jobs-ready": 0},
                          "servers": [{"address": self.server.address, "current-jobs-ready": 0}]})
        with Server(self.server.binary, *self.server.flags) as other:
            self.server.put("x", "mail")
            self.assertEqual(self.good("stats", "mail", "--key", "ready", "-a", self.server.address,
                                       "-a", other.address), "1\n")

    def test_a_wrong_key_of_a_missing_tube_is_reported(self):
        self.refused(NO, "there is no brew in the statistics", "stats", "gone", "--key", "brew")
        self.refused(NO, "(did you mean total-jobs?)", "stats", "gone", "--key", "total-job")
        self.refused(NO, "there is no tube gone", "stats", "gone", "--key", "name")
        self.refused(NO, "there is no tube gone", "stats", "gone")

    def test_the_oldest_job_has_a_key(self):
        self.server.put("x", "mail")
        if not self.has("stats-tube-detail"):
            self.refused(NO, "there is no oldest in the statistics", "stats", "mail", "-k", "oldest")
            return
        wait_until(lambda: self.good("stats", "mail", "--key", "oldest") != "0\n")
        self.assertEqual(self.good("stats", "gone", "--key", "oldest"), "0\n")
        self.assertEqual(self.good("stats", "mail", "--key", "queue-time-p99"), "0\n")

    def test_a_key_may_be_short(self):
        self.server.put("x", "mail")
        self.assertEqual(self.good("stats", "mail", "-k", "ready"), "1\n")
        self.assertEqual(self.good("stats", "-k", "tubes"), self.good("stats", "-k", "current-tubes"))
        self.assertEqual(self.good_json("stats", "mail", "-k", "ready")["sum"],
                         {"current-jobs-ready": 1})
        self.assertEqual(self.good_json("stats", "1", "-k", "pri"), {"pri": 1024})
        self.refused(NO, "there is no verson in the statistics (did you mean version?)", "stats",
                     "-k", "verson")


if __name__ == "__main__":
    unittest.main()
