"""A test case with its own server, and functions that run the tool.

The command line of a test has the tool and the server: HARICOT SERVER [FLAG...].
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
        """Runs the tool, which has to succeed without messages. Returns its output."""
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
        """Returns true if the server has this extended command."""
        return f"- {command}\n" in self.server.ask("capabilities")

    def count(self, state, tube=None):
        command = f"stats-tube {tube}" if tube else "stats"
        return int(self.server.stat(f"current-jobs-{state}", command))

    def hold(self):
        """Returns a connection that holds the next job of default until it is closed."""
        worker = socket.socket(socket.AF_UNIX)
        worker.connect(self.server.path)
        self.addCleanup(worker.close)
        worker.sendall(b"reserve\r\n")
        self.assertTrue(worker.recv(100).startswith(b"RESERVED"))
        return worker


def output_on_terminal(*words, address, typed=b""):
    """Returns the output of the tool when stdin, stdout and stderr are a terminal."""
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
    except OSError:  # The other end is closed.
        pass
    os.waitpid(child, 0)
    os.close(terminal)
    return output
