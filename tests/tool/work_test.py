#!/usr/bin/env python3
"""Tests haricot work as a black box, against any beanstalk server.

    work_test.py HARICOT SERVER [FLAG...]
"""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL, output_on_terminal
from operator_server import DEADLINE_S, DONE, LOCAL, NO_SERVER, USAGE, Scripted, run, wait_until

# Exit statuses of `work` only: jobs were buried; the program cannot be executed; the program was not found.
BURIED, NOT_EXECUTED, NOT_FOUND = 7, 126, 127

# Writes its process id to a file, and runs until another file exists.
WAITER = 'echo $$ >"$F.$HARICOT_JOB_ID"; while [ ! -e "$F" ]; do sleep 0.02; done; echo ready'


class WorkTest(OperatorTest):
    def setUp(self):
        super().setUp()
        self.file = self.server.folder.name + "/file"

    def work(self, *words, ends=DONE, **more):
        """Runs `haricot work`. Returns its stdout and the lines of its stderr."""
        status, output, error = self.haricot("work", *words, **more)
        self.assertEqual(status, ends, error)
        return output.decode(), error.splitlines()

    def start(self, *words, **more):
        tool = subprocess.Popen(
            [TOOL, "work", "-a", self.server.address, *words], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "F": self.file}, **more)
        self.addCleanup(self.end, tool)
        return tool

    def end(self, tool):
        tool.kill()
        tool.wait()
        tool.stdout.close()
        tool.stderr.close()

    def result(self, tool):
        output, error = tool.communicate(timeout=DEADLINE_S)
        return tool.returncode, output, error.splitlines()

    def process_of(self, job):
        """Waits until the program of a job runs, and returns its process id."""
        path = pathlib.Path(f"{self.file}.{job}")
        wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
        return int(path.read_text())

    def go(self):
        pathlib.Path(self.file).touch()

    def states(self):
        return [self.count(state) for state in ("ready", "reserved", "delayed", "buried")]


