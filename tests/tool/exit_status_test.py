#!/usr/bin/env python3
"""Tests exit statuses, signals and a stdout that fails, against any beanstalk server.

    exit_status_test.py HARICOT SERVER [FLAG...]
"""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL
from operator_server import DEADLINE_S, DONE, LOCAL, NO, wait_until

LINE = b'{"tube":"a","body":"x"}\n'


class Statuses(OperatorTest):
    """Tests exit statuses: 0 if nothing had to be done, 1 for a negative answer, 6 for a local failure."""

    def test_a_tube_with_nothing_to_do_is_no_failure(self):
        self.assertEqual(self.good("kick", "default", "--all"), "kicked 0\n")
        self.assertEqual(self.good("delete", "default", "--all", "-y"), "deleted 0\n")
        self.assertEqual(self.good("delete", "default", "--ready", "-n5", "-y"), "deleted 0\n")
        self.assertEqual(self.good("flush", "default", "-y"), "deleted 0\n")
        self.assertEqual(self.good("flush", "default", "-ys", "buried"), "deleted 0\n")
        self.assertEqual(self.good("bury", "default", "--all"), "buried 0\n")
        self.assertEqual(self.good("move", "default", "mail"), "moved 0\n")

    def test_nor_is_one_that_is_not_there_as_a_tube_goes_with_its_last_job(self):
        for words, done in ((["kick", "mail", "--all"], "kicked"), (["bury", "mail", "--all"], "buried"),
                            (["delete", "mail", "--all", "-y"], "deleted"),
                            (["delete", "mail", "--ready", "-n5", "-y"], "deleted"),
                            (["flush", "mail", "-y"], "deleted"), (["move", "mail", "news"], "moved")):
            # A misspelt name is reported, too.
            self.assertEqual(self.refused(DONE, "there is no tube mail", *words), done + " 0\n")
            self.assertEqual(self.refused(DONE, "there is no tube mail", *words, "-q"), "")
        self.server.put("x", "mail")
        self.assertEqual(self.good("flush", "mail", "-y"), "deleted 1\n")
        self.assertEqual(self.haricot("flush", "mail", "-y")[:2], (DONE, b"deleted 0\n"))
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)

    def test_a_job_that_is_not_there_is_one(self):
        self.refused(NO, "job 5 does not exist", "kick", "5")
        self.refused(NO, "job 5 does not exist", "delete", "5")
        self.refused(NO, "there is no tube mail", "pause", "mail", "5")
        self.refused(NO, "there is no tube mail", "stats", "mail")

    def test_files_are_of_this_side(self):
        self.refused(LOCAL, "cannot open /nowhere", "put", "-f", "/nowhere")
        self.refused(LOCAL, "cannot open /nowhere", "import", "/nowhere")
        self.refused(LOCAL, "cannot read /", "import", "/")
        self.refused(LOCAL, "/nowhere", "binlog", "check", "/nowhere")
        self.refused(LOCAL, "/nowhere", "binlog", "dump", "/nowhere")

    def test_every_subcommand_reports_a_full_stdout(self):
        self.server.put("x", "mail")
        folder = self.server.folder.name + "/binlog"
        pathlib.Path(folder).mkdir()
        commands = [["ping"], ["stats"], ["tubes", "-i0"], ["top", "-bn1", "-i0.1"],
                    ["peek", "mail", "--ready"], ["put", "x"], ["reserve", "mail"],
                    ["kick", "mail", "--all"], ["pause", "mail", "0"], ["drain", "-w0", "other"],
                    ["bury", "mail", "--all"], ["delete", "mail", "--all", "-y"],
                    ["bench", "-n", "10", "--warm-up", "0", self.server.address],
                    ["bench", "--seconds", "0.3", "-i0.1", self.server.address],
                    ["binlog", "check", folder]]
        if self.has("scan-jobs"):
            commands[4:4] = [["jobs", "mail"], ["export"]]
        for words in commands:
            with open("/dev/full", "wb") as full:
                ended = subprocess.run(
                    [TOOL, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                    timeout=60, check=False, env={"HARICOT_ADDR": self.server.address})
            self.assertEqual(ended.returncode, LOCAL, (words, ended.stderr))
            self.assertEqual(ended.stderr.count(b"cannot write to stdout: No space"), 1, words)


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


if __name__ == "__main__":
    unittest.main()
