"""Starts the measured servers, pinned to a core, and stops them."""

import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts" / "lib"))

import ports

PATIENCE_SECONDS = 60
PAGE = os.sysconf("SC_PAGESIZE")


def cores():
    """Returns the core of the server and that of the load, which are the same if there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-1], allowed[0]


class Refused(Exception):
    """The server ended instead of listening. The message is its output."""


class Served:
    """Facts about a server that follow from its process and its port."""

    @property
    def pid(self):
        return self.process.pid

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"


class Server(Served):
    """A running server; a context manager that ends it."""

    def __init__(self, binary, *flags):
        for attempt in range(1, ports.ATTEMPTS_MAX + 1):
            try:
                self._start(binary, flags)
                return
            except Refused as refused:
                if attempt == ports.ATTEMPTS_MAX or not ports.is_address_in_use(str(refused)):
                    raise

    def _start(self, binary, flags):
        self.port = ports.choose_port()
        server_core, _ = cores()
        self.log = os.fdopen(os.memfd_create("log"), "w+b")
        self.process = subprocess.Popen(
            [str(binary), "-l", "127.0.0.1", "-p", str(self.port), *flags],
            stdout=self.log, stderr=self.log,
            preexec_fn=lambda: os.sched_setaffinity(0, {server_core}))
        self._wait_for_listener()

    def _wait_for_listener(self):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                self.log.seek(0)
                raise Refused(self.log.read().decode(errors="replace").strip())
            if ports.listens(self.pid, self.port):
                return
            time.sleep(0.005)
        self.stop()
        raise Refused(f"does not listen after {PATIENCE_SECONDS} s")

    def resident(self):
        """Returns the resident memory in bytes."""
        return int(pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


