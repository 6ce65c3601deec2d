#!/usr/bin/env python3
"""Tests haricot move as a black box, against any beanstalk server.

    move_test.py HARICOT SERVER [FLAG...]
"""

import pathlib
import signal
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_server import DONE, NO_SERVER, REFUSED, USAGE, wait_until
from transfer_case import BYTES, Relay, TransferTest


class Move(TransferTest):
    def test_a_job_keeps_its_properties(self):
        self.fill()
        self.put_bytes(BYTES, "mail")
        self.assertEqual(self.good("move", "mail", "news"), "moved 4\n")
        jobs = self.jobs()
        self.assertEqual(jobs["ready"], [("news", "ready", 7, 9, 0)])
        self.assertEqual(jobs["buried"][0][:4], ("news", "buried", 9, 11))
        self.assertEqual(len(jobs["buried"]), 1)
        (later,) = jobs["later"]
        self.assertEqual(later[:4], ("news", "delayed", 8, 60))
        self.assertTrue(900 < later[4] <= 1001, later)
        self.assertIn(BYTES.decode("latin-1"), jobs)
        self.assertNotIn("- mail", self.server.ask("list-tubes"))

    def test_some_in_the_order_of_service(self):
        for i in (3, 1, 2):
            self.server.put(f"job {i}", "mail", priority=i)
        self.server.put("later", "mail", delay=1000)
        self.assertEqual(self.good_json("move", "mail", "news", "-n", "2"),
                         {"moved": 2, "not_found": []})
        self.assertEqual({jobs[0][0] for body, jobs in self.jobs().items()
                          if body in ("job 1", "job 2")}, {"news"})
        self.assertEqual((self.count("ready", "mail"), self.count("delayed", "mail")), (1, 1))
        self.assertEqual(self.good("move", "mail", "news", "--state", "delayed"), "moved 1\n")
        self.assertEqual((self.count("ready", "mail"), self.count("delayed", "news")), (1, 1))

    def test_very_many(self):
        self.good("put", "-qlt", "mail", stdin=b"".join(b"job %d\n" % i for i in range(1500)))
        self.assertEqual(self.good("move", "mail", "news", "-q"), "")
        self.assertEqual(self.count("ready", "news"), 1500)
        bodies = [self.good("reserve", "-t", "news", "--then", "delete") for _ in range(3)]
        self.assertEqual(bodies, ["job 0", "job 1", "job 2"])

    def test_a_paused_tube_and_a_held_job(self):
        self.server.put("held")
        self.server.put("free")
        self.hold()
        self.server.ask("pause-tube default 1000")
        self.assertEqual(self.good("move", "default", "news"), "moved 1\n")
        self.assertEqual((self.count("reserved", "default"), self.count("ready", "news")), (1, 1))

    def test_a_server_that_refuses_gets_its_jobs_back(self):
        self.fill()
        before = self.jobs()
        self.server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.server.stat("draining") == "true")
        for state in ("ready", "delayed", "buried"):
            output = self.refused(REFUSED, "drain mode", "move", "mail", "news", "-s", state)
            self.assertEqual(output, "moved 0\n")
        after = self.jobs()
        self.assertEqual({body: [job[:4] for job in jobs] for body, jobs in after.items()},
                         {body: [job[:4] for job in jobs] for body, jobs in before.items()})

    def test_a_kill_at_any_point_loses_nothing(self):
        self.check_every_end("before")
        self.check_every_end("after")

    def test_a_lost_server_is_reported(self):
        self.check_every_end("cut")

    def check_every_end(self, end):
        """Ends a move at its 1st, 2nd, ... message, until one runs to its end."""
        message, twice = 1, 0
        while True:
            self.fill()
            relay = Relay(self.server, message, end)
            status, output, error = relay.run("move", "mail", "news")
            self.settle()
            jobs = self.jobs()
            self.assertEqual(set(jobs), {"ready", "later", "buried"}, (message, end))
            copies = [body for body, found in jobs.items() if len(found) > 1]
            self.assertLessEqual(len(copies), 1)
            for body in copies:
                self.assertEqual(sorted(job[0] for job in jobs[body]), ["mail", "news"])
            twice += len(copies)
            if end == "cut" and relay.was_reached:
                self.assertEqual(status, NO_SERVER, error)
                if copies:
                    self.assertRegex(error, r"is in tube mail, and|is in tube news as job \d+, and")
            for tube in ("mail", "news"):
                self.haricot("delete", "-qyt", tube, "--all")
            if not relay.was_reached:
                self.assertEqual((status, output, error), (0, "moved 3\n", ""))
                break
            message += 1
        self.assertGreater(message, 10)
        # Each job can be cut between the put and the delete; the buried one at more points.
        self.assertGreaterEqual(twice, 3)

    def test_a_ctrl_c_ends_it_between_two_jobs(self):
        for message in range(3, 12):
            self.good("put", "-qlt", "mail", stdin=b"".join(b"%d\n" % i for i in range(20)))
            relay = Relay(self.server, message, "interrupt")
            status, output, error = relay.run("move", "mail", "news")
            self.settle()
            moved = int(output.split()[1])
            self.assertEqual((status, error), (-signal.SIGINT, "haricot move: interrupted\n"))
            self.assertLess(moved, 5)
            self.assertEqual(self.count("ready", "mail"), 20 - moved)
            self.assertEqual(self.count("ready"), 20)
            for tube in ("mail", "news"):
                self.haricot("delete", "-qyt", tube, "--all")

    def test_errors_are_reported(self):
        self.refused(DONE, "there is no tube mail", "move", "mail", "news")
        self.refused(USAGE, "requires two tubes", "move", "mail")
        self.refused(USAGE, "tube mail is given twice", "move", "mail", "mail")
        self.refused(USAGE, "'-x' is not a tube name", "move", "--", "mail", "-x")
        self.refused(USAGE, "is not ready, delayed or buried", "move", "a", "b", "-s", "reserved")
        self.server.put("x", "mail", delay=100)
        self.assertEqual(self.good("move", "mail", "news", "-s", "ready"), "moved 0\n")


if __name__ == "__main__":
    unittest.main()
