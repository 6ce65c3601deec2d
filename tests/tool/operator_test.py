#!/usr/bin/env python3
"""The operator's subcommands of haricot as black boxes, against any beanstalk server.

    operator_test.py HARICOT SERVER [FLAG...]
"""

import base64
import json
import os
import pathlib
import pty
import socket
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_server import DONE, NO, NO_SERVER, REFUSED, USAGE, Server, run, wait_until

TOOL, BINARY, *FLAGS = sys.argv[1:]
del sys.argv[1:]


class OperatorTest(unittest.TestCase):
    def setUp(self):
        self.server = Server(BINARY, *FLAGS)
        self.addCleanup(self.server.__exit__)

    def haricot(self, *words, **more):
        return run(TOOL, *words, address=self.server.address, **more)

    def good(self, *words, **more):
        """Its output, where it is to succeed and to complain about nothing."""
        status, output, error = self.haricot(*words, **more)
        self.assertEqual((status, error), (DONE, ""), output)
        return output.decode()

    def good_json(self, *words, **more):
        return json.loads(self.good(*words, "--json", **more))

    def refused(self, wanted, complaint, *words, **more):
        status, output, error = self.haricot(*words, **more)
        self.assertEqual(status, wanted, error)
        self.assertIn(complaint, error)
        self.assertTrue(error.startswith(f"haricot {words[0]}: "), error)
        return output.decode()

    def count(self, state, tube=None):
        command = f"stats-tube {tube}" if tube else "stats"
        return int(self.server.stat(f"current-jobs-{state}", command))

    def hold(self):
        """A worker that holds the next job of default until it is closed."""
        worker = socket.socket(socket.AF_UNIX)
        worker.connect(self.server.path)
        self.addCleanup(worker.close)
        worker.sendall(b"reserve\r\n")
        self.assertTrue(worker.recv(100).startswith(b"RESERVED"))
        return worker


