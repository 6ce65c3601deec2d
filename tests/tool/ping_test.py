#!/usr/bin/env python3
"""Tests haricot ping against any beanstalk server.

    ping_test.py HARICOT SERVER [FLAG...]
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import BINARY, OperatorTest, TOOL
from operator_server import DONE, NO, NO_SERVER, run, wait_until


def version_of_haricotd():
    """Returns the version in the parentheses of `haricotd -v`."""
    printed = subprocess.run([BINARY, "-v"], capture_output=True, check=True, timeout=20).stdout
    return printed.decode().split("(haricot ")[1].rstrip(")\n")


class Ping(OperatorTest):
    def test_it_names_address_and_version(self):
        output = self.good("ping")
        version = self.server.stat("version")
        kind = pathlib.Path(self.server.binary).name
        words = f"beanstalkd {version}"
        if kind == "haricotd":
            words = f"haricotd {version_of_haricotd()}, as {words}"
        self.assertTrue(output.startswith(f"{self.server.address} answers: {words}, up "), output)
        answer = self.good_json("ping")
        self.assertEqual(answer["address"], self.server.address)
        self.assertEqual(answer["version"], version)
        self.assertEqual(answer["server"], kind)
        self.assertEqual(answer.get("haricot-version"),
                         version_of_haricotd() if kind == "haricotd" else None)
        self.assertIs(answer["draining"], False)
        self.assertGreater(answer["milliseconds"], 0)

    def test_quiet_prints_nothing(self):
        self.assertEqual(self.good("ping", "-q"), "")

    def test_an_operand_and_a_flag_win_over_the_environment(self):
        for words in (["ping", self.server.address], ["ping", "-a", self.server.address]):
            status, output, _ = run(TOOL, *words, address="unix:/nowhere")
            self.assertEqual(status, DONE, output)

    def test_flags_can_stand_before_the_subcommand(self):
        for words in (["-a", self.server.address, "ping"], ["--address=" + self.server.address,
                                                            "-T", "5s", "ping", "-q"]):
            status, output, error = run(TOOL, *words, address="unix:/nowhere")
            self.assertEqual((status, error), (DONE, ""), output)
        answer = json.loads(run(TOOL, "-ja", self.server.address, "ping")[1])
        self.assertEqual(answer["address"], self.server.address)
        self.server.put("x", "mail")
        self.assertEqual(run(TOOL, "-a", self.server.address, "stats", "mail", "-k", "name")[1],
                         b"mail\n")

    def test_drain_mode_is_reported(self):
        self.server.process.send_signal(10)
        wait_until(lambda: self.server.stat("draining") == "true")
        self.assertIn("in drain mode", self.good("ping"))

    def test_writable_is_no_in_drain_mode(self):
        self.assertIn(" answers: ", self.good("ping", "--writable"))
        self.assertIs(self.good_json("ping", "-W")["writable"], True)
        self.assertNotIn("writable", self.good_json("ping"))
        self.server.process.send_signal(10)
        wait_until(lambda: self.server.stat("draining") == "true")
        complaint = f"{self.server.address} accepts no new jobs: it is in drain mode"
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


if __name__ == "__main__":
    unittest.main()