class Work(WorkTest):
    def test_a_program_that_succeeds_deletes_its_job(self):
        for body in ("one", "two\nlines\n", "", "x" * 60000):
            self.server.put(body)
        output, error = self.work("--wait", "0", "--", "sh", "-c", "cat; echo; echo to stderr >&2")
        lines = output.split("\n")
        self.assertEqual(lines[:6], ["[1] one", "[2] two", "[2] lines", "[2] ", "[3] ",
                                     "[4] " + "x" * 8192])
        self.assertEqual(sum(line.count("x") for line in lines), 60000)
        self.assertEqual(error, [f"[{i}] to stderr" for i in (1, 2, 3, 4)] +
                         ["haricot work: 4 done, 0 released, 0 buried"])
        self.assertEqual(self.states(), [0, 0, 0, 0])

    def test_a_body_can_be_an_argument(self):
        self.server.put("a b; c")
        output, _ = self.work("-w0", "--", "sh", "-c", 'echo "$# $1"; cat', "sh", "<{}>")
        self.assertEqual(output, "[1] 1 <a b; c>\n")

    def test_a_body_that_cannot_be_an_argument_buries_its_job(self):
        self.server.put("a\0b")
        _, error = self.work("-w0", "--", "echo", "{}", ends=BURIED)
        self.assertIn("job 1: its body cannot be an argument: buried", error[0])
        self.assertEqual(self.states(), [0, 0, 0, 1])

    def test_the_environment_has_the_job(self):
        self.server.put("x", "mail", priority=7, ttr=9)
        output, _ = self.work("-qt", "mail", "-w0", "--", "sh", "-c", "env | grep ^HARICOT_JOB | sort")
        self.assertEqual(output, "[1] HARICOT_JOB_ID=1\n[1] HARICOT_JOB_PRIORITY=7\n"
                         "[1] HARICOT_JOB_RESERVES=1\n[1] HARICOT_JOB_TTR=9\n"
                         "[1] HARICOT_JOB_TUBE=mail\n")

    def test_plain_output_has_no_prefix(self):
        self.server.put("x")
        self.assertEqual(self.work("--plain", "-q", "-w0", "--", "cat"), ("x", []))

    def test_tubes_can_be_several(self):
        for tube in ("a", "b", "c", "default"):
            self.server.put(tube, tube)
        output, _ = self.work("-t", "a", "-t", "c", "-w0", "--", "cat")
        self.assertEqual(output, "[1] a\n[3] c\n")
        self.assertEqual(self.count("ready"), 2)

    def test_a_program_that_fails_releases_its_job_for_longer_and_longer(self):
        self.server.put("x", priority=77)
        for releases, delay in ((1, 100), (2, 200), (3, 250)):
            _, error = self.work("-w0", "--delay", "100", "--delay-max", "250s", "--", "false")
            self.assertEqual(error[0], "haricot work: job 1: its program exited with status 1: "
                             f"released, ready in {delay} s")
            job = self.good_json("stats", "1")
            self.assertEqual((job["state"], job["delay"]), ("delayed", delay))
            self.assertEqual((job["pri"], job["releases"]), (77, releases))
            self.good("kick", "1")

    def test_after_some_tries_a_job_is_buried(self):
        self.server.put("x", priority=77)
        output, error = self.work("-w0", "--tries", "3", "-d0", "--", "sh", "-c", "kill -9 $$",
                                  ends=BURIED)
        self.assertEqual(output, "")
        printed = "haricot work: job 1: its program was killed by signal 9: "
        self.assertEqual(error, [printed + "released, ready in 0 s"] * 2 +
                         [printed + "buried after 3 tries",
                          "haricot work: 0 done, 2 released, 1 buried"])
        job = self.good_json("stats", "1")
        self.assertEqual((job["state"], job["pri"], job["reserves"]), ("buried", 77, 3))

    def test_several_programs_run_at_the_same_time(self):
        for _ in range(5):
            self.server.put("x")
        tool = self.start("-j", "3", "-c", "4", "--", "sh", "-c", WAITER)
        wait_until(lambda: self.count("reserved") == 3)
        self.assertEqual(self.count("ready"), 2)
        self.go()
        status, output, error = self.result(tool)
        self.assertEqual((status, sorted(output.splitlines())),
                         (DONE, [f"[{i}] ready" for i in (1, 2, 3, 4)]))
        self.assertEqual(error, ["haricot work: 4 done, 0 released, 0 buried"])
        self.assertEqual(self.states(), [1, 0, 0, 0])

    def test_many_short_jobs_are_done_once_each(self):
        bodies = "".join(f"{i}\n" for i in range(300))
        self.good("put", "-ql", stdin=bodies.encode())
        output, error = self.work("-j", "8", "-w0", "--plain", "--", "echo", "{}")
        self.assertEqual(sorted(output.split(), key=int), bodies.split())
        self.assertEqual(error, ["haricot work: 300 done, 0 released, 0 buried"])

    def test_a_job_is_touched_while_its_program_runs(self):
        # The machine must not be late by half of the TTR.
        self.server.put("x", ttr=6)
        tool = self.start("-c1", "--", "sh", "-c", WAITER)
        # Three touches take longer than the TTR.
        wait_until(lambda: int(self.server.stat("cmd-touch")) >= 3)
        job = self.good_json("stats", "1")
        self.assertEqual((job["state"], job["timeouts"]), ("reserved", 0))
        self.go()
        self.assertEqual(self.result(tool)[0], DONE)
        self.assertEqual(self.states(), [0, 0, 0, 0])

    def test_unread_output_does_not_stop_the_touches(self):
        self.server.put("x", ttr=6)
        tool = self.start("-qc1", "--", "sh", "-c", "yes | head -c 1000000")
        wait_until(lambda: int(self.server.stat("cmd-touch")) >= 2)
        self.assertEqual(self.good_json("stats", "1")["state"], "reserved")
        status, output, _ = self.result(tool)
        self.assertEqual((status, output), (DONE, "[1] y\n" * 500000))

    def test_mistakes(self):
        self.refused(USAGE, "requires a program", "work", "-w0")
        self.refused(NOT_FOUND, "there is no program no-such-program; name a tube with --tube\n",
                     "work", "no-such-program", "--wait", "0", "--", "true")
        self.refused(NOT_FOUND, "there is no program no-such-program\n",
                     "work", "-t", "mail", "--", "no-such-program")
        self.refused(NOT_EXECUTED, "/etc/passwd cannot be executed", "work", "--", "/etc/passwd")
        self.refused(USAGE, "is not a list of exit statuses", "work", "--bury-on", "0", "--", "true")
        self.refused(USAGE, "is not a number from 1 to 1000", "work", "-j0", "--", "true")
        self.server.stop()
        self.refused(NO_SERVER, "", "work", "--", "true")


    def test_the_time_of_an_answer_is_no_time_of_a_program(self):
        self.server.put("x")
        words = ["work", "--wait", "0", "--timeout", "30s"]
        status, _, error = self.haricot(*words, "true")
        self.assertEqual(status, DONE)
        self.assertIn("--timeout limits answers of the server; to limit a program use --max-time", error)
        for more in (["--quiet"], ["--max-time", "5"]):
            self.assertNotIn("--max-time ends", self.haricot(*words, *more, "true")[2])

    def test_a_server_in_drain_mode_has_its_jobs_done(self):
        for body in ("false", "true", "true"):
            self.server.put(body)
        self.server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.server.stat("draining") == "true")
        _, error = self.work("-w0", "-d", "100", "--", "sh", "-c", "$1", "sh", "{}")
        self.assertEqual(error[-1], "haricot work: 2 done, 1 released, 0 buried")
        self.assertEqual(self.states(), [0, 0, 1, 0])

    def test_a_server_without_memory_for_a_release_buries_the_job(self):
        def answer(line):
            if line.startswith("reserve-with-timeout"):
                given.append(line)
                return b"RESERVED 7 1\r\nx\r\n" if len(given) == 1 else b"TIMED_OUT\r\n"
            body = "---\nid: 7\ntube: default\npri: 5\nttr: 60\nreserves: 1\n"
            return {"stats-job": f"OK {len(body)}\r\n{body}\r\n".encode(),
                    "release": b"BURIED\r\n", "watch": b"WATCHING 1\r\n",
                    "capabilities": b"UNKNOWN_COMMAND\r\n"}[line.split()[0]]

        given = []
        with Scripted(answer) as server:
            status, _, error = run(TOOL, "work", "-w0", "--", "false", address=server.address)
        lines = error.splitlines()
        self.assertEqual(status, BURIED)
        self.assertEqual(lines[1], "haricot work: job 7 was buried: it has no try left, or the "
                         "server had no memory to release it")
        self.assertEqual(lines[-1], "haricot work: 0 done, 0 released, 1 buried")


