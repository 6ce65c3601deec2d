#!/usr/bin/env python3
"""Tests haricot peek and haricot jobs against any beanstalk server.

    peek_jobs_test.py HARICOT SERVER [FLAG...]
"""

import base64
import json
import pathlib
import socket
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, output_on_terminal, TOOL
from operator_server import DEADLINE_S, DONE, NO, REFUSED, run, USAGE


class Peek(OperatorTest):
    def test_the_body_is_written_as_it_is(self):
        job = self.server.put("a\x00\xff\r\n\x1b[2Jb")
        self.assertEqual(self.haricot("peek", job)[:2], (DONE, b"a\x00\xff\r\n\x1b[2Jb"))

    def test_a_terminal_gets_no_control_characters(self):
        job = self.server.put("a\x1b[2Jb\xff\nc")
        self.assertEqual(output_on_terminal("peek", job, address=self.server.address),
                         b"a\\x1b[2Jb\\xff\r\nc\r\n")
        self.assertEqual(
            output_on_terminal("peek", job, "--raw", address=self.server.address),
            b"a\x1b[2Jb\xff\r\nc")

    def test_a_terminal_gets_nothing_that_turns_the_text_round(self):
        job = self.server.put("invoice\xe2\x80\xaefdp.exe")
        shown = output_on_terminal("peek", job, address=self.server.address)
        self.assertEqual(shown, rb"invoice\xe2\x80\xaefdp.exe" + b"\r\n")
        shown = output_on_terminal("peek", "--json", job, address=self.server.address)
        self.assertIn(rb'"body":"invoice\u202efdp.exe"', shown)

    def test_each_state_of_a_tube_can_be_listed(self):
        self.server.put("buried", "mail", priority=1)
        self.server.ask("watch mail", "ignore default", "reserve", "bury 1 5")
        self.server.put("ready", "mail")
        self.server.put("delayed", "mail", delay=100)
        for state in ("ready", "delayed", "buried"):
            self.assertEqual(self.good("peek", f"--{state}", "-t", "mail"), state)
        self.assertEqual(self.good("peek", "--buried", "-t", "mail", "--id"), "1\n")

    def test_json_has_the_job_and_its_body(self):
        job = self.server.put('say "h\xc3\xa9llo"\n', "mail", priority=3)
        answer = self.good_json("peek", job)
        self.assertEqual(answer["body"], 'say "héllo"\n')
        self.assertEqual((answer["id"], answer["tube"], answer["pri"]), (job, "mail", 3))
        self.assertEqual(answer["bytes"], 13)
        odd = self.server.put("\xff\x00")
        self.assertEqual(base64.b64decode(self.good_json("peek", odd)["body_base64"]), b"\xff\x00")

    def test_missing_things_are_reported(self):
        self.refused(NO, "there is no job 5", "peek", "5")
        self.refused(NO, "there is no delayed job in tube default", "peek", "--delayed")
        self.refused(NO, "there is no tube mail", "peek", "--ready", "--tube", "mail")
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)
        self.refused(USAGE, "one id, or one of", "peek")
        self.refused(USAGE, "one id, or one of", "peek", "x")


