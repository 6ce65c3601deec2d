"""Servers to be measured: started pinned to a core, asked for their memory, ended by their process id."""

import os
import pathlib
import signal
import socket
import subprocess
import time

START_SECONDS = 10
PAGE = os.sysconf("SC_PAGESIZE")


def cores():
    """The core of the server and that of the load; the same one twice where there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-1], allowed[0]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Refused(Exception):
    """The server ended instead of listening; what it said is the message."""


class Server:
    """A running server; a context manager that ends it."""

    def __init__(self, binary, *flags):
        self.port = free_port()
        server_core, _ = cores()
        self.log = os.fdopen(os.memfd_create("log"), "w+b")
        self.process = subprocess.Popen(
            [str(binary), "-l", "127.0.0.1", "-p", str(self.port), *flags],
            stdout=self.log, stderr=self.log,
            preexec_fn=lambda: os.sched_setaffinity(0, {server_core}))
        self._wait_until_it_listens()

    def _wait_until_it_listens(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                self.log.seek(0)
                raise Refused(self.log.read().decode(errors="replace").strip())
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.005)
        self.stop()
        raise Refused(f"does not listen after {START_SECONDS} s")

    @property
    def pid(self):
        return self.process.pid

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def resident(self):
        """Bytes of memory that are in use."""
        return int(pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


