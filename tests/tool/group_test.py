#!/usr/bin/env python3
"""Tests groups of jobs in haricot put, group, jobs, export, import and move, as black boxes.

    group_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import BINARY, FLAGS, OperatorTest, TOOL
from operator_server import DEADLINE_S, DONE, NO, REFUSED, Server, USAGE, run


class GroupTest(OperatorTest):
    def setUp(self):
        super().setUp()
        if not self.has("grp"):
            self.skipTest("the server has no groups")

    def put(self, body, *flags, tube="mail"):
        return int(self.good("put", "-t", tube, *flags, body))

    def jobs(self):
        """Returns the jobs of the server: body -> (tube, state, is held)."""
        return {job["body"]: (job["tube"], job["state"], job.get("held", False))
                for job in map(json.loads, self.good("export").splitlines())}


class Without(OperatorTest):
    """Tests a server without groups: the tool reports it, and puts no job."""

    def test_it_is_reported(self):
        if self.has("grp"):
            self.skipTest("the server has groups")
        self.refused(REFUSED, "does not know", "group", "g")
        self.refused(REFUSED, "does not know --group: it is ", "put", "--group", "g", "x")
        self.refused(REFUSED, "does not know --after: it is ", "put", "--after", "g", "x")
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)


class Put(GroupTest):
    def test_flags_make_the_tags(self):
        self.put("part", "--group", "import")
        self.put("report", "--after", "import")
        self.put("both", "--after", "import:any", "--group", "second", "--tries", "3", "-d", "1h")
        rows = self.good("jobs", "mail").splitlines()
        self.assertEqual([row.split()[11:] for row in rows[1:]],
                         [["grp:import"], ["aft:import"], ["try:3", "grp:second", "aft:import:any"]])
        self.assertEqual(self.jobs(), {"part": ("mail", "ready", False),
                                       "report": ("mail", "delayed", True),
                                       "both": ("mail", "delayed", True)})

    def test_what_every_server_refuses_is_not_sent(self):
        for after in ("g", "g:any"):
            self.refused(USAGE, "a job cannot wait for its own group", "put", "--group", "g",
                         "--after", after, "x")
        for value in ("", "a b", "g" * 101, "a:1", "\u00e4"):
            for flag in ("--group", "--after"):
                self.refused(USAGE, f"{flag}: ", "put", f"{flag}={value}", "x")
            self.refused(USAGE, "invalid group name", "group", value)
        self.refused(USAGE, "requires one group", "group")
        self.refused(USAGE, "requires one group", "group", "a", "b")
        self.assertEqual(self.count("ready"), 0)


class Progress(GroupTest):
    def test_its_jobs_are_counted_and_those_that_wait(self):
        self.assertEqual(self.refused(NO, "the server has no job of group g", "group", "g"), "")
        self.put("1", "--group", "g", tube="default")
        self.put("2", "--group", "g", "-d", "1h", tube="news")
        self.good("bury", self.put("3", "--group", "g"))
        self.put("4", "--after", "g")
        self.hold()
        self.assertEqual(self.good("group", "g"),
                         "ready 0, reserved 1, delayed 1, buried 1, held after it 1\n")
        self.assertEqual(self.good_json("group", "g"),
                         {"name": "g", "ready": 0, "reserved": 1, "delayed": 1, "buried": 1, "held": 1})
        self.assertEqual(self.good("group", "-q", "g"), "")

    def test_a_wait_lasts_until_the_last_job_is_deleted(self):
        self.assertEqual(self.good("group", "g", "--wait", "0"), "ready 0, reserved 0, delayed 0, "
                         "buried 0, held after it 0\n")
        job = self.put("1", "--group", "g")
        self.put("2", "--after", "g")
        status, output, error = self.haricot("group", "g", "--wait", "100ms")
        self.assertEqual((status, output, error), (
            NO, b"ready 1, reserved 0, delayed 0, buried 0, held after it 1\n", ""))
        watch = subprocess.Popen([TOOL, "-a", self.server.address, "group", "g", "--wait", "forever",
                                  "-i", "10ms"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        self.assertEqual(watch.stdout.readline(),
                         "ready 1, reserved 0, delayed 0, buried 0, held after it 1\n")
        self.good("bury", job)
        # The first lines may show that the job is reserved.
        while (line := watch.stdout.readline()).startswith("ready 0, reserved 1"):
            pass
        self.assertEqual(line, "ready 0, reserved 0, delayed 0, buried 1, held after it 1\n")
        self.good("delete", job)
        self.assertEqual((watch.communicate(timeout=DEADLINE_S)[0], watch.returncode),
                         ("ready 0, reserved 0, delayed 0, buried 0, held after it 0\n", DONE))


class Transfer(GroupTest):
    def put_stages(self):
        """Puts three stages. Each gets another job after the next stage was put."""
        self.put("fetch", "--group", "fetched")
        self.put("load", "--group", "loaded", "--after", "fetched", "-d", "700")
        self.put("report", "--after", "loaded")
        self.put("load more", "--group", "loaded", "--after", "fetched")
        self.put("fetch more", "--group", "fetched", tube="news")
        self.put("kicked", "--after", "fetched")
        self.good("kick", "6")

    def check_stages(self):
        held = ("mail", "delayed", True)
        self.assertEqual(self.jobs(), {
            "fetch": ("mail", "ready", False), "fetch more": ("news", "ready", False),
            "kicked": ("mail", "ready", False), "load": held, "load more": held, "report": held})
        ids = {job["body"]: job for job in map(json.loads, self.good("export").splitlines())}
        self.assertEqual((ids["load"]["delay"], ids["load more"]["delay"]), (700, 0))
        for body in ("fetch", "fetch more"):
            self.good("delete", ids[body]["id"])
        self.assertEqual(self.jobs()["load more"], ("mail", "ready", False))
        self.assertEqual(self.jobs()["load"], ("mail", "delayed", False))
        self.assertEqual(self.jobs()["report"], held)
        for body in ("load", "load more"):
            self.good("delete", ids[body]["id"])
        self.assertEqual(self.jobs(), {"kicked": ("mail", "ready", False),
                                       "report": ("mail", "ready", False)})

    def test_exported_held_jobs_are_held_again(self):
        self.put_stages()
        text = self.good("export").encode()
        self.assertEqual([json.loads(line)["body"] for line in text.splitlines()],
                         ["fetch", "fetch more", "kicked", "load", "load more", "report"])
        for tube in ("mail", "news"):
            self.good("flush", "-qy", tube)
        self.assertEqual(self.jobs(), {})
        self.assertEqual(self.good("import", "--dry-run", stdin=text), "good 6\n")
        self.assertEqual(self.good("import", stdin=text), "imported 6\n")
        self.check_stages()

    def test_a_held_job_without_its_group_is_reported(self):
        self.put("part", "--group", "g", tube="news")
        self.put("report", "--after", "g")
        self.put("second", "--after", "g")
        self.put("other", "--after", "g", "--group", "h", tube="news")
        text = self.good("export", "mail").encode()
        self.assertEqual(self.good("import", stdin=text), "imported 2\n")
        for tube in ("mail", "news"):
            self.good("flush", "-qy", tube)
        status, output, error = self.haricot("import", stdin=text)
        self.assertEqual((status, output, error), (
            DONE, b"imported 2\n", "haricot import: line 1: the server has no job of group g, so "
            "jobs that wait for it are not held\n"))
        self.assertEqual(self.jobs(), {"report": ("mail", "ready", False),
                                       "second": ("mail", "ready", False)})
        self.assertEqual(self.good("import", "--without-tags", "-q", stdin=text), "")

    def test_held_jobs_of_a_binlog_are_held_again(self):
        with tempfile.TemporaryDirectory() as folder, Server(BINARY, *FLAGS, "-b", folder) as kept:
            self.server, other = kept, self.server
            self.put_stages()
            kept.stop()
            self.server = other
            status, text, error = run(TOOL, "binlog", "dump", "--json", folder)
            self.assertEqual((status, error), (DONE, ""))
            self.assertIn(b" aft=loaded held=true ", run(TOOL, "binlog", "dump", folder)[1])
        self.assertEqual(self.good("import", stdin=text), "imported 6\n")
        self.check_stages()

    def test_moved_jobs_stay_held_and_in_their_group(self):
        self.put_stages()
        self.assertEqual(self.good("move", "mail", "letters"), "moved 5\n")
        self.assertEqual(self.good("move", "letters", "mail"), "moved 5\n")
        self.check_stages()

    def test_a_held_job_that_can_not_be_moved_is_held_still(self):
        self.put("part", "--group", "g")
        self.put("there", "--unique", "k", tube="news")
        self.put("report", "--after", "g", "--unique", "k")
        status, output, error = self.haricot("move", "mail", "news", "-s", "delayed")
        self.assertEqual((status, output), (NO, b"moved 0\n"))
        self.assertIn("job 3 stays in tube mail: the key is taken: job 2", error)
        self.assertEqual(self.jobs()["report"], ("mail", "delayed", True))

    def test_a_line_shows_a_held_job(self):
        self.put("part", "--group", "g")
        line = {"tube": "mail", "body": "x", "state": "delayed", "delay": 9, "time-left": 0, "aft": "g:any"}
        self.good("import", stdin=json.dumps(line | {"body": "held", "held": True}).encode())
        self.good("import", stdin=json.dumps(line | {"body": "not held"}).encode())
        self.good("import", stdin=json.dumps(line | {"body": "not", "held": False}).encode())
        self.assertEqual({body: is_held for body, (_, _, is_held) in self.jobs().items()},
                         {"part": False, "held": True, "not held": False, "not": False})
        self.refused(NO, '"held" is neither true nor false', "import",
                     stdin=json.dumps(line | {"held": 1}).encode())


class Watching(OperatorTest):
    """Tests drain and group, which poll."""

    def test_a_closed_pipe_ends_them(self):
        commands = [["drain"]] + ([["group", "g", "--wait", "forever"]] if self.has("grp") else [])
        for words in commands:
            self.server.ask("put 0 0 9 1" + (" grp:g" if words[0] == "group" else ""), "x")
            process = subprocess.Popen([TOOL, "-a", self.server.address, *words, "-i", "10ms"],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            self.assertIn("ready ", process.stdout.readline())
            process.stdout.close()
            self.server.ask("put 0 0 9 1" + (" grp:g" if words[0] == "group" else ""), "x")
            self.assertEqual(process.wait(DEADLINE_S), NO)


if __name__ == "__main__":
    unittest.main()
