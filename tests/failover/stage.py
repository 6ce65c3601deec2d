"""What the tests of this folder share: a machine's worth of processes and network of their own, a client,
waiting for a condition."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.dont_write_bytecode = True

SKIPPED = 77
# Whatever is waited for comes much sooner, also on a busy machine.
PATIENCE_S = 60


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def isolate(*needed):
    """Goes on in namespaces that end with this test, however it ends: processes, mounts, and a network with
    nothing but its own loopback, where every port is free. `needed` are programs; where one of them is
    missing, or no namespace can be made, the test is skipped."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    for program in ("unshare", "ip", *needed):
        if not shutil.which(program):
            skip(f"{program} is missing")
    if os.environ.get("HARICOT_STAGE") == str(os.getppid()):
        # The first process of its namespace; the parent is outside.
        del os.environ["HARICOT_STAGE"]
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # Temporary files go with the namespace too, and nothing meets the /run of the machine.
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
        tempfile.tempdir = "/run"
        return
    unshare = ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0 or subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        skip("namespaces cannot be made here")
    os.environ["HARICOT_STAGE"] = "0"  # What a process sees as its parent that is in no namespace of its own.
    os.execvp("unshare", [*unshare, sys.executable, *sys.argv])


def wait_for(what, condition, seconds=PATIENCE_S):
    """Returns the first true value of the condition."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for: {what}")
        time.sleep(0.02)


def is_there(pid):
    """Whether a process is there and has not ended."""
    try:
        return not pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return False


def end_all_others():
    """Ends every process of the namespace but the test itself. Requires: isolate() has returned."""
    if os.getpid() != 1 or tempfile.tempdir != "/run":
        raise RuntimeError("these are not only the processes of this test")
    others = [int(path.name) for path in pathlib.Path("/proc").iterdir() if path.name.isdigit()]
    others.remove(os.getpid())
    for pid in others:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for("the end of all processes", lambda: not any(map(is_there, others)))


class Client:
    """A connection that waits for whole answers. ConnectionError: the server has gone.

    `of` is whose network it is in, if not this thread's: something with enter_network(), a context."""

    def __init__(self, host, port, timeout=PATIENCE_S, of=None):
        with of.enter_network() if of else contextlib.nullcontext():
            self.socket = socket.create_connection((host, port), timeout=timeout)
        self.input = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.input.close()
        self.socket.close()

    def ask(self, line, body=None):
        """Sends one command. The words of the first line of the answer, and its body or None."""
        text = line.encode() + b"\r\n"
        if body is not None:
            text += body + b"\r\n"
        self.socket.sendall(text)
        return self.answer()

    def answer(self):
        line = self.input.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has closed the connection")
        words = line.decode().split()
        if words[0] not in ("OK", "FOUND", "RESERVED"):
            return words, None
        wanted = int(words[-1]) + 2
        body = self.input.read(wanted)
        if len(body) != wanted:
            raise ConnectionError("the server has closed the connection")
        return words, body[:-2]

    def put(self, body, priority=0, delay=0, ttr=60):
        """The id of the new job."""
        words, _ = self.ask(f"put {priority} {delay} {ttr} {len(body)}", body)
        if words[0] != "INSERTED":
            raise RuntimeError(f"a put was answered {words}")
        return int(words[1])

    def stats(self, of=""):
        """The statistics as texts by key; None if there is no such job or tube."""
        words, body = self.ask(of or "stats")
        if words[0] != "OK":
            return None
        lines = (line.partition(": ") for line in body.decode().splitlines())
        return {key: value.strip('"') for key, colon, value in lines if colon}


def stats_of(host, port, timeout=5):
    """The statistics of a server; None if none answers."""
    with contextlib.suppress(OSError), Client(host, port, timeout) as client:
        return client.stats()
    return None
