"""A test with a server of its own, and the ways in which an operator goes to it.

The program that is tested and the server are the words on the command line: HARICOT SERVER [FLAG...].
"""

import json
import os
import pty
import socket
import sys
import unittest

from operator_server import DONE, Server, run

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

    def has(self, command):
        """Whether the server has a command beyond those of beanstalkd."""
        return f"- {command}\n" in self.server.ask("capabilities")

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