class Ping(OperatorTest):
    def test_it_names_address_and_version(self):
        output = self.good("ping")
        version = self.server.stat("version")
        self.assertTrue(output.startswith(f"{self.server.address} answers: version {version}, up "))
        answer = self.good_json("ping")
        self.assertEqual(answer["address"], self.server.address)
        self.assertEqual(answer["version"], version)
        self.assertIs(answer["draining"], False)
        self.assertGreater(answer["milliseconds"], 0)

    def test_quiet_says_nothing(self):
        self.assertEqual(self.good("ping", "-q"), "")

    def test_an_operand_and_a_flag_win_over_the_environment(self):
        for words in (["ping", self.server.address], ["ping", "-a", self.server.address]):
            status, output, _ = run(TOOL, *words, address="unix:/nowhere")
            self.assertEqual(status, DONE, output)

    def test_drain_mode_is_told(self):
        self.server.process.send_signal(10)
        wait_until(lambda: self.server.stat("draining") == "true")
        self.assertIn("in drain mode", self.good("ping"))

    def test_writable_is_no_in_drain_mode(self):
        self.assertIn(" answers: ", self.good("ping", "--writable"))
        self.assertIs(self.good_json("ping", "-W")["writable"], True)
        self.assertNotIn("writable", self.good_json("ping"))
        self.server.process.send_signal(10)
        wait_until(lambda: self.server.stat("draining") == "true")
        complaint = f"{self.server.address} takes no new jobs: it is in drain mode"
        self.assertIn(" answers: ", self.refused(NO, complaint, "ping", "--writable"))
        self.assertEqual(self.refused(NO, complaint, "ping", "--writable", "--quiet"), "")
        self.assertEqual(self.refused(NO, complaint, "ping", "-Wq", "--wait", "0.3"), "")
        answer = json.loads(self.refused(NO, complaint, "ping", "--writable", "--json"))
        self.assertIs(answer["writable"], False)
        self.assertEqual(answer["reason"], "it is in drain mode")
        self.good("ping")

    def test_it_can_wait_for_a_server_that_starts(self):
        self.server.stop()
        if os.path.exists(self.server.path):
            os.unlink(self.server.path)
        self.assertEqual(self.haricot("ping", "--wait", "0.3")[0], NO_SERVER)
        tool = subprocess.Popen([TOOL, "ping", "--wait", "20", "-a", self.server.address],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.server.start()
        self.assertEqual(tool.wait(20), DONE)


class Stats(OperatorTest):
    def test_they_are_what_the_server_says_without_quotes(self):
        lines = dict(line.split(": ", 1) for line in self.good("stats").splitlines())
        self.assertEqual(lines["version"], self.server.stat("version"))
        self.assertEqual(lines["max-job-size"], "65535")
        self.assertEqual(lines["hostname"], self.server.stat("hostname"))

    def test_json_has_numbers_where_there_are_numbers(self):
        stats = self.good_json("stats")
        self.assertEqual(stats["max-job-size"], 65535)
        self.assertIsInstance(stats["version"], str)
        self.assertIsInstance(stats["id"], str)
        self.assertIsInstance(stats["rusage-utime"], float)
        self.assertIs(stats["draining"], False)

    def test_digits_are_a_job_and_anything_else_a_tube(self):
        job = self.server.put("hello", "mail", priority=7)
        self.assertEqual(self.good_json("stats", job)["pri"], 7)
        self.assertEqual(self.good_json("stats", job)["id"], job)
        self.assertEqual(self.good_json("stats", "mail")["current-jobs-ready"], 1)

    def test_flags_are_for_names_made_of_digits(self):
        self.server.put("x", "77")
        self.assertEqual(self.good_json("stats", "--tube", "77")["name"], "77")
        self.assertEqual(self.good_json("stats", "--job", "1")["tube"], "77")

    def test_one_key_alone(self):
        self.server.put("x", "mail")
        self.assertEqual(self.good("stats", "mail", "-k", "current-jobs-ready"), "1\n")
        self.assertEqual(self.good_json("stats", "-k", "version"), self.server.stat("version"))
        self.refused(NO, "there is no brew", "stats", "-k", "brew")

    def test_what_is_not_there_is_told(self):
        self.refused(NO, "there is no tube mail", "stats", "mail")
        self.refused(NO, "there is no job 5", "stats", "5")
        self.refused(USAGE, "neither a tube's name nor a job's id", "stats", "no name")
        self.refused(USAGE, "more than one", "stats", "a", "--job", "1")


class Tubes(OperatorTest):
    def test_the_table_counts_every_state(self):
        for priority in (1, 2000, 2000):
            self.server.put("x", "mail", priority)
        self.server.put("x", "mail", delay=100)
        self.server.ask("watch mail", "ignore default", "reserve", "bury 1 5", "pause-tube mail 50")
        header, *rows = self.good("tubes", "-i", "0").splitlines()
        self.assertEqual(header.split(), ["ready", "urgent", "reserved", "delayed", "buried",
                                          "waiting", "put/s", "delete/s", "paused", "tube"])
        self.assertEqual([row.split()[-1] for row in rows], ["default", "mail"])
        cells = rows[1].split()
        self.assertEqual(cells[:8], ["2", "0", "0", "1", "1", "0", "-", "-"])
        self.assertIn(cells[8], ["50s", "49s", "48s", "47s"])

    def test_json_is_an_array_of_what_the_server_says(self):
        self.server.put("x", "12")
        tubes = self.good_json("tubes", "-i", "0")
        self.assertEqual([tube["name"] for tube in tubes], ["12", "default"])
        self.assertEqual(tubes[0]["current-jobs-ready"], 1)
        self.assertIsNone(tubes[0]["put-rate"])

    def test_rates_are_measured(self):
        stop = threading.Event()

        def produce():
            while not stop.is_set():
                self.server.put("x", "busy")

        self.server.put("x", "idle")
        producer = threading.Thread(target=produce)
        producer.start()
        try:
            tubes = {tube["name"]: tube for tube in self.good_json("tubes", "-i", "0.5")}
        finally:
            stop.set()
            producer.join()
        self.assertGreater(tubes["busy"]["put-rate"], 0)
        self.assertEqual(tubes["idle"]["put-rate"], 0)

    def test_it_is_sorted_as_wanted(self):
        for name, jobs in (("a", 1), ("b", 3), ("c", 2)):
            for _ in range(jobs):
                self.server.put("x", name)

        def names(*words):
            return [tube["name"] for tube in self.good_json("tubes", "-i0", *words)]

        self.assertEqual(names(), ["a", "b", "c", "default"])
        self.assertEqual(names("-r"), ["default", "c", "b", "a"])
        self.assertEqual(names("--sort", "ready"), ["b", "c", "a", "default"])
        self.refused(USAGE, "'brew' is not a column", "tubes", "--sort", "brew")

    def test_patterns_choose(self):
        for name in ("mail-in", "mail-out", "news"):
            self.server.put("x", name)
        tubes = self.good_json("tubes", "-i0", "mail-*")
        self.assertEqual([tube["name"] for tube in tubes], ["mail-in", "mail-out"])
        self.refused(NO, "there is no such tube", "tubes", "-i0", "brew")

    def test_very_many_tubes_are_no_trouble(self):
        names = [f"tube-{i:05}" for i in range(3000)]
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.server.path)
            for begin in range(0, len(names), 100):
                batch = names[begin:begin + 100]
                client.sendall("".join(f"watch {name}\r\n" for name in batch).encode())
                answers = b""
                while answers.count(b"\n") < len(batch):
                    answers += client.recv(65536)
            tubes = self.good_json("tubes", "-i0")
        self.assertEqual([tube["name"] for tube in tubes], ["default", *names])