class Words(WorkTest):
    """Tests the words of the program, and bodies in them."""

    def test_the_first_operand_ends_the_options(self):
        self.server.put("x", "mail")
        output, _ = self.work("-q", "-t", "mail", "-w0", "echo", "-q", "hello", "--wait", "5")
        self.assertEqual(output, "[1] -q hello --wait 5\n")
        self.server.put("x")
        self.assertEqual(self.work("-qw0", "echo", "--", "--help")[0], "[2] -- --help\n")

    def test_no_body_becomes_a_text_that_a_shell_runs(self):
        self.server.put("x; touch " + self.file)
        for words in (["sh", "-c", "echo {}"], ["/bin/bash", "-lc", "echo '{}'"],
                      ["env", "A=b", "sh", "-e", "-c", "echo {}"],
                      ["timeout", "9", "bash", "-o", "pipefail", "-c", "echo {}"],
                      ["perl", "-ne", "print {}"], ["perl", "-e{}"], ["python3", "-c", "print({})"],
                      ["ssh", "host", "deliver", "{}"]):
            if subprocess.run(["which", words[0]], capture_output=True, check=False).returncode:
                continue
            with self.subTest(words):
                self.refused(USAGE, "the body would be a command", "work", "-w0", "--", *words)
        self.assertFalse(os.path.exists(self.file))
        # As an argument of the script, the body is data.
        output, _ = self.work("-qw0", "--", "sh", "-c", 'echo "$1"', "sh", "{}")
        self.assertEqual(output, f"[1] x; touch {self.file}\n")
        self.server.put("y")
        self.assertEqual(self.work("-qw0", "--", "echo", "sh", "-x", "{}")[0], "[2] sh -x y\n")

    def test_a_terminal_gets_nothing_that_steers_it(self):
        for plain, shown in (((), rb"] a\x1b[2J\xe2\x80\xaez"), (["--plain"], b"a\x1b[2J\xe2\x80\xaez")):
            self.server.put("a\x1b[2J\xe2\x80\xaez")
            output = output_on_terminal("work", "-qw0", *plain, "--", "cat",
                                        address=self.server.address)
            self.assertIn(shown, output)
            self.server.put("a\x1b[2J\xe2\x80\xaez")
            output = output_on_terminal("work", "-qw0", *plain, "--", "sh", "-c", "cat >&2",
                                        address=self.server.address)
            self.assertIn(shown, output)
        self.server.put("a\x1b[2Jz")
        self.assertEqual(self.work("-qw0", "--", "cat")[0], "[5] a\x1b[2Jz\n")


