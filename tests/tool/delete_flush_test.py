#!/usr/bin/env python3
"""Tests haricot delete and haricot flush against any beanstalk server.

    delete_flush_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import socket
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, output_on_terminal
from operator_server import DONE, NO, USAGE


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

    def test_a_tube_is_deleted_with_one_command(self):
        if not self.has("flush-tube"):
            self.skipTest("the server cannot do it")
        self.good("put", "-qlt", "mail", stdin=b"x\n" * 600)
        self.good("bury", "-q", "mail", "-n", "200")
        before = int(self.server.stat("cmd-delete"))
        self.assertEqual(self.good("delete", "mail", "--ready", "--yes"), "deleted 400\n")
        self.assertEqual(self.good("delete", "mail", "--buried", "-n", "100", "-y"), "deleted 100\n")
        self.assertEqual(self.good("delete", "mail", "--buried", "--delayed", "-y"), "deleted 100\n")
        self.assertEqual(int(self.server.stat("cmd-delete")) - before, 100)


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


if __name__ == "__main__":
    unittest.main()