class Completion(OperatorTest):
    def test_tubes_of_the_server_are_offered(self):
        script = pathlib.Path(__file__).parents[2] / "packaging/bash-completion/haricot"
        self.server.put("x", "mail")
        self.server.put("x", "mars")
        command = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _haricot; ' \
                  'echo "${COMPREPLY[@]}"'
        for words in (["stats", "ma"], ["kick", "--tube", "ma"], ["pause", "ma"]):
            ended = subprocess.run(["bash", "-c", command, script, TOOL, *words], check=True,
                                   capture_output=True, text=True, timeout=60,
                                   env={**os.environ, "HARICOT_ADDR": self.server.address})
            self.assertEqual((ended.stdout, ended.stderr), ("mail mars\n", ""))


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

    def test_each_state_of_a_tube_can_be_looked_at(self):
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

    def test_what_is_not_there_is_told(self):
        self.refused(NO, "there is no job 5", "peek", "5")
        self.refused(NO, "there is no delayed job in tube default", "peek", "--delayed")
        self.refused(NO, "there is no tube mail", "peek", "--ready", "--tube", "mail")
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)
        self.refused(USAGE, "one id, or one of", "peek")
        self.refused(USAGE, "'x' is not the id of a job", "peek", "x")


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
        self.refused(NO, "cannot open /nowhere", "put", "-f", "/nowhere")

    def test_an_empty_body_is_put_only_if_it_is_meant(self):
        path = self.server.folder.name + "/nothing"
        pathlib.Path(path).touch()
        self.refused(NO, "stdin is empty, no job was put; --empty", "put", stdin=b"")
        self.refused(NO, "stdin is empty", "put", "-", stdin=b"")
        self.refused(NO, f"{path} is empty", "put", "--file", path)
        self.assertEqual(self.server.stat("total-jobs"), "0")
        self.assertEqual(self.good("put", "--empty", stdin=b""), "1\n")
        self.assertEqual(self.good("put", "--empty", "-f", path), "2\n")
        self.assertEqual(self.good("put", ""), "3\n")
        self.assertEqual([self.body(i) for i in (1, 2, 3)], [b"", b"", b""])
        self.assertEqual(self.good("put", "--empty", stdin=b"x"), "4\n")
        self.assertEqual(self.body(4), b"x")
        self.assertEqual(self.good("put", "--lines", stdin=b""), "")

    def test_it_gets_what_the_flags_say(self):
        self.good("put", "-t", "mail", "-p", "5", "-d", "100", "-r", "7", "x")
        job = self.good_json("stats", "1")
        self.assertEqual((job["tube"], job["pri"], job["ttr"]), ("mail", 5, 7))
        self.assertEqual((job["delay"], job["state"]), (100, "delayed"))
        self.good("put", "x")
        job = self.good_json("stats", "2")
        self.assertEqual((job["tube"], job["pri"], job["ttr"]), ("default", 1024, 60))

    def test_each_line_is_a_job(self):
        lines = [f"job number {i}".encode() for i in range(2000)] + [b"", b"last"]
        ids = self.good("put", "--lines", stdin=b"\n".join(lines)).split()
        self.assertEqual(ids, [str(i + 1) for i in range(len(lines))])
        self.assertEqual([self.body(i) for i in (1, 2000, 2001, 2002)],
                         [lines[0], lines[1999], b"", b"last"])

    def test_a_line_is_put_when_it_is_there(self):
        tool = subprocess.Popen([TOOL, "put", "-l", "-j", "-a", self.server.address],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for job in (1, 2):
            tool.stdin.write(b"x\n")
            tool.stdin.flush()
            self.assertEqual(json.loads(tool.stdout.readline()), {"id": job, "buried": False})
        tool.communicate()
        self.assertEqual(tool.returncode, DONE)

    def test_a_refused_job_is_told_with_its_line(self):
        output = self.refused(REFUSED, "line 2: JOB_TOO_BIG", "put", "-l",
                              stdin=b"x\n" + b"y" * 70000 + b"\nz\n")
        self.assertEqual(len(output.split()), 2)
        self.refused(REFUSED, "larger than the server takes", "put", stdin=b"y" * 70000)
        self.server.process.send_signal(10)
        wait_until(lambda: self.server.stat("draining") == "true")
        self.refused(REFUSED, "the server is in drain mode", "put", "x")

    def test_mistakes(self):
        self.refused(USAGE, "'-x' is not a tube's name", "put", "--tube=-x", "b")
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
        self.assertEqual(self.haricot("kick", "-t", "mail", "--all")[:2], (NO, b"kicked 0\n"))
        self.assertEqual(self.count("ready", "mail"), 5)

    def test_jobs_by_their_ids(self):
        self.bury(2)
        job = self.server.put("x", delay=100)
        self.assertEqual(self.good("kick", "2", job), "kicked 2\n")
        output = self.refused(NO, "job 2 is not there, or is neither buried", "kick", "1", "2")
        self.assertEqual(output, "kicked 1\n")

    def test_mistakes(self):
        self.refused(USAGE, "either ids or a --tube", "kick")
        self.refused(USAGE, "--tube needs either --count or --all", "kick", "-t", "mail")
        self.refused(USAGE, "--tube needs either --count or --all", "kick", "--all", "1")
        self.refused(NO, "there is no tube mail", "kick", "-t", "mail", "--all")
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)