class Failures(WorkTest):
    def program(self, text):
        path = pathlib.Path(self.server.folder.name, "program")
        path.write_text(text)
        path.chmod(0o755)
        return path

    def test_a_program_that_cannot_be_executed_takes_no_try_of_any_job(self):
        for _ in range(5):
            self.server.put("x", priority=7)
        gone = self.program("#!/nonexistent/interpreter\n")
        _, error = self.work("-w0", "-j2", "--tries", "1", "--", gone, ends=NOT_FOUND)
        self.assertRegex(error[0], "job [12]: cannot execute .*/program: No such file.*: released, ready now")
        self.assertEqual(self.states(), [5, 0, 0, 0])
        self.assertEqual(self.good_json("stats", "5")["reserves"], 0)
        job = self.good_json("stats", "1")
        self.assertEqual((job["state"], job["pri"], job["delay"]), ("ready", 7, 0))
        # The status 127 of the program itself is a failure of the program.
        _, error = self.work("-c1", "--tries", "1", "--", "sh", "-c", "exit 127", ends=BURIED)
        self.assertIn("its program exited with status 127: buried after", error[0])

    def test_a_local_failure_uses_up_no_try(self):
        self.server.put("x")
        ended = subprocess.run(["bash", "-c", 'ulimit -n 8; exec "$@"', "bash", TOOL, "work", "-a",
                                self.server.address, "--tries", "1", "--", "true"], capture_output=True,
                               text=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, LOCAL, ended.stderr)
        self.assertIn("job 1: cannot create a pipe: Too many open files: released, ready now", ended.stderr)
        self.assertEqual(self.states(), [1, 0, 0, 0])

    def test_a_program_that_goes_ends_the_work(self):
        for _ in range(3):
            self.server.put("x")
        program = self.program('#!/bin/sh\nrm "$0"\n')
        self.work("--tries", "1", "--", program, ends=NOT_FOUND)
        self.assertEqual(self.states(), [2, 0, 0, 0])

    def test_a_job_whose_last_try_it_was_is_kicked(self):
        if not self.has("flush-tube"):
            self.skipTest("the server knows no tries")
        self.server.ask("put 7 0 60 1 try:1", "x")
        self.work("--", self.program("#!/nonexistent/interpreter\n"), ends=NOT_FOUND)
        self.assertEqual(self.states(), [1, 0, 0, 0])
        self.work("-w0", "--", "true")
        self.assertEqual(self.states(), [0, 0, 0, 0])

    def test_a_body_that_leaves_no_room_for_the_other_arguments_buries_its_job(self):
        self.server.put("x" * 60000)
        # 40 times 60,000 bytes exceed the limit for all arguments of a program.
        _, error = self.work("-w0", "--", "true", *["{}"] * 40, ends=BURIED)
        self.assertIn("job 1: its body cannot be an argument: buried", error[0])

    def test_statuses_that_bury_at_once(self):
        for body in ("3", "65", "66", "70", "71", "0"):
            self.server.put(body)
        output = self.work("-w0", "-d100", "--bury-on", "65,66-70", "--tries", "5", "--", "sh", "-c",
                           'exit "$1"', "sh", "{}", ends=BURIED)[1]
        self.assertEqual(output[-1], "haricot work: 1 done, 2 released, 3 buried")
        self.assertIn("haricot work: job 2: its program exited with status 65: buried", output)
        self.assertEqual(self.states(), [0, 0, 2, 3])

    def test_a_job_that_failed_has_a_note(self):
        if not self.has("note"):
            self.skipTest("the server has no notes")
        script = "echo first >&2; echo 'SMTP: no answer' >&2; echo >&2; echo output; [ $1 != kill ] || kill -9 $$; exit 3"
        for body, note in (("x", "exited with status 3: SMTP: no answer"),
                           ("kill", "was killed by signal 9: SMTP: no answer")):
            job = self.server.put(body)
            self.work("-w0", "--tries", "1", "--", "sh", "-c", script, "sh", "{}", ends=BURIED)
            self.assertEqual(self.good("note", job), note + "\n")
        job = self.server.put("x")
        self.work("-w0", "-d100", "--", "sh", "-c", f"printf {'x' * 1500} >&2; exit 4")
        self.assertEqual(self.good("note", job), ("exited with status 4: " + "x" * 1500)[:1024] + "\n")
        job = self.server.put("x")
        self.work("-w0", "-d100", "--plain", "--", "sh", "-c", "exit 5")
        self.assertEqual(self.good("note", job), "exited with status 5\n")

    def test_a_program_that_takes_too_long_is_ended(self):
        self.server.put("x")
        _, error = self.work("-w0", "--max-time", "250ms", "--tries", "1", "--", "sh", "-c",
                             "sleep 600", ends=BURIED)
        self.assertEqual(error[0], "haricot work: job 1: its program took longer than 0.25 s and was "
                         "killed by signal 15: buried after 1 tries")
        self.server.put("x")
        self.assertEqual(self.work("-w0", "--max-time", "10m", "--", "true")[1][-1],
                         "haricot work: 1 done, 0 released, 0 buried")

    def test_a_program_that_ignores_that_is_killed(self):
        self.server.put("x")
        _, error = self.work("-w0", "--max-time", "200ms", "-d100", "--", "sh", "-c",
                             "trap '' TERM; while :; do sleep 1; done")
        self.assertIn("took longer than 0.2 s and was killed by signal 9: released", error[0])


