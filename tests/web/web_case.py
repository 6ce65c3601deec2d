"""Base of the black-box tests of `haricot web`: a running program, and a raw HTTP client."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv[1]
DEADLINE_S = 60
TOKEN = "correct-horse-battery-staple"


def wait_until(is_so, why="it never came"):
    end = time.monotonic() + DEADLINE_S
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(why() if callable(why) else why)
        time.sleep(0.01)


class Site:
    """A running program on a port that the kernel chooses."""

    def __init__(self, *flags, program=(PROGRAM,), listen="127.0.0.1:0", env=None):
        self.folder = tempfile.TemporaryDirectory(prefix="haricot-web-")
        self.log_path = pathlib.Path(self.folder.name, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([*program, "--listen", listen, *flags], stderr=log, stdout=log,
                                            cwd=self.folder.name, env={**os.environ, **(env or {})})
        wait_until(lambda: "event=web-ready" in self.log() or self.process.poll() is not None)
        if self.process.poll() is not None:
            raise AssertionError(self.log())
        address = re.search(r"addresses=(\S+)", self.log()).group(1)
        self.port = int(address.rpartition(":")[2]) if not address.startswith("unix:") else 0
        self.path = address.removeprefix("unix:")

    def log(self):
        return self.log_path.read_text(encoding="utf-8")

    def connect(self):
        client = socket.socket(socket.AF_INET if self.port else socket.AF_UNIX)
        client.settimeout(DEADLINE_S)
        client.connect(("127.0.0.1", self.port) if self.port else self.path)
        return client

    def memory_kb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def is_sanitized(self):
        """Returns true for a build with a sanitizer, which needs more memory and keeps freed memory."""
        return "libasan" in pathlib.Path(f"/proc/{self.process.pid}/maps").read_text(encoding="utf-8")

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        status, log = self.stop(), self.log() if self.log_path.exists() else ""
        self.folder.cleanup()
        if status != 0:
            raise AssertionError(f"it ended with status {status}: {log}")


class Answer:
    def __init__(self, head, body, is_cut=False):
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            self.headers.setdefault(name.lower(), value)
        self.body = body
        self.is_cut = is_cut

    def text(self):
        return self.body.decode()


class Reader:
    """Reads answers from a socket in order."""

    def __init__(self, client):
        self.client, self.input = client, b""

    def more(self):
        try:
            piece = self.client.recv(65536)
        except ConnectionResetError:
            piece = b""
        self.input += piece
        return bool(piece)

    def until(self, mark):
        while mark not in self.input:
            if not self.more():
                raise EOFError(self.input)
        taken, _, self.input = self.input.partition(mark)
        return taken

    def take(self, count):
        while len(self.input) < count and self.more():
            pass
        taken, self.input = self.input[:count], self.input[count:]
        return taken

    def answer(self, has_body=True):
        head = self.until(b"\r\n\r\n")
        answer = Answer(head, b"")
        if not has_body or answer.status in (100, 304):
            return answer
        if answer.headers.get("transfer-encoding") == "chunked":
            try:
                while size := int(self.until(b"\r\n"), 16):
                    answer.body += self.take(size)
                    self.take(2)
                self.take(2)
            except EOFError:
                answer.is_cut = True
        elif "content-length" in answer.headers:
            answer.body = self.take(int(answer.headers["content-length"]))
            answer.is_cut = len(answer.body) < int(answer.headers["content-length"])
        else:
            while self.more():
                pass
            answer.body, self.input = self.input, b""
        return answer

    def is_at_end(self):
        return not self.input and not self.more()


def request(path="/", method="GET", headers=(), body=None, host="localhost"):
    lines = [f"{method} {path} HTTP/1.1"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += headers
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b"")


class WebTest(unittest.TestCase):
    FLAGS = ()

    def setUp(self):
        self.site = self.serve(*self.FLAGS)

    def serve(self, *flags, **more):
        site = Site(*flags, **more)
        self.addCleanup(site.__exit__)
        return site

    def token_file(self, token=TOKEN, mode=0o600):
        folder = tempfile.TemporaryDirectory(prefix="haricot-token-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "token")
        path.write_text(token + "\n", encoding="ascii")
        path.chmod(mode)
        return path

    def connect(self, site=None):
        client = (site or self.site).connect()
        self.addCleanup(client.close)
        return client

    def send(self, data, site=None):
        """Sends the bytes. Returns the only answer."""
        with contextlib.closing(self.connect(site)) as client:
            client.sendall(data)
            return Reader(client).answer(has_body=not data.startswith(b"HEAD"))

    def ask(self, path="/", *more, site=None, **also):
        return self.send(request(path, *more, **also), site)

    def assert_memory_below(self, kilobytes):
        if not self.site.is_sanitized():
            self.assertLess(self.site.memory_kb(), kilobytes)

    def assert_logged(self, words):
        """Waits until the log has these words. A line is written at the end of a turn, after the answer."""
        wait_until(lambda: words in self.site.log(), words)

    def status(self, *words, **more):
        return self.ask(*words, **more).status

    def fields(self, *words, **more):
        answer = self.ask(*words, **more)
        self.assertEqual(answer.status, 200, answer.body)
        return dict(line.split("=", 1) for line in answer.text().splitlines())
