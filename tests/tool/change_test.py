#!/usr/bin/env python3
"""Tests the subcommands that change jobs and tubes as black boxes, against any beanstalk server.

    change_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import socket
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL, output_on_terminal
from operator_server import DONE, LOCAL, NO, NO_SERVER, REFUSED, USAGE, wait_until


class Put(OperatorTest):
    def body(self, job):
        return self.haricot("peek", job)[1]

    def test_each_word_is_a_job(self):
        self.assertEqual(self.good("put", "one", "two"), "1\n2\n")
        self.assertEqual((self.body(1), self.body(2)), (b"one", b"two"))

    def test_stdin_or_a_file_is_a_job(self):
        self.assertEqual(self.good("put", stdin=b"line\nline\n\x00"), "1\n")
        self.assertEqual(self.body(1), b"line\nline\n\x00")
        self.assertEqual(self.good("put", "-", stdin=b"dash"), "2\n")
        self.assertEqual(self.body(2), b"dash")
        path = self.server.folder.name + "/body"
        pathlib.Path(path).write_bytes(b"in a file")
        self.assertEqual(self.good("put", "--file", path), "3\n")
        self.assertEqual(self.body(3), b"in a file")
        self.refused(LOCAL, "cannot open /nowhere", "put", "-f", "/nowhere")

    def test_an_empty_body_is_put_only_if_it_is_meant(self):
        path = self.server.folder.name + "/nothing"
        pathlib.Path(path).touch()
        self.refused(NO, "stdin is empty, no job was put; --empty", "put", stdin=b"")
        self.refused(NO, "stdin is empty", "put", "-", stdin=b"")
        self.refused(NO, f"{path} is empty", "put", "--file", path)
        self.assertEqual(self.server.stat("total-jobs"), "0")
        self.assertEqual(self.good("put", "--empty", stdin=b""), "1\n")
        self.assertEqual(self.good("put", "--empty", "-f", path), "2\n")
        self.refused(USAGE, "a body is empty, no job was put; --empty", "put", "x", "")
        self.assertEqual(self.good("put", "--empty", ""), "3\n")
        self.assertEqual([self.body(i) for i in (1, 2, 3)], [b"", b"", b""])
        self.assertEqual(self.good("put", "--empty", stdin=b"x"), "4\n")
        self.assertEqual(self.body(4), b"x")
        self.assertEqual(self.good("put", "--lines", stdin=b""), "")

    def test_it_has_the_properties_of_the_flags(self):
        self.good("put", "-t", "mail", "-p", "5", "-d", "100", "-r", "7", "x")
        job = self.good_json("stats", "1")
        self.assertEqual((job["tube"], job["pri"], job["ttr"]), ("mail", 5, 7))
        self.assertEqual((job["delay"], job["state"]), (100, "delayed"))
        self.good("put", "x")
        job = self.good_json("stats", "2")
        self.assertEqual((job["tube"], job["pri"], job["ttr"]), ("default", 1024, 60))

    def test_each_line_is_a_job(self):
        lines = [f"job number {i}".encode() for i in range(2000)] + [b"in between", b"last"]
        ids = self.good("put", "--lines", stdin=b"\n".join(lines)).split()
        self.assertEqual(ids, [str(i + 1) for i in range(len(lines))])
        self.assertEqual([self.body(i) for i in (1, 2000, 2001, 2002)],
                         [lines[0], lines[1999], b"in between", b"last"])

    def test_a_line_is_put_at_once(self):
        tool = subprocess.Popen([TOOL, "put", "-l", "-j", "-a", self.server.address],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for job in (1, 2):
            tool.stdin.write(b"x\n")
            tool.stdin.flush()
            self.assertEqual(json.loads(tool.stdout.readline()), {"id": job, "buried": False})
        tool.communicate()
        self.assertEqual(tool.returncode, DONE)

    def test_a_refused_job_is_reported_with_its_line(self):
        output = self.refused(REFUSED, "line 2: JOB_TOO_BIG", "put", "-l",
                              stdin=b"x\n" + b"y" * 70000 + b"\nz\n")
        self.assertEqual(len(output.split()), 2)
        self.refused(REFUSED, "exceeds the server's max-job-size", "put", stdin=b"y" * 70000)
        self.server.process.send_signal(10)
        wait_until(lambda: self.server.stat("draining") == "true")
        self.refused(REFUSED, "the server is in drain mode", "put", "x")

    def test_a_time_can_have_units(self):
        self.good("put", "-d", "1h30m", "-r", "2m", "x")
        job = self.good_json("stats", "1")
        self.assertEqual((job["delay"], job["ttr"]), (5400, 120))

    def test_quiet_prints_no_ids(self):
        self.assertEqual(self.good("put", "-q", "one", "two"), "")
        self.assertEqual(self.good("put", "-ql", "--json", stdin=b"three\n"), "")
        self.assertEqual(self.count("ready"), 3)
        self.assertEqual(self.good("bury", "-q", "1"), "")
        self.assertEqual(self.good("kick", "-q", "1"), "")
        self.assertEqual(self.good("bury", "-q", "1"), "")
        self.assertEqual(self.good("kick", "-q", "-t", "default", "--all"), "")
        self.assertEqual(self.good("delete", "-q", "1", "2"), "")
        self.assertEqual(self.good("delete", "-qy", "-t", "default", "--all"), "")
        self.assertEqual(self.refused(NO, "job 1 does not exist", "delete", "-q", "1"), "")

    def test_mistakes(self):
        self.refused(USAGE, "'-x' is not a tube name", "put", "--tube=-x", "b")
        self.refused(USAGE, "excludes --lines", "put", "--lines", "b")
        self.refused(USAGE, "is not a number", "put", "-p", "4294967296", "b")


class Kick(OperatorTest):
    def bury(self, count):
        for _ in range(count):
            self.server.put("x", "mail")
            self.server.ask("watch mail", "ignore default", "reserve",
                            f"bury {int(self.server.stat('total-jobs'))} 5")

    def test_some_of_a_tube_or_all(self):
        self.bury(5)
        self.assertEqual(self.good("kick", "-t", "mail", "-n", "2"), "kicked 2\n")
        self.assertEqual(self.good_json("kick", "-t", "mail", "--all"),
                         {"kicked": 3, "not_found": []})
        self.assertEqual(self.haricot("kick", "-t", "mail", "--all")[:2], (DONE, b"kicked 0\n"))
        self.assertEqual(self.count("ready", "mail"), 5)

    def test_jobs_by_their_ids(self):
        self.bury(2)
        job = self.server.put("x", delay=100)
        self.assertEqual(self.good("kick", "2", job), "kicked 2\n")
        output = self.refused(NO, "job 2 does not exist, or is neither buried", "kick", "1", "2")
        self.assertEqual(output, "kicked 1\n")

    def test_mistakes(self):
        self.refused(USAGE, "either ids or a tube", "kick")
        self.refused(USAGE, "a tube requires --count or --all", "kick", "-t", "mail")
        self.refused(USAGE, "a tube requires --count or --all", "kick", "--all", "1")
        self.refused(DONE, "there is no tube mail", "kick", "-t", "mail", "--all")
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)


def fill_mail(server):
    """Puts one buried, three ready and two delayed jobs into the tube mail."""
    server.put("x", "mail", priority=0)
    server.ask("watch mail", "ignore default", "reserve", "bury 1 5")
    for _ in range(3):
        server.put("x", "mail")
    for _ in range(2):
        server.put("x", "mail", delay=100)


class Delete(OperatorTest):
    def fill(self):
        fill_mail(self.server)
        self.server.put("x", "other")

    def left(self):
        return [self.count(state, "mail") for state in ("ready", "delayed", "buried")]

    def test_jobs_by_their_ids(self):
        self.server.put("x")
        self.server.put("x", delay=50)
        self.assertEqual(self.good("delete", "1", "2"), "deleted 2\n")
        status, output, error = self.haricot("delete", "--json", "1", "7")
        self.assertEqual((status, json.loads(output)), (NO, {"deleted": 0, "not_found": [1, 7]}))
        self.assertIn("job 7 does not exist, or a worker holds it", error)

    def test_one_state_of_a_tube(self):
        self.fill()
        self.server.ask("use mail", "watch mail")
        keeper = socket.socket(socket.AF_UNIX)
        keeper.connect(self.server.path)
        self.addCleanup(keeper.close)
        keeper.sendall(b"watch mail\r\n")
        keeper.recv(100)
        self.assertEqual(self.good("delete", "-t", "mail", "--ready", "-n", "2", "-y"),
                         "deleted 2\n")
        self.assertEqual(self.left(), [1, 2, 1])
        self.assertEqual(self.good("delete", "-t", "mail", "--delayed", "--yes"), "deleted 2\n")
        self.assertEqual(self.left(), [1, 0, 1])
        self.assertEqual(self.good("delete", "-t", "mail", "--buried", "--yes"), "deleted 1\n")
        self.assertEqual(self.left(), [1, 0, 0])
        self.assertEqual(self.good("delete", "-t", "mail", "--delayed", "-y"), "deleted 0\n")

    def test_all_of_a_tube_and_nothing_else(self):
        self.fill()
        self.assertEqual(self.good_json("delete", "-t", "mail", "--all", "--yes"),
                         {"deleted": 6, "not_found": []})
        self.assertNotIn("- mail", self.server.ask("list-tubes"))
        self.assertEqual(self.count("ready", "other"), 1)

    def test_a_paused_tube_can_be_emptied_and_a_held_job_stays(self):
        self.server.put("x")
        self.hold()
        self.server.put("x")
        self.server.ask("pause-tube default 100")
        self.assertEqual(self.good("delete", "-t", "default", "--all", "-y"), "deleted 1\n")
        self.assertEqual(self.count("reserved"), 1)

    def test_without_yes_it_asks_at_a_terminal_only(self):
        self.fill()
        self.refused(USAGE, "--yes is required", "delete", "-t", "mail", "--all")
        words = ("delete", "-t", "mail", "--ready")
        no = output_on_terminal(*words, typed=b"n\n", address=self.server.address)
        self.assertIn(b"Delete 3 ready jobs of tube mail? [y/N]", no)
        self.assertEqual(self.left(), [3, 2, 1])
        yes = output_on_terminal(*words, typed=b"y\n", address=self.server.address)
        self.assertIn(b"deleted 3", yes)
        self.assertEqual(self.left(), [0, 2, 1])

    def test_mistakes(self):
        self.refused(USAGE, "either ids or a tube", "delete")
        self.refused(USAGE, "a tube requires --ready", "delete", "-t", "mail", "-y")
        self.refused(DONE, "there is no tube mail", "delete", "-t", "mail", "--all", "-y")


class Flush(OperatorTest):
    def fill(self):
        fill_mail(self.server)
        self.server.put("x")

    def left(self):
        return [self.count(state) for state in ("ready", "delayed", "buried")]

    def test_it_empties_a_tube(self):
        self.fill()
        self.assertEqual(self.good("flush", "mail", "--yes"), "deleted 6\n")
        self.assertEqual(self.left(), [1, 0, 0])
        self.assertEqual(self.good_json("flush", "default", "-y"), {"deleted": 1, "not_found": []})

    def test_it_can_leave_other_states(self):
        for state, left in (("buried", [4, 2, 0]), ("delayed", [4, 0, 0]), ("ready", [1, 0, 0])):
            if state == "buried":
                self.fill()
            self.assertNotEqual(self.good("flush", "mail", "-y", "--state", state), "deleted 0\n")
            self.assertEqual(self.left(), left)

    def test_jobs_of_workers_stay(self):
        self.server.put("x")
        self.server.put("y")
        self.hold()
        self.assertEqual(self.good("flush", "default", "-qy"), "")
        self.assertEqual((self.count("ready"), self.count("reserved")), (0, 1))
        self.assertEqual(self.haricot("flush", "default", "-y")[:2], (DONE, b"deleted 0\n"))

    def test_a_change_has_to_be_confirmed(self):
        self.fill()
        self.refused(USAGE, "without a terminal, --yes is required", "flush", "mail")
        output = output_on_terminal("flush", "mail", address=self.server.address, typed=b"n\n")
        self.assertIn(b"Delete 3 ready and 2 delayed and 1 buried jobs of tube mail? [y/N]", output)
        self.assertIn(b"nothing was deleted", output)
        self.assertEqual(self.left(), [4, 2, 1])
        output = output_on_terminal("flush", "mail", "-s", "ready", address=self.server.address,
                                    typed=b"y\n")
        self.assertIn(b"deleted 3", output)
        self.assertEqual(self.left(), [1, 2, 1])

    def test_errors_are_reported(self):
        self.refused(DONE, "there is no tube mail", "flush", "mail", "-y")
        self.refused(USAGE, "requires a tube", "flush", "-y")
        self.refused(USAGE, "is not ready, delayed or buried", "flush", "a", "-s", "reserved")
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)


class Bury(OperatorTest):
    def test_jobs_by_their_ids_keep_their_priority(self):
        self.server.put("x", priority=77)
        self.server.put("x", delay=100)
        self.assertEqual(self.good("bury", "1", "2"), "buried 2\n")
        self.assertEqual(self.good_json("stats", "1")["state"], "buried")
        self.assertEqual(self.good_json("stats", "1")["pri"], 77)
        self.assertEqual(self.good("bury", "-p", "5", "1"), "buried 1\n")
        self.assertEqual(self.good_json("stats", "1")["pri"], 5)
        self.refused(NO, "job 9 does not exist, or a worker holds it", "bury", "9")

    def test_ready_jobs_of_a_tube(self):
        for i in range(4):
            self.server.put("x", "mail", priority=i)
        self.server.put("x")
        self.assertEqual(self.good("bury", "-t", "mail", "-n", "3"), "buried 3\n")
        self.assertEqual(self.good_json("peek", "--ready", "-t", "mail")["pri"], 3)
        self.assertEqual(self.good("bury", "-t", "mail", "--all"), "buried 1\n")
        self.assertEqual(self.count("buried", "mail"), 4)
        self.assertEqual(self.count("ready"), 1)
        self.assertEqual(self.good("bury", "-t", "mail", "--all"), "buried 0\n")

    def test_a_paused_tube_is_reported(self):
        self.server.put("x")
        self.server.ask("pause-tube default 100")
        self.refused(NO, "tube default is paused", "bury", "-t", "default", "--all")
        self.assertEqual(self.good("bury", "1"), "buried 1\n")


class Pause(OperatorTest):
    def test_it_pauses_and_ends_a_pause(self):
        self.server.put("x", "mail")
        self.assertEqual(self.good("pause", "mail", "600"), "tube mail is paused for 600 s\n")
        self.assertGreater(int(self.server.stat("pause-time-left", "stats-tube mail")), 500)
        self.assertEqual(self.good_json("pause", "mail", "0"), {"tube": "mail", "seconds": 0})
        self.assertEqual(self.good("pause", "mail", "1h"), "tube mail is paused for 3600 s\n")
        self.good("pause", "mail", "0")
        # beanstalkd 1.12 ends the pause a moment later.
        wait_until(lambda: self.server.stat("pause-time-left", "stats-tube mail") == "0")

    def test_errors_are_reported(self):
        self.refused(NO, "there is no tube mail", "pause", "mail", "5")
        self.refused(USAGE, "requires a tube and a time", "pause", "mail")
        self.refused(USAGE, "'soon' is not a time", "pause", "mail", "soon")


class Drain(OperatorTest):
    def test_an_empty_server_is_empty(self):
        self.assertEqual(self.good("drain"), "ready 0, reserved 0, delayed 0, buried 0\n")
        self.assertEqual(self.good("drain", "no-such-tube", "-q"), "")

    def test_it_gives_up_in_time(self):
        self.server.put("x", "mail")
        status, output, error = self.haricot("drain", "--json", "--wait", "0.2", "mail")
        answer = json.loads(output)
        self.assertEqual((status, answer["empty"], answer["ready"]), (NO, False, 1))
        self.assertGreaterEqual(answer["seconds"], 0.2)
        self.assertEqual(error, "")
        status, output, error = self.haricot("drain", "-w0")
        self.assertEqual((status, output), (NO, b"ready 1, reserved 0, delayed 0, buried 0\n"))
        self.assertIn(f"SIGUSR1 to process {self.server.process.pid}", error)

    def test_it_waits_for_the_workers(self):
        self.server.put("x")
        worker = self.hold()
        tool = subprocess.Popen([TOOL, "drain", "-i", "0.01", "-a", self.server.address],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(tool.stdout.readline(), b"ready 0, reserved 1, delayed 0, buried 0\n")
        worker.sendall(b"bury 1 0\r\n")
        self.assertEqual(tool.communicate()[0], b"ready 0, reserved 0, delayed 0, buried 1\n")
        self.assertEqual(tool.returncode, DONE)
        self.assertEqual(self.haricot("drain", "--buried", "-w0")[0], NO)

    def test_a_server_that_goes_is_no_empty_one(self):
        self.server.put("x")
        tool = subprocess.Popen([TOOL, "drain", "-i", "0.01", "-a", self.server.address],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        tool.stdout.readline()
        self.server.stop()
        tool.communicate()
        self.assertEqual(tool.returncode, NO_SERVER)


if __name__ == "__main__":
    unittest.main()
