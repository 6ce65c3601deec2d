"""Machines of a test. Each has its own processes, network, mounts and name, and fails as a whole.

A node is a set of namespaces inside those of the test (stage.isolate), so it ends with the test. The
test itself is the machine 198.51.100.1 on the same network.
"""

import contextlib
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import time

from stage import PATIENCE_S, exists, wait_for

LIBC = ctypes.CDLL(None, use_errno=True)
NETWORK = "198.51.100"
PF_EXITING = 4  # A flag of a task, in the kernel's statistics of a process.


def make_network():
    for words in ("link add bridge0 type bridge", "link set bridge0 up", f"address add {NETWORK}.1/24 dev bridge0"):
        subprocess.run(["ip", *words.split()], check=True)


def set_namespace(descriptor):
    if LIBC.setns(descriptor, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def threads(pid):
    """Returns the threads of a process, pairs of id and state, or none if it has ended."""
    found = []
    with contextlib.suppress(OSError):  # The process has ended.
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found.append((int(task.name), (task / "stat").read_text().rpartition(") ")[2][0]))
    return found


def is_idle(pid, span_s=0.3):
    """Returns true if no thread of the process has run for a while."""
    def switches():
        return [path.read_text().partition("voluntary_ctxt_switches")[2]
                for path in sorted(pathlib.Path(f"/proc/{pid}/task").glob("*/status"))]
    before = switches()
    time.sleep(span_s)
    return switches() == before


def name_of(pid):
    """Returns the name of a process, or an empty string if it has ended."""
    with contextlib.suppress(OSError):  # The process has ended.
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def is_ending(pid):
    """Returns true if the process exists and is exiting, which a system call of one of its threads may delay."""
    with contextlib.suppress(OSError):
        state, *_, flags = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[:7]
        return state == "Z" or int(flags) & PF_EXITING != 0
    return False


def collect_orphans():
    """Reaps commands on nodes whose nsenter was killed after a timeout: they became children of this process, and a
    node cannot end before they are reaped. Unlike this process's own children, they have a second process id."""
    for path in pathlib.Path("/proc/self/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            with contextlib.suppress(OSError):  # Reaped meanwhile.
                status = pathlib.Path(f"/proc/{child}/status").read_text()
                if len(re.search(r"^NSpid:(.*)$", status, re.MULTILINE)[1].split()) > 1:
                    os.waitpid(child, os.WNOHANG)


class Node:
    """A machine. Requires: make_network() was called."""

    def __init__(self, number, own_folders, prepare="true", name=None, disk=None):
        """Starts the node. `own_folders` exist on this machine; on the node they and /run are empty, and end with it.
        The node first runs the shell command `prepare`, which still sees this machine's /run. `disk` (disks.py) loses
        its power with the node."""
        self.disk = disk
        self.address = f"{NETWORK}.{10 + number}"
        self.link = f"node{number}"
        self.name = name or self.link
        # The first process reaps ended processes, as on any machine: a shell does so while it waits.
        mounts = prepare + " && " + "".join(f"mount -t tmpfs tmpfs {folder} && " for folder in ("/run", *own_folders))
        self.starter = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc",
             "sh", "-c", f"hostname {self.name} && {mounts} ip link set lo up && echo ready && "
             "{ sleep infinity & wait; }"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = self.starter.stdout.readline()
        if output != "ready\n":
            self.starter.wait()
            raise RuntimeError(f"a node did not start: {output}")
        children = pathlib.Path(f"/proc/{self.starter.pid}/task/{self.starter.pid}/children")
        self.pid = int(wait_for("the first process of a node", children.read_text))
        ip = ["ip", "link"]
        subprocess.run([*ip, "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", str(self.pid)],
                       check=True)
        subprocess.run([*ip, "set", self.link, "master", "bridge0", "up"], check=True)
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")

    def run(self, *words, environment=None, check=True, patience_s=2 * PATIENCE_S):
        """Runs a command on the node. Returns its output."""
        result = subprocess.run(["nsenter", "--target", str(self.pid), "--all", *map(str, words)], text=True,
                                env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=patience_s)
        if check and result.returncode != 0:
            raise RuntimeError(f"{self.link}: {words}: status {result.returncode}: {result.stdout}")
        self.status = result.returncode
        return result.stdout

    @contextlib.contextmanager
    def enter_network(self):
        """A context in which this thread is in the node's network. Sockets that it opens stay there."""
        own, there = (os.open(f"/proc/{who}/ns/net", os.O_RDONLY) for who in ("thread-self", self.pid))
        try:
            set_namespace(there)
            try:
                yield
            finally:
                set_namespace(own)
        finally:
            os.close(own)
            os.close(there)

    def unplug(self):
        """Disconnects the node's network."""
        subprocess.run(["ip", "link", "set", self.link, "down"], check=True)

    def plug_in(self):
        subprocess.run(["ip", "link", "set", self.link, "up"], check=True)

    def lose_power(self):
        """Switches off the node, which sends no last packet: the network ends first, then the disk, then all
        processes."""
        self.unplug()
        if self.disk and self.disk.has_power:
            self.disk.lose_power()
        self.end()

    def processes(self):
        """Returns all processes of the node, by their process ids on this machine."""
        own = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = []
        for path in pathlib.Path("/proc").iterdir():
            if not path.name.isdigit():
                continue
            with contextlib.suppress(OSError):  # The process has ended.
                if os.readlink(path / "ns" / "pid") == own:
                    found.append(int(path.name))
        return found

    def processes_named(self, name):
        return [pid for pid in self.processes() if name_of(pid) == name]

    def pause(self):
        """Pauses the whole machine, like a virtual one: no packet reaches it, and no process runs."""
        self.unplug()
        signalled = set()

        def all_stopped():
            # Signals each thread, because one that waits in a call to the volume would delay the stop of the others.
            # A thread may start another process before it stops. A thread in the state D stops when its call ends.
            found = [(pid, *thread) for pid in self.processes() for thread in threads(pid)]
            stopped = all(state in "TtZX" or (state == "D" and number in signalled) for _, number, state in found)
            for pid, number, _ in found:
                LIBC.tgkill(pid, number, signal.SIGSTOP)
                signalled.add(number)
            return stopped
        wait_for("the stop", all_stopped)

    def resume(self):
        """Continues the machine after pause()."""
        self.plug_in()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def is_alive(self):
        return self.starter.poll() is None

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

        def has_ended():
            collect_orphans()
            return not self.is_alive() and not exists(self.pid)
        wait_for("the end of a node", has_ended)
        self.starter.stdout.close()
        # The kernel would remove the node's end of the link later; deleting this end removes both.
        subprocess.run(["ip", "link", "delete", self.link], capture_output=True)
