"""Chooses ports for the servers of tests and measurements.

A port is never in the kernel's range for local ports of connections, because a client could get it after it is
chosen and before the server binds it.
"""

import os
import pathlib
import random

LOWEST = 10_000  # Below are the ports of well-known services.
HIGHEST = 65_535
ENOUGH = 1_000
ATTEMPTS_MAX = 10


def ports_beside(kernel_range):
    """Returns the ports to choose from. `kernel_range` is the text of ip_local_port_range."""
    low, high = (int(word) for word in kernel_range.split())
    if low >= LOWEST + ENOUGH:
        return range(LOWEST, min(low, HIGHEST + 1))
    if high + ENOUGH <= HIGHEST:
        return range(high + 1, HIGHEST + 1)
    return range(LOWEST, HIGHEST + 1)  # The kernel uses all ports, so a caller may have to try again.


def choose_port():
    """Returns a random port. It may be in use; is_address_in_use() detects that afterwards."""
    try:
        text = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    except OSError:
        text = "32768 60999"
    return random.SystemRandom().choice(ports_beside(text))


def is_address_in_use(said):
    """Returns true if `said`, the output of a server that has ended, reports that its address was in use."""
    return "ddress already in use" in said


def listens(pid, port):
    """Returns true if the process itself listens on the port, and not another one that was faster."""
    try:
        descriptors = list(pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
    sockets = {target for target in map(_target, descriptors) if target.startswith("socket:")}
    # Checked first, because the kernel needs milliseconds to list the sockets of the machine.
    return bool(sockets) and any(_listens_by(table, sockets, port) for table in ("tcp", "tcp6"))


def _listens_by(table, sockets, port):
    """Returns true if a table of the kernel (tcp or tcp6) lists one of the sockets as listening on the port."""
    try:
        rows = pathlib.Path("/proc/net", table).read_text().splitlines()[1:]
    except OSError:
        return False
    return any(words[3] == "0A" and words[1].endswith(f":{port:04X}") and f"socket:[{words[9]}]" in sockets
               for words in map(str.split, rows))


def _target(descriptor):
    try:
        return os.readlink(descriptor)
    except OSError:
        return ""  # The descriptor was closed meanwhile.
