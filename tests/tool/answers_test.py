#!/usr/bin/env python3
"""Tests exit statuses and messages of the tool, against any beanstalk server.

    answers_test.py HARICOT SERVER [FLAG...]
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL
from operator_server import DEADLINE_S, DONE, LOCAL, NO, REFUSED, USAGE, Server, run, wait_until

LINE = b'{"tube":"a","body":"x"}\n'


class Tubes(OperatorTest):
    def order(self, *words):
        rows = self.good("tubes", "-i", "0", *words).splitlines()
        return [row.split()[-1] for row in rows[1:] if row.split()[-1] != "default"]

    def test_the_columns_of_times_sort(self):
        if not self.has("stats-tube-detail"):
            for column in ("oldest", "wait", "work"):
                self.refused(REFUSED, "does not know stats-tube-detail: it is beanstalkd", "tubes",
                             "-i", "0", "--sort", column)
            return
        # The tube z has the older job, and jobs with longer times of waiting and work.
        detail = lambda key: int(self.server.stat(key, "stats-tube-detail z"))
        for _ in range(2):
            self.server.put("x", "z")
        wait_until(lambda: detail("age-oldest-ready") >= 1)
        with subprocess.Popen([TOOL, "-a", self.server.address, "work", "-qt", "z", "-c", "1", "--",
                               "sleep", "0.1"]) as worker:
            self.assertEqual(worker.wait(DEADLINE_S), DONE)
        for _ in range(2):
            self.server.put("x", "a")
        self.good("reserve", "a", "--then", "delete")
        self.server.put("x", "none")  # The job was never reserved.
        self.good("delete", "-qy", "none", "--all")
        self.server.put("x", "none", delay=100)
        self.assertGreater(detail("work-time-p50"), 0)
        for column in ("oldest", "wait", "work"):
            self.assertEqual(self.order("--sort", column), ["z", "a", "none"])
            self.assertEqual(self.order("--sort", column, "--reverse"), ["none", "a", "z"])

    def test_a_wrong_column_is_answered_with_the_columns(self):
        self.refused(USAGE, "paused, tube, oldest, wait or work", "tubes", "--sort", "brew")
        self.refused(USAGE, "delete/s, paused or tube", "top", "--sort", "oldest")


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


class Signals(OperatorTest):
    def test_a_loop_of_a_shell_ends_with_the_subcommand(self):
        # The shell waits for its program. It ends only if SIGINT has ended the program.
        fifo = self.server.folder.name + "/fifo"
        os.mkfifo(fifo)
        for words in (["import", fifo], ["bench", self.server.address, "--seconds", "60"],
                      ["work", "--", "true"], ["reserve"], ["drain", "--interval", "10ms"]):
            if words[0] == "drain":
                self.server.put("x")
            with self.subTest(words[0]):
                script = '"$@"; echo "went on"'
                shell = subprocess.Popen(["bash", "-c", script, "bash", TOOL, *words],
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         env=os.environ | {"HARICOT_ADDR": self.server.address},
                                         process_group=0)
                self.addCleanup(shell.stdout.close)
                self.addCleanup(shell.wait)
                writer = os.open(fifo, os.O_WRONLY) if words[0] == "import" else None
                before = int(self.server.stat("total-connections"))
                # The connection of `stats` counts, too.
                wait_until(lambda: int(self.server.stat("current-connections")) > 1)
                if words[0] == "import":
                    os.write(writer, LINE)
                    wait_until(lambda: self.server.stat("total-jobs") != "0")
                if words[0] in ("work", "reserve"):
                    wait_until(lambda: self.server.stat("current-waiting") == "1")
                self.assertGreater(before, 0)
                os.killpg(shell.pid, signal.SIGINT)
                output = shell.communicate(timeout=DEADLINE_S)[0]
                if writer is not None:
                    os.close(writer)
                self.assertNotIn(b"went on", output)
                self.assertEqual(shell.returncode, -signal.SIGINT)


class Import(OperatorTest):
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


class Jobs(OperatorTest):
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


class Times(OperatorTest):
    def test_zero_is_refused_as_too_short(self):
        for words in (["ping", "-T", "0"], ["drain", "-i", "0"], ["work", "--max-time", "0s", "true"],
                      ["bench", self.server.address, "-T", "0"], ["web", "--idle-timeout", "0"]):
            self.refused(USAGE, "is not a time above 0", *words)

    def test_help_has_the_unit_of_days(self):
        for name in ("put", "drain", "bench", "web"):
            self.assertIn("1h30m, 2d, 250ms", run(TOOL, name, "--help")[1].decode())
        self.refused(USAGE, "5m or 2d", "put", "-d", "x", "y")
        job = int(self.good("put", "-d", "2d", "x"))
        self.assertEqual(self.good("stats", job, "-k", "delay"), "172800\n")


class Work(OperatorTest):
    def test_the_time_of_an_answer_is_no_time_of_a_program(self):
        self.server.put("x")
        words = ["work", "--wait", "0", "--timeout", "30s"]
        status, _, error = self.haricot(*words, "true")
        self.assertEqual(status, DONE)
        self.assertIn("--timeout limits answers of the server; to limit a program use --max-time", error)
        for more in (["--quiet"], ["--max-time", "5"]):
            self.assertNotIn("--max-time ends", self.haricot(*words, *more, "true")[2])


class ClosedStdout(OperatorTest):
    def test_is_reported_like_a_full_disk(self):
        self.server.put("x")
        commands = [["stats"], ["peek", "1"], ["tubes", "-i0"], ["--help"], ["put", "y"]]
        if self.has("scan-jobs"):
            commands.append(["export"])
        for words in commands:
            ended = subprocess.run(["sh", "-c", '"$@" >&-', "sh", TOOL, *words],
                                   stderr=subprocess.PIPE, timeout=60, check=False,
                                   env=os.environ | {"HARICOT_ADDR": self.server.address})
            self.assertEqual(ended.returncode, LOCAL, words)
            self.assertIn(b"cannot write to stdout: Bad file descriptor", ended.stderr)

    def test_is_no_failure_where_nothing_is_printed(self):
        script = '"$@" >&-'
        ended = subprocess.run(["sh", "-c", script, "sh", TOOL, "put", "-q", "y"], timeout=60,
                               check=False, env=os.environ | {"HARICOT_ADDR": self.server.address})
        self.assertEqual((ended.returncode, self.count("ready")), (DONE, 1))


class Suggestions(unittest.TestCase):
    def test_words_of_other_tools_mean_a_subcommand(self):
        for word, meant in (("who", "clients"), ("connections", "clients"), ("info", "stats"),
                            ("ls", "tubes")):
            status, _, error = run(TOOL, word)
            self.assertEqual(status, USAGE)
            self.assertIn(f"(did you mean {meant}?)", error)


if __name__ == "__main__":
    unittest.main()
