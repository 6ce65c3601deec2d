#!/usr/bin/env python3
"""Cuts the connection of a subcommand in the middle of an answer, after various numbers of bytes.

    lost_connection_test.py HARICOT SERVER [FLAG...]
"""

import json
import os
import pathlib
import re
import select
import socket
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL
from operator_server import DEADLINE_S, DONE, NO_SERVER, wait_until

BODIES = ["the first body", "second\r\nINSERTED 7\r\n", "RESERVED 1 5\r\nthird"]


class Cut:
    """A unix socket in front of a server, which passes on `limit` bytes of its answers, and closes."""

    def __init__(self, server, limit):
        self.server, self.left = server, limit
        self.address = f"unix:{server.folder.name}/cut-{limit}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.address[5:])
        self.listener.listen()
        self.listener.settimeout(DEADLINE_S)
        self.was_reached = False

    def run(self, *words, stdin=b""):
        tool = subprocess.Popen([TOOL, "-a", self.address, *words], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        thread = threading.Thread(target=self.serve)
        thread.start()
        output, error = tool.communicate(stdin, DEADLINE_S)
        thread.join(DEADLINE_S)
        return tool.returncode, output, error.decode()

    def serve(self):
        tool, _ = self.listener.accept()
        # Some subcommands first connect to check that a server answers.
        while not tool.recv(1, socket.MSG_PEEK):
            tool.close()
            tool, _ = self.listener.accept()
        # A second connection fails.
        self.listener.close()
        os.unlink(self.address[5:])
        with tool, socket.socket(socket.AF_UNIX) as behind:
            behind.connect(self.server.path)
            while True:
                ready, _, _ = select.select([tool, behind], [], [], DEADLINE_S)
                if behind in ready:
                    answer = behind.recv(1 << 20)
                    self.was_reached = len(answer) >= self.left
                    tool.sendall(answer[:self.left])
                    self.left -= min(self.left, len(answer))
                    if self.was_reached or not answer:
                        return
                if tool in ready:
                    piece = tool.recv(1 << 20)
                    if not piece:
                        return
                    behind.sendall(piece)


class CutTest(OperatorTest):
    def each(self, *words, step=7, stdin=b"", before=None):
        """Runs the subcommand with growing limits until it is not cut. Yields status, stdout and stderr."""
        limit, runs = 1, 0
        while True:
            if before:
                before()
            cut = Cut(self.server, limit)
            status, output, error = cut.run(*words, stdin=stdin)
            wait_until(lambda: self.server.stat("current-connections") == "1")
            wait_until(lambda: self.count("reserved") == 0)
            if not cut.was_reached:
                self.assertEqual(status, DONE, error)
                yield True, output, error
                break
            # If the last answer was passed on, nothing is missing.
            if status != DONE:
                self.assertEqual(status, NO_SERVER, error)
            yield status == DONE, output, error
            limit += step
            runs += 1
        self.assertGreater(runs, 5)

    def bodies(self, tube):
        """Returns the bodies of a tube's jobs in all states."""
        ids = range(self.first, int(self.server.stat("total-jobs")) + 1)
        answers = self.server.ask(*(f"stats-job {job}" for job in ids))
        here = re.findall(rf'^id: (\d+)\ntube: "?{tube}"?$', answers, re.MULTILINE)
        bodies = (self.server.ask(f"peek {job}").split("\r\n", 1)[1] for job in here)
        return [body.removesuffix("\r\n") for body in bodies]

    def clear(self):
        for tube in ("from", "to"):
            if f"- {tube}\n" in self.server.ask("list-tubes"):
                self.haricot("delete", "-qyt", tube, "--all")
        self.first = int(self.server.stat("total-jobs")) + 1

    def fill(self):
        self.clear()
        for body in BODIES:
            self.server.put(body, "from")


class Cuts(CutTest):
    def test_export_writes_whole_lines_and_reports_missing_jobs(self):
        self.fill()
        words = ["export", "from"] if self.has("scan-jobs") else ["export", "--by-id", "from"]
        for is_whole, output, error in self.each(*words, step=29):
            self.assertTrue(output == b"" or output.endswith(b"\n"))
            found = [json.loads(line)["body"] for line in output.splitlines()]
            self.assertEqual(found, BODIES[:len(found)])
            self.assertEqual(is_whole, len(found) == len(BODIES), error)

    def test_peek_and_reserve_write_no_half_of_a_body(self):
        self.fill()
        for words in (["peek", "--ready"], ["reserve", "--wait", "0"]):
            for is_whole, output, error in self.each(*words, "-t", "from"):
                self.assertIn(output.decode(), ("", BODIES[0]), error)
                self.assertTrue(not is_whole or output.decode() == BODIES[0])
        self.assertEqual(self.bodies("from"), BODIES)

    def test_reserve_and_delete_loses_no_job_that_was_not_written(self):
        for is_whole, output, error in self.each("reserve", "-w0", "-t", "from", "--then", "delete",
                                                 before=self.fill):
            left = self.bodies("from")
            if output == b"":
                self.assertEqual(left, BODIES, error)
            if is_whole:
                self.assertEqual(left, BODIES[1:])

    def test_move_loses_no_job_and_doubles_one_at_most(self):
        for is_whole, _, error in self.each("move", "from", "to", step=17, before=self.fill):
            left, moved = self.bodies("from"), self.bodies("to")
            self.assertEqual(set(left) | set(moved), set(BODIES), error)
            self.assertLessEqual(len(left) + len(moved), len(BODIES) + 1)
            if is_whole:
                self.assertEqual((left, moved), ([], BODIES))

    def test_import_puts_a_part_of_its_lines_in_their_order(self):
        text = "".join(json.dumps({"tube": "to", "body": body}) + "\n" for body in BODIES).encode()
        for is_whole, output, error in self.each("import", stdin=text, step=3, before=self.clear):
            there = self.bodies("to")
            self.assertEqual(there, BODIES[:len(there)])
            self.assertEqual(is_whole, output == b"imported 3\n", error)

    def test_work_deletes_no_job_that_it_has_not_done(self):
        for is_whole, output, error in self.each(
                "work", "-t", "from", "--wait", "0", "--plain", "--", "sh", "-c", "cat; echo '|'",
                step=31, before=self.fill):
            done = output.decode().split("|\n")[:-1]
            self.assertEqual(done, BODIES[:len(done)], error)
            left = self.bodies("from")
            self.assertEqual(left, BODIES[len(BODIES) - len(left):])
            self.assertGreaterEqual(len(left) + len(done), len(BODIES))
            # The message names the job that was done and still exists.
            if len(left) + len(done) > len(BODIES):
                self.assertIn("may be done twice", error)
            if is_whole:
                self.assertEqual(left, [])

    def test_tables_are_complete_or_missing(self):
        self.fill()
        for words in (["tubes", "-i", "0"], ["stats"], ["ping"], ["top", "--batch", "-n1", "-i0.1"]):
            for is_whole, output, error in self.each(*words, step=53 if words[0] != "ping" else 97):
                self.assertEqual(is_whole, output != b"", error)


if __name__ == "__main__":
    unittest.main()
