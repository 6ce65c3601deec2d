#!/usr/bin/env python3
"""Tests haricot kick and haricot bury against any beanstalk server.

    kick_bury_test.py HARICOT SERVER [FLAG...]
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest
from operator_server import DONE, NO, USAGE


class Kick(OperatorTest):
    def bury(self, count):
        for _ in range(count):
            self.server.put("x", "mail")
            self.server.ask("watch mail", "ignore default", "reserve",
                            f"bury {int(self.server.stat('total-jobs'))} 5")

    def test_some_of_a_tube_or_all(self):
        self.bury(5)
        self.assertEqual(self.good("kick", "-t", "mail", "-n", "2"), "kicked 2\n")
        self.assertEqual(self.good_json("kick", "-t", "mail", "--all"),
                         {"kicked": 3, "not_found": []})
        self.assertEqual(self.haricot("kick", "-t", "mail", "--all")[:2], (DONE, b"kicked 0\n"))
        self.assertEqual(self.count("ready", "mail"), 5)

    def test_jobs_by_their_ids(self):
        self.bury(2)
        job = self.server.put("x", delay=100)
        self.assertEqual(self.good("kick", "2", job), "kicked 2\n")
        output = self.refused(NO, "job 2 does not exist, or is neither buried", "kick", "1", "2")
        self.assertEqual(output, "kicked 1\n")

    def test_mistakes(self):
        self.refused(USAGE, "either ids or a tube", "kick")
        self.refused(USAGE, "a tube requires --count, --all or a filter", "kick", "-t", "mail")
        self.refused(USAGE, "a tube requires --count, --all or a filter", "kick", "--all", "1")
        self.refused(DONE, "there is no tube mail", "kick", "-t", "mail", "--all")
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)


class Bury(OperatorTest):
    def test_jobs_by_their_ids_keep_their_priority(self):
        self.server.put("x", priority=77)
        self.server.put("x", delay=100)
        self.assertEqual(self.good("bury", "1", "2"), "buried 2\n")
        self.assertEqual(self.good_json("stats", "1")["state"], "buried")
        self.assertEqual(self.good_json("stats", "1")["pri"], 77)
        self.assertEqual(self.good("bury", "-p", "5", "1"), "buried 1\n")
        self.assertEqual(self.good_json("stats", "1")["pri"], 5)
        self.refused(NO, "job 9 does not exist, or a worker holds it", "bury", "9")

    def test_ready_jobs_of_a_tube(self):
        for i in range(4):
            self.server.put("x", "mail", priority=i)
        self.server.put("x")
        self.assertEqual(self.good("bury", "-t", "mail", "-n", "3"), "buried 3\n")
        self.assertEqual(self.good_json("peek", "--ready", "-t", "mail")["pri"], 3)
        self.assertEqual(self.good("bury", "-t", "mail", "--all"), "buried 1\n")
        self.assertEqual(self.count("buried", "mail"), 4)
        self.assertEqual(self.count("ready"), 1)
        self.assertEqual(self.good("bury", "-t", "mail", "--all"), "buried 0\n")

    def test_a_paused_tube_is_reported(self):
        self.server.put("x")
        self.server.ask("pause-tube default 100")
        self.refused(NO, "tube default is paused", "bury", "-t", "default", "--all")
        self.assertEqual(self.good("bury", "1"), "buried 1\n")


if __name__ == "__main__":
    unittest.main()
