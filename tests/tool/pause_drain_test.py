#!/usr/bin/env python3
"""Tests haricot pause and haricot drain against any beanstalk server.

    pause_drain_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL
from operator_server import DONE, NO, NO_SERVER, REFUSED, USAGE, wait_until


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


class DrainMode(OperatorTest):
    def test_it_can_be_switched(self):
        self.refused(USAGE, "for drain mode use --start or --stop; for a tube with this name use --tube on",
                     "drain", "on")
        self.refused(USAGE, "for the whole server", "drain", "--start", "mail")
        self.refused(USAGE, "exclude each other", "drain", "--start", "--stop")
        self.refused(USAGE, "--stop excludes --wait", "drain", "--stop", "--wait", "5")
        if not self.has("undrain"):
            self.refused(REFUSED, "does not know drain", "drain", "--start")
            return
        self.server.put("x")
        self.assertEqual(self.good("drain", "--start"), "the server accepts no new jobs\n")
        self.refused(REFUSED, "until drain --stop or a restart", "put", "x")
        status, output, error = self.haricot("drain", "--start", "--wait", "0")
        self.assertEqual((status, output, error), (NO, b"ready 1, reserved 0, delayed 0, buried 0\n", ""))
        self.assertEqual(self.good_json("drain", "--stop"), {"draining": False})
        self.assertEqual(self.count("ready"), 1)
        self.good("put", "x")
        self.assertEqual(self.count("ready"), 2)

    def test_tubes_called_so_are_named_by_the_flag(self):
        self.assertEqual(self.good("drain", "--tube", "on"), "ready 0, reserved 0, delayed 0, buried 0\n")


if __name__ == "__main__":
    unittest.main()
