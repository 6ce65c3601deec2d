#!/usr/bin/env python3
"""Tests haricot import against any beanstalk server.

    import_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from key_relay import FullRelay
from operator_case import OperatorTest, TOOL
from operator_server import LOCAL, NO, REFUSED, run, wait_until
from transfer_case import TransferTest

LINE = b'{"tube":"a","body":"x"}\n'


class Import(TransferTest):
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


class Lines(OperatorTest):
    def test_a_key_that_is_none_is_refused_by_its_line(self):
        lines = LINE + b'{"tube":"a","body":"x","priority":5}\n' + LINE
        self.assertEqual(self.refused(NO, 'line 2: "priority" is not a key of a job (did you mean pri?)',
                                      "import", stdin=lines), "imported 1\n")
        for line, complaint in (('{"queue":"a","body":"x"}', '(did you mean tube?)'),
                                ('{"tube":"a","data":"x"}', '(did you mean body?)'),
                                ('{"tube":"a","body":"x","time_left":1}', '(did you mean time-left?)'),
                                ('{"tube":"a","body":"x","":1}', '"" is not a key of a job')):
            self.refused(NO, complaint, "import", "--dry-run", stdin=line.encode())
        self.assertEqual(self.count("ready"), 1)

    def test_every_key_that_the_tool_writes_is_known(self):
        self.server.put("x")
        self.hold()  # Now the job has a holder.
        if self.has("scan-jobs"):
            self.assertEqual(self.good("import", stdin=self.good("export").encode()), "imported 1\n")
        line = self.good("peek", "1", "--json").encode()
        self.assertEqual(self.good("import", stdin=line), "imported 1\n")

    def test_a_first_line_beyond_the_end_is_reported(self):
        for words in ([], ["--dry-run"]):
            printed = "there is no line 5: stdin has 3"
            self.refused(NO, printed, "import", "--from-line", "5", *words, stdin=LINE * 3)
        # An import that was interrupted after its last line continues there.
        self.assertEqual(self.good("import", "--from-line", "4", stdin=LINE * 3), "imported 0\n")
        self.assertEqual(self.good("import", "--from-line", "3", stdin=LINE * 3), "imported 1\n")
        self.assertEqual(self.good("import", stdin=b""), "imported 0\n")
        self.refused(NO, "there is no line 3: stdin has 1", "import", "--from-line", "3", stdin=LINE)

    def test_a_dash_is_stdin_as_a_value_too(self):
        self.assertEqual(self.good("import", "-f", "-", stdin=LINE), "imported 1\n")
        self.assertEqual(self.good("put", "-f", "-", stdin=b"body"), "2\n")
        self.assertEqual(self.good("put", "--lines", "--file=-", stdin=b"x\ny\n"), "3\n4\n")
        self.assertEqual(self.good("peek", "2"), "body")

    def bodies(self):
        count = int(self.server.stat("total-jobs"))
        return [self.haricot("peek", job + 1)[1] for job in range(count)]

    def test_import_takes_a_mark_of_utf8_and_lines_of_any_system(self):
        lines = b'\xef\xbb\xbf{"tube":"a","body":"one"}\r\n\r\n{"tube":"a","body":"two"}\r\n'
        self.assertEqual(self.good("import", stdin=lines), "imported 2\n")
        self.assertEqual(self.bodies(), [b"one", b"two"])
        self.refused(NO, "line 4: ", "import", stdin=lines[3:] + lines)

    def test_import_reports_the_line_of_an_interruption(self):
        line = b'{"tube":"a","body":"x"}\n'
        for number, sent in ((signal.SIGINT, 3), (signal.SIGTERM, 1200), (signal.SIGHUP, 1)):
            tool = subprocess.Popen([TOOL, "import", "-a", self.server.address],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
            self.addCleanup(tool.kill)
            before = int(self.server.stat("total-jobs"))
            tool.stdin.write(line * sent)
            tool.stdin.flush()
            wait_until(lambda: int(self.server.stat("total-jobs")) == before + sent)
            tool.send_signal(number)
            tool.wait(60)
            self.assertEqual(tool.returncode, -number)
            self.assertEqual(tool.stdout.read(), b"imported %d\n" % sent)
            self.assertIn(b"interrupted; continue with --from-line %d" % (sent + 1), tool.stderr.read())
            for pipe in (tool.stdin, tool.stdout, tool.stderr):
                pipe.close()


if __name__ == "__main__":
    unittest.main()