class JobLog(WorkTest):
    HEAD = ["Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal",
            "Command", "Tube", "Reserves", "End"]

    def rows(self):
        lines = pathlib.Path(self.file).read_text().split("\n")
        self.assertEqual(lines.pop(), "")
        rows = [line.split("\t") for line in lines]
        self.assertEqual(rows.pop(0), self.HEAD)
        for row in rows:
            self.assertEqual(len(row), len(self.HEAD), row)
            self.assertRegex(row[2], r"^(\d{10}\.\d{3}|0\.000)$")
            self.assertRegex(row[3], r"^\d+\.\d{3}$")
        return [row[:2] + row[4:] for row in rows]

    def test_it_has_a_line_for_each_run(self):
        for body in ("0", "3", "kill"):
            self.server.put(body, "mail")
        script = 'case $1 in kill) kill -9 $$ ;; *) echo a\tb; exit "$1" ;; esac'
        words = ("-t", "mail", "-qw0", "-d100", "--joblog", self.file, "--bury-on", "3", "--")
        self.work(*words, "sh", "-c", script, "sh", "{}", ends=BURIED)
        command = "sh -c 'case $1 in kill) kill -9 $$ ;; *) echo a\\x09b; exit \"$1\" ;; esac' sh '{}'"
        self.assertEqual(self.rows(), [
            ["1", ":", "1", "4", "0", "0", command, "mail", "1", "done"],
            ["2", ":", "1", "4", "3", "0", command, "mail", "1", "buried"],
            ["3", ":", "4", "0", "0", "9", command, "mail", "1", "released"]])
        self.server.put("a\tb\nc", "mail")
        self.work(*words, "wc", "-c")  # The log is appended to.
        self.assertEqual(self.rows()[3:], [["4", ":", "5", "2", "0", "0", "wc -c", "mail", "1", "done"]])

    def test_it_lists_jobs_that_never_ran(self):
        self.server.put("a\0b")
        self.work("-qw0", "--joblog", self.file, "--", "echo", "{}", ends=BURIED)
        gone = pathlib.Path(self.server.folder.name, "gone")
        gone.write_text("#!/nonexistent/interpreter\n")
        gone.chmod(0o755)
        self.server.put("x")
        self.work("-q", "--joblog", self.file, "--", gone, ends=NOT_FOUND)
        self.assertEqual([(row[0], row[4], row[-1]) for row in self.rows()],
                         [("1", "-1", "buried"), ("2", "127", "released")])

    def test_without_room_for_it_the_work_ends(self):
        self.server.put("x")
        self.server.put("y")
        _, error = self.work("--joblog", "/dev/full", "--", "true", ends=LOCAL)
        self.assertIn("cannot write to /dev/full: No space left", "\n".join(error))
        self.assertEqual(self.states(), [1, 0, 0, 0])
        self.refused(LOCAL, "cannot open /nowhere/log: No such file", "work", "--joblog", "/nowhere/log",
                     "--", "true")


