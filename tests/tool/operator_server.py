"""Servers, a raw client, and runs of the tool, for the tests of the operator's subcommands."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time

DEADLINE_S = 60
# The tool's exit statuses.
DONE, NO, NO_SERVER, REFUSED, USAGE, LOCAL = 0, 1, 3, 4, 5, 6


class Server:
    """A beanstalk server on a unix socket in its own folder."""

    def __init__(self, binary, *flags):
        self.folder = tempfile.TemporaryDirectory(prefix="haricot-tool-")
        self.path = self.folder.name + "/socket"
        self.address = "unix:" + self.path
        self.binary, self.flags = str(binary), flags
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.binary, "-l", self.address, *self.flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.is_stopped = False
        wait_until(lambda: can_connect(self.path) or self.process.poll() is not None)
        if self.process.poll() is not None:
            raise AssertionError(f"{self.binary} ended with status {self.process.returncode}")
        self.ask()  # beanstalkd listens before it handles signals.

    def stop(self):
        if not self.is_stopped:
            self.is_stopped = True
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(DEADLINE_S)

    def ask(self, *lines):
        """Sends lines, which may be bodies, and returns all answers."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(DEADLINE_S)
            client.connect(self.path)
            client.sendall("".join(line + "\r\n" for line in (*lines, "quit")).encode("latin-1"))
            answer = b""
            while piece := client.recv(65536):
                answer += piece
        return answer.decode("latin-1")

    def put(self, body, tube="default", priority=1024, delay=0, ttr=60):
        answer = self.ask(f"use {tube}", f"put {priority} {delay} {ttr} {len(body)}", body)
        return int(answer.split("INSERTED ")[1])

    def stat(self, key, command="stats"):
        answer = self.ask(command)
        for line in answer.splitlines():
            if line.startswith(key + ": "):
                return line.split(": ", 1)[1].strip('"')
        raise AssertionError(f"no {key} in {answer}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()


class Fixed:
    """A server on a TCP port that sends fixed bytes to each client, and then nothing."""

    def __init__(self, words):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.words = words
        self.child = os.fork()
        if self.child == 0:
            self.serve()

    @property
    def address(self):
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self):
        clients = []
        while True:
            client, _ = self.listener.accept()
            client.sendall(self.words)
            clients.append(client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        self.listener.close()


class Dripping(Fixed):
    """A server like Fixed that sends the bytes slowly and repeatedly."""

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            with client, contextlib.suppress(OSError):  # The client has disconnected.
                while True:
                    for byte in self.words:
                        client.sendall(bytes([byte]))
                        time.sleep(0.15)


class Scripted:
    """A server on a unix socket whose answers are a function of the command line."""

    def __init__(self, answer):
        self.folder = tempfile.TemporaryDirectory(prefix="haricot-tool-")
        self.path = self.folder.name + "/socket"
        self.address = "unix:" + self.path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.child = os.fork()
        if self.child == 0:
            try:
                while True:
                    client, _ = self.listener.accept()
                    threading.Thread(target=self.serve, args=(client, answer), daemon=True).start()
            finally:  # The child must not continue with the tests.
                os._exit(1)

    @staticmethod
    def serve(client, answer):
        with client, client.makefile("rb") as lines:
            try:
                for line in lines:
                    client.sendall(answer(line.decode().strip()))
            except OSError:  # The client has disconnected.
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        self.listener.close()
        self.folder.cleanup()


def can_connect(path):
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(path)
        except OSError:
            return False
        return True


def wait_until(is_true):
    """Polls until the condition is true, up to a generous deadline."""
    end = time.monotonic() + DEADLINE_S
    while not is_true():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.005)


def run(tool, *words, stdin=None, address=None, environment=None):
    """Runs the tool. Returns its status, stdout (bytes) and stderr.

    Its stdin is a pipe with the bytes `stdin`, or /dev/null.
    """
    settings = {key: value for key, value in os.environ.items() if key != "HARICOT_ADDR"}
    if address:
        settings["HARICOT_ADDR"] = address
    settings.update(environment or {})
    source = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    ended = subprocess.run([str(tool), *map(str, words)], capture_output=True, env=settings,
                           timeout=60, check=False, **source)
    return ended.returncode, ended.stdout, ended.stderr.decode("utf-8", "replace")


def existing(path):
    return path if path and pathlib.Path(path).exists() else None
