#!/usr/bin/env python3
"""Tests haricot export against any beanstalk server.

    export_test.py HARICOT SERVER [FLAG...]
"""

import base64
import json
import pathlib
import signal
import socket
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_server import DEADLINE_S, NO, REFUSED, USAGE, wait_until
from transfer_case import BYTES, TransferTest


class Export(TransferTest):
    def setUp(self):
        super().setUp()
        if not self.has("scan-jobs"):
            self.server.put("x")
            self.refused(REFUSED, "does not know scan-jobs: it is beanstalkd 1.", "export")
            self.skipTest("the server cannot list jobs")

    def lines(self, *words):
        return [json.loads(line) for line in self.good("export", *words).splitlines()]

    def test_it_has_each_job_with_its_body(self):
        self.fill()
        self.put_bytes(BYTES, "news")
        before = self.server.ask("stats").split("cmd-")[0].split("---")[1]
        jobs = self.lines()
        self.assertEqual([job["id"] for job in jobs], [1, 2, 3, 4])
        self.assertEqual([job["body"] for job in jobs[:3]], ["ready", "later", "buried"])
        self.assertEqual([job["state"] for job in jobs], ["ready", "delayed", "buried", "ready"])
        self.assertEqual((jobs[0]["pri"], jobs[0]["ttr"], jobs[0]["tube"]), (7, 9, "mail"))
        self.assertIn("body_base64", jobs[3])
        self.assertEqual(self.server.ask("stats").split("cmd-")[0].split("---")[1], before)
        self.assertEqual([job["id"] for job in self.lines("news", "mail")], [4, 1, 2, 3])

    def test_its_output_can_be_imported(self):
        self.fill()
        self.put_bytes(BYTES, "news")
        self.server.put('"quotes" \\ and \u00e4', "12")
        self.server.put("held")
        worker = self.hold()
        before = self.jobs()
        text = self.good("export").encode()
        worker.close()
        for tube in ("mail", "news", "12", "default"):
            wait_until(lambda: self.count("reserved") == 0)
            self.haricot("delete", "-qyt", tube, "--all")
        self.assertEqual(self.good("import", "--dry-run", stdin=text), "good 6\n")
        self.assertEqual(self.good("import", stdin=text), "imported 6\n")
        after = self.jobs()
        self.assertEqual(set(after), set(before))
        self.assertEqual(after.pop("held"), [("default", "ready", 1024, 60, 0)])
        (later,) = after.pop("later")
        self.assertTrue(900 < later[4] <= 1000, later)
        for body, (job,) in after.items():
            self.assertEqual(job[:4], before[body][0][:4])

    def test_very_many_and_large_ones(self):
        self.good("put", "-ql", stdin=b"".join(b"job %d\n" % i for i in range(2500)))
        for letter in "abcdefghijklmnopqrstuvwxyz":
            self.server.put(letter * 65000, "large")
        self.assertEqual(len(self.lines()), 2526)
        self.assertEqual([len(job["body"]) for job in self.lines("large")], [65000] * 26)

    def test_nothing_is_no_mistake_and_no_tube_is_one(self):
        self.assertEqual(self.good("export"), "")
        self.server.put("x")
        self.assertEqual(self.refused(NO, "there is no tube mail", "export", "default", "mail"), "")
        self.refused(USAGE, "tube a is given twice", "export", "a", "a")

    def test_a_lost_server_is_reported(self):
        self.assertIn(100, self.export_with_cuts(150))


