#!/usr/bin/env python3
"""Tests haricot top with several servers.

    top_servers_test.py HARICOT SERVER [FLAG...]
"""

import pathlib
import re
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import BINARY, FLAGS
from operator_server import Server
from top_test import TopTest


class Several(TopTest):
    def setUp(self):
        super().setUp()
        self.other = Server(BINARY, *FLAGS)
        self.addCleanup(self.other.__exit__)
        self.fill(a=2, b=1)
        for tube in ("b", "c"):
            self.other.put("x", tube)

    def test_the_sum_comes_first_and_then_each_server(self):
        screen = self.top("-a", self.other.address, "--allow-changes", "-i", "0.1", columns=120)
        screen.wait_for_text("haricot top: sum of 2 servers")
        screen.wait_for_text("jobs: 5 ready")
        screen.wait_for(lambda: self.tubes_on(screen) == ["a", "b", "c", "default"])
        screen.type(b"p")
        screen.wait_for_text("this is the sum of several servers: select one with v")
        screen.type(b"v")
        screen.wait_for_text(f"haricot top: {self.server.address}")
        screen.wait_for_text("jobs: 3 ready")
        screen.wait_for(lambda: sorted(self.tubes_on(screen)) == ["a", "b", "default"])
        screen.type(b"v")
        screen.wait_for_text(f"haricot top: {self.other.address}")
        screen.wait_for_text("jobs: 2 ready")
        screen.type(b"\r")
        screen.wait_for_text("tube b")
        screen.type(b"p")
        screen.wait_for_text("Pause tube b for how long")
        screen.type(b"600\r")
        screen.wait_for_text("tube b is paused for 600 s")
        self.assertGreater(int(self.other.stat("pause-time-left", "stats-tube b")), 0)
        self.assertEqual(self.server.stat("pause-time-left", "stats-tube b"), "0")
        screen.type(b"v")
        screen.wait_for_text("sum of 2 servers")
        screen.type(b"q")
        self.assertEqual(screen.end(), 0)

    def test_a_lost_server_is_reported_and_the_sum_continues(self):
        screen = self.top("-a", self.other.address, "-i", "0.1", columns=120)
        screen.wait_for_text("jobs: 5 ready")
        self.other.stop()
        screen.wait_for_text("sum of 1 server")
        screen.wait_for_text("jobs: 3 ready")
        screen.wait_for_text(f"{self.other.address}"[:60])
        self.fill(a=1)
        screen.wait_for_text("jobs: 4 ready")
        screen.type(b"q")
        self.assertEqual(screen.end(), 0)

    def stop(self, server):
        server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(server.process.send_signal, signal.SIGCONT)

    def test_a_server_that_is_silent_holds_up_no_other(self):
        screen = self.top("-a", self.other.address, "-i", "0.1", "-T", "600", columns=120)
        screen.wait_for_text("jobs: 5 ready")
        self.stop(self.other)
        for jobs in (6, 7, 8):
            self.fill(a=1)
            screen.wait_for_text(f"jobs: {jobs} ready")
        # The last values of the silent server are shown with their age.
        screen.wait_for(lambda: "s OLD" in screen.lines[0])
        screen.type(b"v")
        screen.wait_for(lambda: self.server.address in screen.lines[0])
        self.assertNotIn("OLD", screen.lines[0])
        screen.type(b"v")
        screen.wait_for(lambda: self.other.address in screen.lines[0] and "s OLD" in screen.lines[0])
        self.other.process.send_signal(signal.SIGCONT)
        screen.wait_for(lambda: "OLD" not in screen.lines[0])
        screen.type(b"q")
        self.assertEqual(screen.end(), 0)

    def test_a_server_that_never_answers_is_reported(self):
        self.stop(self.other)
        screen = self.top("-a", self.other.address, "-i", "0.1", "-T", "600", columns=120)
        screen.wait_for_text("sum of 1 server")
        screen.wait_for_text("jobs: 3 ready")
        screen.wait_for_text("has not answered yet")
        screen.type(b"q")
        self.assertEqual(screen.end(), 0)

    def test_a_server_that_has_stalled_is_soon_asked_again(self):
        """A server that was slow once is not queried less often."""
        screen = self.top("-i", "0.1", "-T", "600", columns=120)
        screen.wait_for_text("jobs: 3 ready")
        begin = time.monotonic()
        self.stop(self.server)
        screen.wait_for(lambda: re.search(r"\b([6-9]|\d\d+)s OLD", screen.lines[0]))
        self.server.process.send_signal(signal.SIGCONT)
        stall = time.monotonic() - begin
        screen.wait_for(lambda: "OLD" not in screen.lines[0])
        self.fill(a=1)
        asked = int(self.server.stat("cmd-stats"))
        end = time.monotonic() + 5 * stall  # Formerly the interval grew to ten times the delay.
        while int(self.server.stat("cmd-stats")) < asked + 8:
            self.assertLess(time.monotonic(), end)
            screen.read()
        screen.wait_for_text("jobs: 4 ready")

    def test_in_batch_mode_all_are_asked_at_once(self):
        silent = [Server(BINARY, *FLAGS) for _ in range(3)]
        for server in silent:
            self.addCleanup(server.__exit__)
            self.stop(server)
        took = {}
        for count in (1, 3):
            addresses = ",".join(server.address for server in [*silent[:count], self.server])
            begin = time.monotonic()
            status, output, error = self.haricot("top", "-b", "-n1", "-i", "0.1", "-T", "2", "-a",
                                                 addresses)
            took[count] = time.monotonic() - begin
            self.assertEqual((status, error.count("the server sent nothing in time")), (3, count))
            self.assertIn("sum of 1 server", output.decode())
        self.assertLess(took[3], 2 * took[1])  # In sequence, the ratio would be 3.


if __name__ == "__main__":
    unittest.main()