class Delete(OperatorTest):
    def fill(self):
        self.server.put("x", "mail", priority=0)
        self.server.ask("watch mail", "ignore default", "reserve", "bury 1 5")
        for _ in range(3):
            self.server.put("x", "mail")
        for _ in range(2):
            self.server.put("x", "mail", delay=100)
        self.server.put("x", "other")

    def left(self):
        return [self.count(state, "mail") for state in ("ready", "delayed", "buried")]

    def test_jobs_by_their_ids(self):
        self.server.put("x")
        self.server.put("x", delay=50)
        self.assertEqual(self.good("delete", "1", "2"), "deleted 2\n")
        status, output, error = self.haricot("delete", "--json", "1", "7")
        self.assertEqual((status, json.loads(output)), (NO, {"deleted": 0, "not_found": [1, 7]}))
        self.assertIn("job 7 is not there, or a worker holds it", error)

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
        self.assertEqual(self.haricot("delete", "-t", "mail", "--delayed", "-y")[0], NO)

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
        self.refused(USAGE, "--yes is needed", "delete", "-t", "mail", "--all")
        words = ("delete", "-t", "mail", "--ready")
        no = output_on_terminal(*words, typed=b"n\n", address=self.server.address)
        self.assertIn(b"Delete 3 ready jobs of tube mail? [y/N]", no)
        self.assertEqual(self.left(), [3, 2, 1])
        yes = output_on_terminal(*words, typed=b"y\n", address=self.server.address)
        self.assertIn(b"deleted 3", yes)
        self.assertEqual(self.left(), [0, 2, 1])

    def test_mistakes(self):
        self.refused(USAGE, "either ids or a --tube", "delete")
        self.refused(USAGE, "--tube needs --ready", "delete", "-t", "mail", "-y")
        self.refused(NO, "there is no tube mail", "delete", "-t", "mail", "--all", "-y")


