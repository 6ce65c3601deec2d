#!/usr/bin/env python3
"""Tests haricot tubes against any beanstalk server.

    tubes_test.py HARICOT SERVER [FLAG...]
"""

import pathlib
import socket
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import BINARY, FLAGS, OperatorTest, TOOL
from operator_server import DEADLINE_S, DONE, NO, NO_SERVER, REFUSED, Server, USAGE, wait_until


class Tubes(OperatorTest):
    def test_the_table_counts_every_state(self):
        for priority in (1, 2000, 2000):
            self.server.put("x", "mail", priority)
        self.server.put("x", "mail", delay=100)
        self.server.ask("watch mail", "ignore default", "reserve", "bury 1 5", "pause-tube mail 50")
        header, *rows = self.good("tubes", "-i", "0").splitlines()
        times = ["oldest", "wait", "work"] if self.has("stats-tube-detail") else []
        self.assertEqual(header.split(), ["ready", "urgent", "reserved", "delayed", "buried",
                                          "waiting", "put/s", "delete/s", "paused", *times, "tube"])
        self.assertEqual([row.split()[-1] for row in rows], ["default", "mail"])
        cells = rows[1].split()
        self.assertEqual(cells[:8], ["2", "0", "0", "1", "1", "0", "-", "-"])
        self.assertRegex(cells[8], "^(50|[1-4][0-9])s$")

    def test_it_shows_why_a_tube_is_slow(self):
        if not self.has("stats-tube-detail"):
            self.skipTest("the server does not tell times")
        for _ in range(2):
            self.server.put("x", "mail")
        # Jobs that have waited for a second, and take half a second of work.
        wait_until(lambda: float(self.server.stat("age-oldest-ready", "stats-tube-detail mail")) >= 1)
        self.good("work", "-qt", "mail", "-c1", "--", "sleep", "0.5")
        shown = self.good_json("tubes", "-i0", "mail")["servers"][0]["tubes"][0]
        self.assertGreaterEqual(shown["queue-time-p99"], 900)
        self.assertGreaterEqual(shown["work-time-p50"], 450)
        header, row = self.good("tubes", "mail").splitlines()
        cells = dict(zip(header.split(), row.split()))
        self.assertRegex(cells["oldest"], r"^\d+s$")
        self.assertRegex(cells["wait"], r"^\d(\.\d)?s/\d(\.\d)?s$|^9\d\dms/9\d\dms$|^\d+s/\d+s$")
        self.assertRegex(cells["work"], r"^\d+(ms|s|\.\ds)/\d+(ms|s|\.\ds)$")
        # A tube without jobs has no times. With several servers the longest times are shown.
        self.assertRegex(self.good("tubes", "-i0", "default"), r" +- +- +- default\n")
        with Server(BINARY, *FLAGS) as other:
            other.put("x", "mail")
            lines = self.good("tubes", "-i0", "mail", "-a",
                              f"{self.server.address},{other.address}").splitlines()
            self.assertEqual(lines[2].split()[-2], cells["work"])

    def test_json_has_the_answer_of_the_server(self):
        self.server.put("x", "12")
        tubes = self.good_json("tubes", "-i", "0")["sum"]
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
            tubes = {tube["name"]: tube for tube in self.good_json("tubes", "-i", "0.5")["sum"]}
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
            return [tube["name"] for tube in self.good_json("tubes", "-i0", *words)["sum"]]

        self.assertEqual(names(), ["a", "b", "c", "default"])
        self.assertEqual(names("-r"), ["default", "c", "b", "a"])
        self.assertEqual(names("--sort", "ready"), ["b", "c", "a", "default"])
        self.refused(USAGE, "'brew' is not ready, urgent", "tubes", "--sort", "brew")

    def test_patterns_choose(self):
        for name in ("mail-in", "mail-out", "news"):
            self.server.put("x", name)
        tubes = self.good_json("tubes", "-i0", "mail-*")["sum"]
        self.assertEqual([tube["name"] for tube in tubes], ["mail-in", "mail-out"])
        self.refused(NO, "there is no such tube", "tubes", "-i0", "brew")

    def test_names_alone_are_one_question(self):
        for tube in ("mail", "a(b)", "web"):
            self.server.put("x", tube)
        before = self.server.stat("cmd-stats-tube")
        self.assertEqual(self.good("tubes", "--names"), "a(b)\ndefault\nmail\nweb\n")
        self.assertEqual(self.good("tubes", "--names", "m*", "w*"), "mail\nweb\n")
        self.assertEqual(self.good_json("tubes", "--names", "d*"), ["default"])
        self.assertEqual(self.server.stat("cmd-stats-tube"), before)
        self.refused(NO, "there is no such tube", "tubes", "--names", "nothing")
        with Server(BINARY, *FLAGS) as other:
            other.put("x", "other")
            self.assertEqual(self.good("tubes", "--names", "-a", self.server.address, "-a",
                                       other.address), "a(b)\ndefault\nmail\nother\nweb\n")
            status, output, _ = self.haricot("tubes", "--names", "-a",
                                             other.address + ",unix:/nowhere")
            self.assertEqual((status, output), (NO_SERVER, b"default\nother\n"))

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
            tubes = self.good_json("tubes", "-i0")["sum"]
        self.assertEqual([tube["name"] for tube in tubes], ["default", *names])


class Columns(OperatorTest):
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


if __name__ == "__main__":
    unittest.main()
