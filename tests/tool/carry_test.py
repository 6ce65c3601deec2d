#!/usr/bin/env python3
"""Tests haricot export and import as black boxes, against any beanstalk server.

    carry_test.py HARICOT SERVER [FLAG...]
"""

import base64
import collections
import itertools
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from key_relay import FullRelay
from operator_case import OperatorTest, TOOL
from operator_server import DEADLINE_S, DONE, LOCAL, NO, NO_SERVER, REFUSED, USAGE, run, wait_until

BYTES = bytes(range(256)) * 3 + b"\r\n"


class Relay:
    """A unix socket in front of a server, which ends the connection at the Nth message of the tool.

    `end` is the way: "before" kills the tool and drops the message; "after" kills the tool when the
    server has answered; "cut" closes the connection when the server has answered, without passing on
    the answer. "interrupt" sends SIGINT to the tool and continues.
    """

    def __init__(self, server, message, end):
        self.server, self.message, self.end = server, message, end
        self.address = f"unix:{server.folder.name}/relay-{message}-{end}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.address[5:])
        self.listener.listen()
        self.was_reached = False
        self.child = None
        self.thread = threading.Thread(target=self.serve)

    def run(self, *words, stdin=b""):
        """Runs the tool through the relay; returns its status, output and errors."""
        self.child = subprocess.Popen([TOOL, *words, "-a", self.address], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.thread.start()
        output, error = self.child.communicate(stdin, DEADLINE_S)
        self.thread.join(DEADLINE_S)
        self.listener.close()
        return self.child.returncode, output.decode(), error.decode()

    def serve(self):
        tool, _ = self.listener.accept()
        with tool, socket.socket(socket.AF_UNIX) as behind:
            tool.settimeout(DEADLINE_S)
            behind.settimeout(DEADLINE_S)
            behind.connect(self.server.path)
            messages = 0
            while True:
                ready, _, _ = select.select([tool, behind], [], [], DEADLINE_S)
                if behind in ready:
                    tool.sendall(behind.recv(1 << 20))
                if tool not in ready:
                    continue
                piece = tool.recv(1 << 20)
                if not piece:
                    return
                messages += 1
                self.was_reached = messages == self.message
                if messages == self.message and self.end == "interrupt":
                    self.child.send_signal(signal.SIGINT)
                elif self.was_reached:
                    if self.end != "before":
                        self.have_done(behind, piece)
                    if self.end != "cut":
                        self.kill()
                    return
                behind.sendall(piece)

    @staticmethod
    def have_done(behind, commands):
        """Sends commands, and waits until the server has run all of them."""
        behind.sendall(commands + b"no such command\r\n")
        answers = b""
        while not answers.endswith(b"UNKNOWN_COMMAND\r\n"):
            piece = behind.recv(1 << 20)
            assert piece, answers
            answers += piece

    def kill(self):
        os.kill(self.child.pid, signal.SIGKILL)
        self.child.wait(DEADLINE_S)


class CarryTest(OperatorTest):
    def bury(self, body, tube, priority=1024, ttr=60):
        job = self.server.put(body, tube, priority, ttr=ttr)
        answer = self.server.ask(f"reserve-job {job}", f"bury {job} {priority}")
        self.assertIn("BURIED", answer)
        return job

    def put_bytes(self, body, tube):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.server.path)
            client.sendall(b"use %s\r\nput 1024 0 60 %d\r\n%s\r\nquit\r\n" %
                           (tube.encode(), len(body), body))
            while client.recv(1000):
                pass

    def jobs(self):
        """Returns all jobs, body -> [(tube, state, priority, ttr, delay)], without their ids."""
        found = collections.defaultdict(list)
        for job in range(1, int(self.server.stat("total-jobs")) + 1):
            answer = self.server.ask(f"stats-job {job}")
            if answer.startswith("NOT_FOUND"):
                continue
            stats = dict(line.split(": ") for line in answer.split("\r\n")[1].splitlines()[1:])
            body = self.server.ask(f"peek {job}").split("\r\n", 1)[1].removesuffix("\r\n")
            found[body].append((stats["tube"].strip('"'), stats["state"], int(stats["pri"]),
                                int(stats["ttr"]), int(stats["delay"])))
        return found

    def fill(self):
        self.server.put("ready", "mail", priority=7, ttr=9)
        self.server.put("later", "mail", priority=8, delay=1000)
        self.bury("buried", "mail", priority=9, ttr=11)

    def settle(self):
        """Waits until the server has noticed the end of the tool."""
        wait_until(lambda: self.server.stat("current-connections") == "1")
        self.assertEqual(self.count("reserved"), 0)

    def import_with_ends(self, text, jobs, check):
        """Ends an import at its 1st, 2nd, ... message, in each way, and continues it, until one runs to its end.

        `check` checks the jobs afterwards, and empties the tubes. Returns the number of messages of an import.
        """
        messages = []
        for end in ("before", "after", "cut"):
            for message in itertools.count(1):
                relay = Relay(self.server, message, end)
                status, output, error = relay.run("import", stdin=text)
                self.settle()
                # The server has a prefix of the lines, each of them once.
                there = sum(self.count(state) for state in ("ready", "delayed", "buried"))
                if end == "cut" and relay.was_reached:
                    self.assertEqual(status, NO_SERVER, error)
                self.good("import", "-q", "--from-line", str(there + 1), stdin=text)
                check()
                if not relay.was_reached:
                    self.assertEqual((status, output, error), (DONE, f"imported {jobs}\n", ""))
                    messages.append(message)
                    break
        return min(messages)

    def export_with_cuts(self, jobs, *words, after_cut=lambda: None):
        """Cuts an export at its 1st, 2nd, ... message, until one runs to its end.

        Returns the numbers of jobs that were written before the cuts, without 0.
        """
        self.good("put", "-ql", stdin=b"".join(b"job %d\n" % i for i in range(jobs)))
        message, seen = 1, set()
        while True:
            relay = Relay(self.server, message, "cut")
            status, output, error = relay.run("export", *words)
            lines = output.splitlines()
            self.assertEqual([json.loads(line)["id"] for line in lines],
                             list(range(1, len(lines) + 1)))
            if not relay.was_reached:
                break
            self.assertEqual(status, NO_SERVER, error)
            if lines:
                self.assertIn(f"incomplete: jobs written: {len(lines)} of {jobs}", error)
                seen.add(len(lines))
            after_cut()
            message += 1
        self.assertEqual((status, len(lines)), (0, jobs), error)
        return seen