class Jobs(OperatorTest):
    def setUp(self):
        super().setUp()
        if not self.has("scan-jobs"):
            self.server.put("x")
            complaint = "does not know scan-jobs: it is beanstalkd " + self.server.stat("version")
            self.assertEqual(self.refused(REFUSED, complaint, "jobs"), "")
            self.refused(REFUSED, "does not know list-jobs", "jobs", "default", "--next")
            self.skipTest("the server cannot list jobs")

    def rows(self, *words):
        """Returns the table as a list of jobs, each a map from title to value."""
        titles, *rows = [line.split() for line in self.good("jobs", *words).splitlines()]
        return [dict(zip(titles, row)) for row in rows]

    def ids(self, *words):
        return [int(row["id"]) for row in self.rows(*words)]

    def fill(self):
        self.server.put("one", "mail", priority=7, ttr=9)
        self.server.put("two two", "mail", priority=5)
        self.server.put("three", "mail", delay=100)
        self.server.put("two", "news")
        self.server.ask("watch news", "ignore default", "reserve", "bury 4 6")

    def test_the_table_has_a_line_for_each_job(self):
        self.fill()
        rows = self.rows()
        self.assertEqual([row["id"] for row in rows], ["1", "2", "3", "4"])
        self.assertEqual([row["state"] for row in rows], ["ready", "ready", "delayed", "buried"])
        self.assertEqual([row["tube"] for row in rows], ["mail", "mail", "mail", "news"])
        self.assertEqual([row["pri"] for row in rows], ["7", "5", "1024", "6"])
        self.assertEqual([row["bytes"] for row in rows], ["3", "7", "5", "3"])
        self.assertEqual([row["reserves"] for row in rows], ["0", "0", "0", "1"])
        self.assertEqual(rows[0]["ttr"], "9")
        self.assertGreater(int(rows[2]["left"]), 50)
        self.assertEqual([row["buried-by"] for row in rows], ["-", "-", "-", "client"])

    def test_it_can_be_asked_for_some(self):
        self.fill()
        self.server.put("x", "77")
        self.assertEqual(self.ids("mail"), [1, 2, 3])
        self.assertEqual(self.ids("--tube", "77"), [5])
        self.assertEqual(self.ids("77"), [5])
        self.assertEqual(self.ids("mail", "-s", "ready"), [1, 2])
        self.assertEqual(self.ids("--state", "buried"), [4])
        self.assertEqual(self.ids("--from", "3"), [3, 4, 5])
        self.assertEqual(self.ids("-n", "2"), [1, 2])
        self.assertEqual(self.ids("-s", "delayed", "-n", "1"), [3])
        self.assertEqual(self.ids("--match", "two"), [2, 4])
        self.assertEqual(self.ids("mail", "--match", "two", "--state", "ready"), [2])
        self.assertEqual(self.ids("--match", "two", "-n", "1"), [2])

    def test_the_next_ones_are_in_the_order_of_service(self):
        self.fill()
        self.assertEqual(self.ids("mail", "--next"), [2, 1])
        self.assertEqual(self.ids("mail", "-N", "-n", "1"), [2])
        self.assertEqual(self.ids("mail", "-N", "--state", "delayed"), [3])
        self.assertEqual(self.ids("mail", "-N", "--match", "one"), [1])

    def test_very_many_jobs_are_several_pages(self):
        lines = "".join(f"job {i}\n" for i in range(2500))
        self.good("put", "-ql", stdin=lines.encode())
        self.good("delete", "-q", *range(100, 1300))
        ids = [*range(1, 100), *range(1300, 2501)]
        self.assertEqual(self.ids(), ids)
        self.assertEqual(self.ids("-n", "1100"), ids[:1100])
        self.assertEqual(self.ids("--match", "job 1999"), [2000])

    def test_json_has_an_object_a_line(self):
        self.fill()
        jobs = [json.loads(line) for line in self.good("jobs", "--json").splitlines()]
        self.assertEqual([(job["id"], job["tube"], job["state"]) for job in jobs],
                         [(1, "mail", "ready"), (2, "mail", "ready"), (3, "mail", "delayed"),
                          (4, "news", "buried")])
        self.assertEqual(jobs[1]["bytes"], 7)

    def test_json_has_the_cause_and_the_time_of_a_burial(self):
        self.fill()
        listed = json.loads(self.good("jobs", "--json", "--state", "buried"))
        for job in (listed, self.good_json("peek", "4")):
            self.assertEqual(job["buried-by"], "client")
            self.assertGreaterEqual(job["buried-ago"], 0)
            self.assertNotIn("last-try", job)
        self.assertNotIn("buried-by", self.good_json("peek", "1"))

    def test_missing_things_are_reported(self):
        self.fill()
        self.refused(NO, "there is no such job in tube nothing\n", "jobs", "nothing")
        self.refused(NO, "there is no such job in tube buried; for a state use --state\n",
                     "jobs", "buried")
        self.refused(NO, "there is no such job", "jobs", "--match", "four")
        self.refused(NO, "there is no tube nothing", "jobs", "nothing", "--next")
        self.refused(USAGE, "--next requires a tube", "jobs", "--next")
        self.refused(USAGE, "is not ready, reserved", "jobs", "--state", "done")
        self.refused(USAGE, "more than one tube", "jobs", "mail", "news")
        self.refused(USAGE, "is not a tube name", "jobs", "no name")