class Ends(WorkTest):
    def test_the_first_signal_lets_programs_end(self):
        self.server.put("x")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            tool = self.start("--", "sh", "-c", WAITER)
            job = int(self.server.stat("total-jobs"))
            self.process_of(job)
            self.server.put("y")
            tool.send_signal(number)
            # After the signal it reserves no more jobs.
            self.go()
            status, output, error = self.result(tool)
            # SIGTERM ends a service; Ctrl-C also has to end the shell's loop around the tool.
            wanted = -number if number == signal.SIGINT else DONE
            self.assertEqual((status, output), (wanted, f"[{job}] ready\n"))
            self.assertEqual(error, ["haricot work: 1 done, 0 released, 0 buried"])
            self.assertEqual(self.states(), [1, 0, 0, 0])
            os.unlink(self.file)

    def test_a_worker_that_waits_ends_at_once(self):
        tool = self.start("-j", "3", "--", "true")
        wait_until(lambda: self.server.stat("current-waiting") == "3")
        tool.send_signal(signal.SIGTERM)
        self.assertEqual(self.result(tool)[0], DONE)

    def test_the_second_signal_gives_jobs_back(self):
        self.server.put("x", priority=5)
        tool = self.start("--tries", "1", "--", "sh", "-c", WAITER)
        program = self.process_of(1)
        tool.send_signal(signal.SIGTERM)
        wait_until(lambda: not is_pending(tool.pid, signal.SIGTERM))
        self.assertIsNone(tool.poll())
        tool.send_signal(signal.SIGTERM)
        status, _, error = self.result(tool)
        self.assertEqual(status, DONE)
        self.assertIn("job 1: its program was killed by signal 15: released, ready now", error[0])
        self.assertFalse(is_alive(program))
        job = self.good_json("stats", "1")
        self.assertEqual((job["state"], job["pri"], job["delay"]), ("ready", 5, 0))

    def test_a_program_that_ignores_the_second_signal_is_killed_by_the_third(self):
        self.server.put("x")
        tool = self.start("--", "sh", "-c", "trap '' TERM; " + WAITER)
        program = self.process_of(1)
        for _ in range(3):
            wait_until(lambda: not is_pending(tool.pid, signal.SIGTERM))
            tool.send_signal(signal.SIGTERM)
        self.assertEqual(self.result(tool)[0], DONE)
        self.assertFalse(is_alive(program))
        self.assertEqual(self.states(), [1, 0, 0, 0])

    def test_if_it_is_killed_its_programs_are_killed(self):
        self.server.put("x")
        tool = self.start("--", "sh", "-c", "trap '' TERM INT HUP; " + WAITER)
        program = self.process_of(1)
        tool.kill()
        tool.wait()
        wait_until(lambda: not is_alive(program))
        wait_until(lambda: self.states() == [1, 0, 0, 0])

    def test_a_reader_that_goes_ends_it(self):
        self.server.put("x")
        self.server.put("y")
        tool = self.start("--", "sh", "-c", WAITER)
        self.process_of(1)
        tool.stdout.close()
        self.go()
        error = tool.stderr.read()
        self.assertEqual(tool.wait(DEADLINE_S), LOCAL)
        self.assertIn("cannot write to stdout: Broken pipe", error)
        tool.stdout = open(os.devnull, encoding="ascii")


def is_pending(process, number):
    """Returns true if a signal is pending for the process."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    masks = [line.split()[1] for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd"))]
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)


def is_alive(process):
    try:
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


if __name__ == "__main__":
    unittest.main()
