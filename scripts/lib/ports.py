"""Ports for servers that tests and measurements start.

Never one of the range from which the kernel takes the local ports of connections: it would be free
when it is chosen, and the port of some client by the time the server binds it.
"""

import os
import pathlib
import random

LOWEST = 10_000  # Below are the ports of well-known services.
HIGHEST = 65_535
ENOUGH = 1_000
ATTEMPTS_MAX = 10


def ports_beside(kernel_range):
    """Where to choose from, given the kernel's range as it stands in ip_local_port_range."""
    low, high = (int(word) for word in kernel_range.split())
    if low >= LOWEST + ENOUGH:
        return range(LOWEST, min(low, HIGHEST + 1))
    if high + ENOUGH <= HIGHEST:
        return range(high + 1, HIGHEST + 1)
    return range(LOWEST, HIGHEST + 1)  # The kernel takes them all: trying again has to do.


def choose_port():
    """A port at random. Somebody may have it all the same: then is_address_in_use() says so."""
    try:
        text = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    except OSError:
        text = "32768 60999"
    return random.SystemRandom().choice(ports_beside(text))


def is_address_in_use(said):
    """Whether the output of a server that has ended says that its address was taken."""
    return "ddress already in use" in said


def listens(pid, port):
    """Whether this very process listens on the port: somebody else may have been faster."""
    try:
        descriptors = list(pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
    sockets = {target for target in map(_target, descriptors) if target.startswith("socket:")}
    # The kernel takes milliseconds to list the sockets of the machine.
    return bool(sockets) and any(_listens_by(table, sockets, port) for table in ("tcp", "tcp6"))


def _listens_by(table, sockets, port):
    """Whether one of the sockets listens on the port, by a table of the kernel."""
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
        return ""  # It was closed while we looked.