class NextJobs(OperatorTest):
    def test_next_reports_that_there_may_be_more(self):
        if not self.has("list-jobs"):
            self.skipTest("the server has no list-jobs")
        self.good("put", "-q", "--lines", stdin=b"x\n" * 1001)
        note = "only the next 1000 jobs are listed; the server lists no more"
        for words in ([], ["--count", "2000"]):
            status, output, error = self.haricot("jobs", "default", "--next", *words)
            self.assertEqual((status, len(output.splitlines())), (DONE, 1001))
            self.assertIn(note, error)
        self.assertEqual(len(self.good("jobs", "default", "--next", "-n", "1000").splitlines()), 1001)
        status, output, error = self.haricot("jobs", "default", "--next", "--match", "y")
        self.assertEqual((status, output), (NO, b""))
        self.assertIn("only the next 1000 jobs were searched", error)


class Counting:
    """A unix socket in front of a server for one client, which records the commands."""

    def __init__(self, server):
        self.address = f"unix:{server.folder.name}/counting"
        self.server, self.lines = server, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.address[5:])
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        client, _ = self.listener.accept()
        with client, client.makefile("rb") as lines:
            for line in lines:
                self.lines.append(line.decode().strip())
                client.sendall(self.server.ask(self.lines[-1]).encode("latin-1"))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join(DEADLINE_S)
        self.listener.close()


class JobsInAState(OperatorTest):

    def test_jobs_in_a_state_are_found_by_the_tubes_that_have_some(self):
        if not self.has("scan-jobs"):
            self.skipTest("the server cannot do it")
        self.good("put", "-qlt", "mail", stdin=b"x\n" * 3000)
        buried = [self.server.put("buried", tube, priority) for tube, priority in
                  (("a", 5), ("a", 3), ("z", 1), ("a", 4))]
        self.good("bury", "-q", buried[2], buried[1], buried[3], buried[0])
        by_tube = [buried[0], buried[1], buried[3], buried[2]]
        with Counting(self.server) as counting:
            status, output, error = run(TOOL, "jobs", "-js", "buried", address=counting.address)
            self.assertEqual((status, error), (DONE, ""))
        found = [json.loads(line) for line in output.splitlines()]
        self.assertEqual([job["id"] for job in found], by_tube)
        asked = [line for line in counting.lines if "-jobs" in line]
        self.assertEqual(asked, ["list-jobs a buried 1000", "list-jobs z buried 1000"])
        self.assertEqual(self.ids("-s", "buried", "-n", "2"), by_tube[:2])
        self.assertEqual(self.ids("-s", "buried", "-i", buried[1]), by_tube[1:])
        self.assertEqual(self.ids("-s", "ready"), list(range(1, 3001)))
        self.refused(NO, "there is no such job", "jobs", "-s", "delayed")

    def test_in_a_state_that_very_many_tubes_have(self):
        if not self.has("scan-jobs"):
            self.skipTest("the server cannot do it")
        for tube in range(20):
            self.server.put("x", f"tube-{tube}")
        holder = socket.socket(socket.AF_UNIX)
        holder.connect(self.server.path)
        self.addCleanup(holder.close)
        for tube in range(20):
            holder.sendall(f"watch tube-{tube}\r\nreserve\r\n".encode())
            answer = b""
            while b"RESERVED" not in answer or not answer.endswith(b"x\r\n"):
                answer += holder.recv(1000)
            if tube in (2, 19):
                self.assertEqual(self.ids("-s", "reserved"), list(range(1, tube + 2)))

    def ids(self, *words):
        return [json.loads(line)["id"] for line in self.good("jobs", "-j", *words).splitlines()]


if __name__ == "__main__":
    unittest.main()
