"""A test case for jobs that move: exports, imports and moves that are ended at any message."""

import collections
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import threading

from operator_case import OperatorTest, TOOL
from operator_server import DEADLINE_S, DONE, NO_SERVER, wait_until

BYTES = bytes(range(256)) * 3 + b"\r\n"


class Relay:
    """A unix socket in front of a server, which ends the connection at the Nth message of the tool.

    `end` is the way: "before" kills the tool and drops the message; "after" kills the tool when the
    server has answered; "cut" closes the connection when the server has answered, without passing on
    the answer. "interrupt" sends SIGINT to the tool and continues.
    """

    def __init__(self, server, message, end):
        self.server, self.message, self.end = server, message, end
        self.address = f"unix:{server.folder.name}/relay-{message}-{end}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.address[5:])
        self.listener.listen()
        self.was_reached = False
        self.child = None
        self.thread = threading.Thread(target=self.serve)

    def run(self, *words, stdin=b""):
        """Runs the tool through the relay; returns its status, output and errors."""
        self.child = subprocess.Popen([TOOL, *words, "-a", self.address], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.thread.start()
        output, error = self.child.communicate(stdin, DEADLINE_S)
        self.thread.join(DEADLINE_S)
        self.listener.close()
        return self.child.returncode, output.decode(), error.decode()

    def serve(self):
        tool, _ = self.listener.accept()
        with tool, socket.socket(socket.AF_UNIX) as behind:
            tool.settimeout(DEADLINE_S)
            behind.settimeout(DEADLINE_S)
            behind.connect(self.server.path)
            messages = 0
            while True:
                ready, _, _ = select.select([tool, behind], [], [], DEADLINE_S)
                if behind in ready:
                    tool.sendall(behind.recv(1 << 20))
                if tool not in ready:
                    continue
                piece = tool.recv(1 << 20)
                if not piece:
                    return
                messages += 1
                self.was_reached = messages == self.message
                if messages == self.message and self.end == "interrupt":
                    self.child.send_signal(signal.SIGINT)
                elif self.was_reached:
                    if self.end != "before":
                        self.have_done(behind, piece)
                    if self.end != "cut":
                        self.kill()
                    return
                behind.sendall(piece)

    @staticmethod
    def have_done(behind, commands):
        """Sends commands, and waits until the server has run all of them."""
        behind.sendall(commands + b"no such command\r\n")
        answers = b""
        while not answers.endswith(b"UNKNOWN_COMMAND\r\n"):
            piece = behind.recv(1 << 20)
            assert piece, answers
            answers += piece

    def kill(self):
        os.kill(self.child.pid, signal.SIGKILL)
        self.child.wait(DEADLINE_S)


class TransferTest(OperatorTest):
    """Puts jobs, shows them without their ids, and ends imports and exports at each of their messages."""

    def bury(self, body, tube, priority=1024, ttr=60):
        job = self.server.put(body, tube, priority, ttr=ttr)
        answer = self.server.ask(f"reserve-job {job}", f"bury {job} {priority}")
        self.assertIn("BURIED", answer)
        return job

    def put_bytes(self, body, tube):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.server.path)
            client.sendall(b"use %s\r\nput 1024 0 60 %d\r\n%s\r\nquit\r\n" %
                           (tube.encode(), len(body), body))
            while client.recv(1000):
                pass

    def jobs(self):
        """Returns all jobs, body -> [(tube, state, priority, ttr, delay)], without their ids."""
        found = collections.defaultdict(list)
        for job in range(1, int(self.server.stat("total-jobs")) + 1):
            answer = self.server.ask(f"stats-job {job}")
            if answer.startswith("NOT_FOUND"):
                continue
            stats = dict(line.split(": ") for line in answer.split("\r\n")[1].splitlines()[1:])
            body = self.server.ask(f"peek {job}").split("\r\n", 1)[1].removesuffix("\r\n")
            found[body].append((stats["tube"].strip('"'), stats["state"], int(stats["pri"]),
                                int(stats["ttr"]), int(stats["delay"])))
        return found

    def fill(self):
        self.server.put("ready", "mail", priority=7, ttr=9)
        self.server.put("later", "mail", priority=8, delay=1000)
        self.bury("buried", "mail", priority=9, ttr=11)

    def settle(self):
        """Waits until the server has noticed the end of the tool."""
        wait_until(lambda: self.server.stat("current-connections") == "1")
        self.assertEqual(self.count("reserved"), 0)

    def import_with_ends(self, text, jobs, check):
        """Ends an import at its 1st, 2nd, ... message, in each way, and continues it, until one runs to its end.

        `check` checks the jobs afterwards, and empties the tubes. Returns the number of messages of an import.
        """
        messages = []
        for end in ("before", "after", "cut"):
            for message in itertools.count(1):
                relay = Relay(self.server, message, end)
                status, output, error = relay.run("import", stdin=text)
                self.settle()
                # The server has a prefix of the lines, each of them once.
                there = sum(self.count(state) for state in ("ready", "delayed", "buried"))
                if end == "cut" and relay.was_reached:
                    self.assertEqual(status, NO_SERVER, error)
                self.good("import", "-q", "--from-line", str(there + 1), stdin=text)
                check()
                if not relay.was_reached:
                    self.assertEqual((status, output, error), (DONE, f"imported {jobs}\n", ""))
                    messages.append(message)
                    break
        return min(messages)

    def export_with_cuts(self, jobs, *words, after_cut=lambda: None):
        """Cuts an export at its 1st, 2nd, ... message, until one runs to its end.

        Returns the numbers of jobs that were written before the cuts, without 0.
        """
        self.good("put", "-ql", stdin=b"".join(b"job %d\n" % i for i in range(jobs)))
        message, seen = 1, set()
        while True:
            relay = Relay(self.server, message, "cut")
            status, output, error = relay.run("export", *words)
            lines = output.splitlines()
            self.assertEqual([json.loads(line)["id"] for line in lines],
                             list(range(1, len(lines) + 1)))
            if not relay.was_reached:
                break
            self.assertEqual(status, NO_SERVER, error)
            if lines:
                self.assertIn(f"incomplete: jobs written: {len(lines)} of {jobs}", error)
                seen.add(len(lines))
            after_cut()
            message += 1
        self.assertEqual((status, len(lines)), (0, jobs), error)
        return seen