class ExportById(TransferTest):
    """Tests the slow way, which every server supports."""

    def lines(self, *words):
        return [json.loads(line) for line in self.good("export", "--by-id", *words).splitlines()]

    def state(self):
        """Returns a monitor's view of the jobs and tubes, without counters of commands."""
        return (self.server.ask("stats").split("cmd-")[0].split("---")[1],
                sorted(self.server.ask("list-tubes").split("---")[1].splitlines()))

    def test_it_has_each_job_with_its_body_and_changes_none(self):
        self.fill()
        self.put_bytes(BYTES, "news")
        self.server.put("held", priority=0)
        worker = self.hold()
        before = self.state()
        jobs = self.lines()
        self.assertEqual([job["id"] for job in jobs], [1, 2, 3, 4, 5])
        self.assertEqual([job.get("body") for job in jobs], ["ready", "later", "buried", None, "held"])
        self.assertEqual([job["state"] for job in jobs],
                         ["ready", "delayed", "buried", "ready", "reserved"])
        self.assertEqual((jobs[0]["pri"], jobs[0]["ttr"], jobs[0]["tube"]), (7, 9, "mail"))
        self.assertEqual(base64.b64decode(jobs[3]["body_base64"]), BYTES)
        self.assertEqual([job["reserves"] for job in jobs], [0, 0, 1, 0, 1])
        self.assertEqual([job["id"] for job in self.lines("news", "mail")], [1, 2, 3, 4])
        self.assertEqual(self.state(), before)
        worker.close()

    def test_its_output_can_be_imported(self):
        self.fill()
        self.server.put("12", "12")
        before = self.jobs()
        text = self.good("export", "-i").encode()
        for tube in ("mail", "12"):
            self.haricot("delete", "-qyt", tube, "--all")
        self.assertEqual(self.good("import", stdin=text), f"imported {len(before)}\n")
        after = self.jobs()
        self.assertTrue(900 < after.pop("later")[0][4] <= 1000)
        before.pop("later")
        self.assertEqual({body: jobs[0][:4] for body, jobs in after.items()},
                         {body: jobs[0][:4] for body, jobs in before.items()})

    def test_old_jobs_below_many_ids_that_have_gone(self):
        self.server.put("the first", "mail")
        self.good("put", "-ql", stdin=b"".join(b"job %d\n" % i for i in range(4500)))
        self.server.put("in between", "mail")
        self.good("put", "-ql", stdin=b"".join(b"job %d\n" % i for i in range(2500)))
        self.haricot("delete", "-qyt", "default", "--all")
        wanted = [(1, "the first"), (4502, "in between")]
        self.assertEqual([(job["id"], job["body"]) for job in self.lines()], wanted)
        self.good("put", "-ql", stdin=b"".join(b"job %d\n" % i for i in range(1500)))
        self.assertEqual([(job["id"], job["body"]) for job in self.lines("mail")], wanted)
        self.assertEqual(len(self.lines()), 1502)

    def test_the_newest_jobs_are_found_without_a_walk_to_the_oldest_ids(self):
        self.good("put", "-ql", stdin=b"x\n" * 6000)
        self.haricot("delete", "-qyt", "default", "--all")
        self.server.put("new", "mail")
        asked = int(self.server.stat("cmd-stats-job"))
        self.assertEqual([job["body"] for job in self.lines()], ["new"])
        self.assertLess(int(self.server.stat("cmd-stats-job")) - asked, 1100)

    def test_a_server_in_drain_mode_gives_all_its_jobs(self):
        self.good("put", "-ql", stdin=b"x\n" * 2500)
        self.server.put("last", "mail")
        self.server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.server.stat("draining") == "true")
        before = self.state()
        self.assertEqual([job["id"] for job in self.lines()], list(range(1, 2502)))
        self.assertEqual([job["body"] for job in self.lines("mail")], ["last"])
        self.assertEqual(self.state(), before)

    def test_jobs_that_stay_are_written_while_others_come_and_go(self):
        self.good("put", "-qlt", "mail", stdin=b"".join(b"job %d\n" % i for i in range(3000)))
        is_over = threading.Event()

        def come_and_go():
            with socket.socket(socket.AF_UNIX) as client, client.makefile("rb") as answers:
                client.connect(self.server.path)
                while not is_over.is_set():
                    client.sendall(b"put 0 0 60 1\r\nx\r\n")
                    client.sendall(b"delete %s\r\n" % answers.readline().split()[1])
                    answers.readline()

        other = threading.Thread(target=come_and_go)
        other.start()
        try:
            for words in (), ("mail",):
                found = [job["body"] for job in self.lines(*words) if job["tube"] == "mail"]
                self.assertEqual(found, [f"job {i}" for i in range(3000)])
        finally:
            is_over.set()
            other.join(DEADLINE_S)

    def test_without_the_flag_a_remedy_is_reported(self):
        self.server.put("x")
        self.assertEqual(self.lines("default")[0]["body"], "x")
        self.refused(NO, "there is no tube mail", "export", "--by-id", "mail")
        if not self.has("scan-jobs"):
            output = self.refused(REFUSED, "; --by-id asks for each id instead; or", "export")
            self.assertEqual(output, "")

    def test_a_lost_server_is_reported(self):
        left = []

        # A put whose answer was lost leaves a job, which no worker gets.
        def delete_what_is_left():
            self.settle()
            for line in self.server.ask("list-tubes").splitlines():
                if line.startswith("- haricot-export-"):
                    self.haricot("delete", "-qyt", line[2:], "--all")
                    left.append(line)

        self.assertTrue(self.export_with_cuts(60, "--by-id", after_cut=delete_what_is_left))
        self.assertEqual(len(left), 1)


if __name__ == "__main__":
    unittest.main()