class Bury(OperatorTest):
    def test_jobs_by_their_ids_keep_their_priority(self):
        self.server.put("x", priority=77)
        self.server.put("x", delay=100)
        self.assertEqual(self.good("bury", "1", "2"), "buried 2\n")
        self.assertEqual(self.good_json("stats", "1")["state"], "buried")
        self.assertEqual(self.good_json("stats", "1")["pri"], 77)
        self.assertEqual(self.good("bury", "-p", "5", "1"), "buried 1\n")
        self.assertEqual(self.good_json("stats", "1")["pri"], 5)
        self.refused(NO, "job 9 is not there, or a worker holds it", "bury", "9")

    def test_ready_jobs_of_a_tube(self):
        for i in range(4):
            self.server.put("x", "mail", priority=i)
        self.server.put("x")
        self.assertEqual(self.good("bury", "-t", "mail", "-n", "3"), "buried 3\n")
        self.assertEqual(self.good_json("peek", "--ready", "-t", "mail")["pri"], 3)
        self.assertEqual(self.good("bury", "-t", "mail", "--all"), "buried 1\n")
        self.assertEqual(self.count("buried", "mail"), 4)
        self.assertEqual(self.count("ready"), 1)
        self.assertEqual(self.haricot("bury", "-t", "mail", "--all")[0], NO)

    def test_a_paused_tube_is_told(self):
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
        # 1.12 ends it behind a moment.
        wait_until(lambda: self.server.stat("pause-time-left", "stats-tube mail") == "0")

    def test_what_is_wrong_is_told(self):
        self.refused(NO, "there is no tube mail", "pause", "mail", "5")
        self.refused(USAGE, "it takes a tube and a time", "pause", "mail")
        self.refused(USAGE, "'soon' is not a number of seconds", "pause", "mail", "soon")


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
        self.assertIn(f"SIGUSR1 to its process ({self.server.process.pid})", error)

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


def output_on_terminal(*words, address, typed=b""):
    """What the tool writes when stdin, stdout and stderr are a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["HARICOT_ADDR"] = address
        os.execv(TOOL, [TOOL, *map(str, words)])
    output = b""
    try:
        if typed:
            while b"[y/N]" not in output:
                output += os.read(terminal, 4096)
            os.write(terminal, typed)
        while piece := os.read(terminal, 4096):
            output += piece
    except OSError:  # The other side is closed.
        pass
    os.waitpid(child, 0)
    os.close(terminal)
    return output


if __name__ == "__main__":
    unittest.main()
