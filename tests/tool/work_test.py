#!/usr/bin/env python3
"""haricot work, as a black box, against any beanstalk server.

    work_test.py HARICOT SERVER [FLAG...]
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import BINARY, FLAGS, OperatorTest, TOOL
from operator_server import (DEADLINE_S, DONE, NO, NO_SERVER, USAGE, Scripted, Server, run,
                             wait_until)

# Runs until a file is there, and says who it is.
WAITER = 'echo $$ >"$F.$HARICOT_JOB_ID"; while [ ! -e "$F" ]; do sleep 0.02; done; echo ready'


class WorkTest(OperatorTest):
    def setUp(self):
        super().setUp()
        self.file = self.server.folder.name + "/file"

    def work(self, *words, **more):
        """Its stdout and the lines of its stderr."""
        status, output, error = self.haricot("work", *words, **more)
        self.assertEqual(status, DONE, error)
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
        """The program of a job, when it runs."""
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
        _, error = self.work("-w0", "--", "echo", "{}")
        self.assertIn("job 1: has a body that cannot be an argument: buried", error[0])
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
            self.assertEqual(error[0], "haricot work: job 1: its program ended with status 1: "
                             f"released, ready in {delay} s")
            job = self.good_json("stats", "1")
            self.assertEqual((job["state"], job["delay"]), ("delayed", delay))
            self.assertEqual((job["pri"], job["releases"]), (77, releases))
            self.good("kick", "1")

    def test_after_some_tries_a_job_is_buried(self):
        self.server.put("x", priority=77)
        output, error = self.work("-w0", "--tries", "3", "-d0", "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(output, "")
        said = "haricot work: job 1: its program was ended by signal 9: "
        self.assertEqual(error, [said + "released, ready in 0 s"] * 2 +
                         [said + "buried after 3 tries",
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
        self.server.put("x", ttr=3)
        tool = self.start("-c1", "--", "sh", "-c", WAITER)
        # So many touches take longer than the TTR.
        wait_until(lambda: int(self.server.stat("cmd-touch")) >= 3)
        job = self.good_json("stats", "1")
        self.assertEqual((job["state"], job["timeouts"]), ("reserved", 0))
        self.go()
        self.assertEqual(self.result(tool)[0], DONE)
        self.assertEqual(self.states(), [0, 0, 0, 0])

    def test_output_that_nobody_reads_does_not_stop_the_touches(self):
        self.server.put("x", ttr=3)
        tool = self.start("-qc1", "--", "sh", "-c", "yes | head -c 1000000")
        wait_until(lambda: int(self.server.stat("cmd-touch")) >= 2)
        self.assertEqual(self.good_json("stats", "1")["state"], "reserved")
        status, output, _ = self.result(tool)
        self.assertEqual((status, output), (DONE, "[1] y\n" * 500000))

    def test_mistakes(self):
        self.refused(USAGE, "it takes a program", "work", "-w0")
        self.refused(NO, "there is no program no-such-program; tubes are named by --tube\n",
                     "work", "no-such-program", "--wait", "0", "--", "true")
        self.refused(NO, "there is no program no-such-program\n",
                     "work", "-t", "mail", "--", "no-such-program")
        self.refused(NO, "there is no program /etc/passwd", "work", "--", "/etc/passwd")
        self.refused(USAGE, "is not a number from 1 to 1000", "work", "-j0", "--", "true")
        self.server.stop()
        self.refused(NO_SERVER, "", "work", "--", "true")


    def test_a_server_in_drain_mode_has_its_jobs_done(self):
        for body in ("false", "true", "true"):
            self.server.put(body)
        self.server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.server.stat("draining") == "true")
        _, error = self.work("-w0", "-d", "100", "--", "sh", "-c", "{}")
        self.assertEqual(error[-1], "haricot work: 2 done, 1 released, 0 buried")
        self.assertEqual(self.states(), [0, 0, 1, 0])

    def test_a_server_without_memory_for_a_release_buries_the_job(self):
        def answer(line):
            if line.startswith("reserve-with-timeout"):
                given.append(line)
                return b"RESERVED 7 1\r\nx\r\n" if len(given) == 1 else b"TIMED_OUT\r\n"
            body = "---\nid: 7\ntube: default\npri: 5\nttr: 60\nreserves: 1\n"
            return {"stats-job": f"OK {len(body)}\r\n{body}\r\n".encode(),
                    "release": b"BURIED\r\n", "watch": b"WATCHING 1\r\n"}[line.split()[0]]

        given = []
        with Scripted(answer) as server:
            status, _, error = run(TOOL, "work", "-w0", "--", "false", address=server.address)
        lines = error.splitlines()
        self.assertEqual(status, DONE)
        self.assertEqual(lines[1], "haricot work: job 7 was buried: it has no try left, or the "
                         "server no memory to release it")
        self.assertEqual(lines[-1], "haricot work: 0 done, 0 released, 1 buried")


class Ends(WorkTest):
    def test_the_first_signal_lets_programs_end(self):
        self.server.put("x")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            tool = self.start("--", "sh", "-c", WAITER)
            job = int(self.server.stat("total-jobs"))
            self.process_of(job)
            self.server.put("y")
            tool.send_signal(number)
            # It has taken no other job when it has taken the signal.
            self.go()
            status, output, error = self.result(tool)
            self.assertEqual((status, output), (DONE, f"[{job}] ready\n"))
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
        self.assertIn("job 1: its program was ended by signal 15: given back", error[0])
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
        self.assertEqual(tool.wait(DEADLINE_S), NO)
        self.assertIn("cannot write to stdout: Broken pipe", error)
        tool.stdout = open(os.devnull, encoding="ascii")


class LostServer(WorkTest):
    def restart(self):
        if os.path.exists(self.server.path):
            os.unlink(self.server.path)
        self.server.start()

    def test_it_connects_again_and_says_what_may_be_done_twice(self):
        self.server.put("x")
        tool = self.start("-c", "2", "--", "sh", "-c", WAITER)
        program = self.process_of(1)
        self.server.stop()
        first = tool.stderr.readline()
        self.assertIn("the program of job 1 goes on, and the server gives the job to another worker",
                      first)
        self.assertTrue(is_alive(program))
        self.go()
        self.assertEqual(tool.stderr.readline(),
                         "haricot work: the program of job 1 ended with status 0, but the job was not "
                         "held any more: it may be done twice\n")
        self.restart()
        self.server.put("y")
        status, output, error = self.result(tool)
        self.assertEqual((status, output), (DONE, "[1] ready\n[1] ready\n"))
        self.assertEqual(error[-1], "haricot work: 1 done, 0 released, 0 buried, 1 may be done twice")
        self.assertEqual(self.states(), [0, 0, 0, 0])

    def test_a_waiting_worker_is_there_again(self):
        tool = self.start("-j", "2", "-c", "1", "--", "true")
        wait_until(lambda: self.server.stat("current-waiting") == "1")
        self.server.stop()
        self.assertIn(": trying again", tool.stderr.readline())
        self.restart()
        self.server.put("y")
        status, _, error = self.result(tool)
        self.assertEqual(status, DONE)
        self.assertEqual(error, [f"haricot work: {self.server.address} answers again",
                                 "haricot work: 1 done, 0 released, 0 buried"])

    def test_a_job_of_another_binlog_with_the_same_id_is_left_alone(self):
        self.server.put("x")
        tool = self.start("-j", "2", "-c", "2", "--plain", "--", "sh", "-c", "cat; " + WAITER)
        self.process_of(1)
        self.server.stop()
        self.restart()
        self.assertEqual(self.server.put("another one"), 1)
        self.server.put("third")
        # The slot that is free takes job 1 of this server while the program of the first job 1 runs.
        wait_until(lambda: self.good_json("stats", "1")["state"] == "reserved")
        self.go()
        status, output, error = self.result(tool)
        self.assertEqual(status, DONE)
        self.assertEqual(output.count("ready\n"), 2)
        self.assertIn("another one", output)
        self.assertEqual(error[-1], "haricot work: 1 done, 0 released, 0 buried, 1 may be done twice")
        self.assertEqual(self.states(), [1, 0, 0, 0])
        self.assertEqual(self.server.ask("peek 2").split("\r\n")[1], "third")

    def test_tries_are_counted_on_while_the_server_is_started_again(self):
        with tempfile.TemporaryDirectory() as folder, Server(BINARY, *FLAGS, "-b", folder) as server:
            self.server = server
            server.put("x")
            said = []
            for _ in range(2):
                said += self.work("-c1", "-w0", "--tries", "4", "-d0", "--", "false")[1]
                server.stop()
                self.restart()
            said += self.work("-w0", "--tries", "4", "-d0", "--", "false")[1]
            # beanstalkd counts a job's reserves from its start on.
            tries = 4 if pathlib.Path(BINARY).name == "haricotd" else 6
            self.assertEqual(sum("program ended with status 1: " in line for line in said), tries, said)
            self.assertEqual(self.states(), [0, 0, 0, 1])

    def test_with_a_limit_it_gives_up(self):
        tool = self.start("--wait", "1", "--", "sh", "-c", WAITER)
        self.server.put("x")
        self.process_of(1)
        self.server.stop()
        self.go()
        self.assertEqual(self.result(tool)[0], NO_SERVER)


def is_pending(process, number):
    """Whether a signal waits for the process to take it."""
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