class Export(CarryTest):
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


class ExportById(CarryTest):
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


class Import(CarryTest):
    def line(self, **members):
        return json.dumps(members).encode() + b"\n"

    def test_a_line_may_have_few_or_all_fields(self):
        text = (self.line(tube="mail", body="one") + b"\n" +
                self.line(tube="mail", body="two", state="delayed", delay=500, pri=3, ttr=5) +
                self.line(tube="mail", body="three", state="buried", pri=4) +
                self.line(tube="news", body_base64="AP8=", state="reserved"))
        self.assertEqual(self.good_json("import", stdin=text), {"imported": 4, "bad": 0, "taken": 0})
        jobs = self.jobs()
        self.assertEqual(jobs["one"], [("mail", "ready", 1024, 60, 0)])
        self.assertEqual(jobs["two"], [("mail", "delayed", 3, 5, 500)])
        self.assertEqual(jobs["three"][0][:4], ("mail", "buried", 4, 60))
        self.assertEqual(jobs["\0\xff"], [("news", "ready", 1024, 60, 0)])

    def test_a_file_and_another_tube(self):
        path = pathlib.Path(self.server.folder.name) / "jobs"
        path.write_bytes(self.line(tube="mail", body="one") + self.line(body="two"))
        self.assertEqual(self.good("import", "-t", "other", path), "imported 2\n")
        self.assertEqual(self.good("import", "-q", "--from-line", "2", "-t", "other", "-f", path), "")
        self.assertEqual(self.count("ready", "other"), 3)
        self.refused(LOCAL, "cannot open /nowhere", "import", "/nowhere")

    def test_an_invalid_line_is_reported_and_earlier_ones_are_imported(self):
        good = self.line(tube="mail", body="x")
        for bad, complaint in (
                (b"{", "not a JSON object"), (b"[]", "not a JSON object"),
                (b'{"tube":"a","body":"x"} x', "not a JSON object"),
                (b'{"tube":"a","tube":"b"}', '"tube" appears twice'),
                (self.line(body="x"), 'missing "tube"'),
                (self.line(tube="-x", body="x"), "is not a tube name"),
                (self.line(tube="a"), 'either "body" or "body_base64"'),
                (self.line(tube="a", body="x", body_base64="AA=="), 'either "body" or'),
                (self.line(tube="a", body=5), '"body" is not a string'),
                (self.line(tube="a", body_base64="A"), "is not base64"),
                (self.line(tube="a", body="x", pri=-1), '"pri" is not a number up to'),
                (self.line(tube="a", body="x", ttr=4294967296), '"ttr" is not a number up to'),
                (self.line(tube="a", body="x", state="lost"), '"state" is not ready'),
                (self.line(tube="a", body="x" * 70000), "exceeds the server's max-job-size"),
                (b'{"tube":"a","body":"\xff"}', 'the value of "body" must be a string'),
                (b'{"tube":"a","body":["x"]}', 'the value of "body" must be a string')):
            before = self.server.stat("total-jobs")
            text = good + good + bad.rstrip() + b"\n" + good
            output = self.refused(NO, "line 3: ", "import", stdin=text)
            self.assertEqual(output, "imported 2\n")
            self.assertEqual(int(self.server.stat("total-jobs")), int(before) + 2)
            output = self.refused(NO, complaint, "import", "--dry-run", stdin=text)
            self.assertEqual(output, "good 3\n")
            self.assertEqual(int(self.server.stat("total-jobs")), int(before) + 2)

    def test_a_dry_run_names_all_bad_lines(self):
        text = b"x\n" + self.line(tube="mail", body="x") + b"y"
        _, output, error = self.haricot("import", "--dry-run", stdin=text)
        self.assertEqual(output, b"good 1\n")
        self.assertIn("line 1: ", error)
        self.assertIn("line 3: ", error)

    def test_a_refusal_is_reported_with_the_line(self):
        self.server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.server.stat("draining") == "true")
        text = self.line(tube="mail", body="x") * 3
        output = self.refused(REFUSED, "3 lines up to line 3 were refused; continue with --from-line 1",
                              "import", stdin=text)
        self.assertEqual(output, "imported 0\n")

    def test_no_job_is_left_in_the_tube_of_the_line_before(self):
        relay = FullRelay(self.server)
        self.addCleanup(relay.close)
        text = (self.line(tube="mail", body="a") + self.line(tube="full", body="b") +
                self.line(tube="full", body="c", state="buried") + self.line(tube="mail", body="d"))
        status, output, error = run(TOOL, "import", address=relay.address, stdin=text)
        self.assertEqual((status, output), (REFUSED, b"imported 2\n"), error)
        self.assertIn("line 2: OUT_OF_MEMORY", error)
        self.assertIn("2 lines up to line 3 were refused; the others up to line 4 are imported; "
                      "continue with --from-line 5", error)
        there = self.jobs()
        self.assertEqual({body: jobs[0][:2] for body, jobs in there.items()},
                         {"a": ("mail", "ready"), "d": ("mail", "ready")})

        self.server.put("e", "mail")
        status, _, error = run(TOOL, "move", "mail", "full", address=relay.address)
        self.assertEqual(status, REFUSED, error)
        self.assertIn("OUT_OF_MEMORY", error)
        self.assertEqual(self.jobs()["e"][0][:2], ("mail", "ready"))
        self.assertEqual(len(self.jobs()), 3)

    def test_it_can_continue_after_a_kill_or_a_lost_server(self):
        text = b"".join(self.line(tube=f"tube-{i % 3}", body=f"job {i}",
                                  state="buried" if i % 100 == 7 else "ready") for i in range(1200))

        def check():
            bodies = [body for tube in range(3) for body in self.bodies(f"tube-{tube}")]
            self.assertEqual(len(bodies), 1200)
            self.assertEqual(len(set(bodies)), 1200)

        self.assertGreater(self.import_with_ends(text, 1200, check), 4)

    def bodies(self, tube):
        """Reserves and deletes all jobs of a tube. Returns their bodies."""
        self.haricot("kick", "-qt", tube, "--all")
        self.haricot("kick", "-qt", tube, "--all")
        with socket.socket(socket.AF_UNIX) as client, client.makefile("rb") as answers:
            client.connect(self.server.path)
            client.sendall(b"watch %s\r\nignore default\r\n" % tube.encode())
            answers.readline(), answers.readline()
            found = []
            while True:
                client.sendall(b"reserve-with-timeout 0\r\n")
                line = answers.readline().split()
                if line[0] != b"RESERVED":
                    return found
                found.append(answers.read(int(line[2]) + 2)[:-2])
                client.sendall(b"delete %s\r\n" % line[1])
                answers.readline()


if __name__ == "__main__":
    unittest.main()
