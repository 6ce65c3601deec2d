"""Functions that the tests of this folder share: isolation in namespaces, a client, and waiting for a condition."""

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
# Much longer than any wait, even on a busy machine.
PATIENCE_S = 60


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def isolate(*needed):
    """Continues the test in namespaces that end with it: processes, mounts, and a network that has only a loopback
    device, so that every port is free. Skips the test if one of the programs `needed` is missing or namespaces cannot
    be made."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    for program in ("unshare", "ip", *needed):
        if not shutil.which(program):
            skip(f"{program} is missing")
    if os.environ.get("HARICOT_STAGE") == str(os.getppid()):
        # This is the first process of its namespace.
        del os.environ["HARICOT_STAGE"]
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # Temporary files end with the namespace, and the test does not use the machine's /run.
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
        tempfile.tempdir = "/run"
        return
    unshare = ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0 or subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        skip("cannot create namespaces")
    os.environ["HARICOT_STAGE"] = "0"  # The parent's process id, as the first process of a namespace sees it.
    os.execvp("unshare", [*unshare, sys.executable, *sys.argv])


def wait_for(what, condition, seconds=PATIENCE_S):
    """Waits for a true value of the condition, and returns it."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for: {what}")
        time.sleep(0.02)


def exists(pid):
    """Returns true if the process exists and is not a zombie."""
    try:
        return not pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return False


def end_all_others():
    """Kills every process of the namespace except the test itself. Requires: isolate() has returned."""
    if os.getpid() != 1 or tempfile.tempdir != "/run":
        raise RuntimeError("the namespace is not isolated")
    others = [int(path.name) for path in pathlib.Path("/proc").iterdir() if path.name.isdigit()]
    others.remove(os.getpid())
    for pid in others:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for("the end of all processes", lambda: not any(map(exists, others)))


class Client:
    """A connection that reads whole answers. Raises ConnectionError if the server has closed it.

    If `of` is given, the connection is in the network of that node (enter_network()), not in this thread's."""

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
        """Sends a command. Returns the words of the first line of the answer, and its body or None."""
        text = line.encode() + b"\r\n"
        if body is not None:
            text += body + b"\r\n"
        self.socket.sendall(text)
        return self.answer()

    def answer(self):
        line = self.input.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        words = line.decode().split()
        if words[0] not in ("OK", "FOUND", "RESERVED"):
            return words, None
        wanted = int(words[-1]) + 2
        body = self.input.read(wanted)
        if len(body) != wanted:
            raise ConnectionError("the server closed the connection")
        return words, body[:-2]

    def put(self, body, priority=0, delay=0, ttr=60):
        """Puts a job. Returns its id."""
        words, _ = self.ask(f"put {priority} {delay} {ttr} {len(body)}", body)
        if words[0] != "INSERTED":
            raise RuntimeError(f"a put was answered {words}")
        return int(words[1])

    def stats(self, of=""):
        """Returns the statistics as texts by key, or None if the job or tube does not exist."""
        words, body = self.ask(of or "stats")
        if words[0] != "OK":
            return None
        lines = (line.partition(": ") for line in body.decode().splitlines())
        return {key: value.strip('"') for key, colon, value in lines if colon}


def stats_of(host, port, timeout=5):
    """Returns the statistics of a server, or None if it does not answer."""
    with contextlib.suppress(OSError), Client(host, port, timeout) as client:
        return client.stats()
    return None
