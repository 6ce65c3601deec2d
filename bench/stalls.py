"""Measures the longest wait of a small client while another client does something large.

The small client is one connection of `haricot bench` that puts, reserves and deletes all the time. It shares a core
with the large client but has priority there, so that it waits only for the server.
"""

import dataclasses
import socket
import statistics
import time

import loads
from machine import STOLEN_SHARE_MAX, Others
from servers import Server

LIMIT_MS = 5.0
JOB_BYTES_MAX = 200_000_000
COMMANDS_MIN = 300  # Commands of the small client. With fewer, a run does not count.
TRIES = 3
# After this time each action has only one try. Without repetitions, all actions take 130 s.
SECONDS_MAX = 150
SENT_BYTES = 64 * 1024
COMMANDS_AT_ONCE = 1000


class Client:
    """A connection that counts the lines of answers."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self, commands, lines):
        """Sends the commands and waits for `lines` lines. Returns the bytes that were received last."""
        # In pieces, because one call with 100 MB keeps the core busy and makes the small client wait.
        for at in range(0, len(commands), SENT_BYTES):
            self.socket.sendall(commands[at:at + SENT_BYTES])
        data = b""
        while lines > 0:
            data = self.socket.recv(1 << 20)
            if not data:
                raise loads.Failed("the server closed a connection")
            lines -= data.count(b"\n")
        return data

    def repeat(self, command, times, lines_each=1):
        """Sends a command many times, in batches."""
        batch = command * COMMANDS_AT_ONCE
        while times > 0:
            now = min(times, COMMANDS_AT_ONCE)
            self.run(batch[:len(command) * now], now * lines_each)
            times -= now

    def read_exactly(self, count):
        while count > 0:
            count -= len(self.socket.recv(min(count, 1 << 20)))

    def close(self):
        self.socket.close()


def put(delay=0, body=b"x" * 100):
    return b"put 0 %d 600 %d\r\n%s\r\n" % (delay, len(body), body)


class Actions:
    """The large actions. Each is a generator: it prepares before its yield, and acts after it, while it is watched."""

    def __init__(self, tool, scale):
        self.tool = tool
        self.scale = scale

    def count(self, number):
        return int(number * self.scale)

    def fill_and_delete(self, server):
        yield
        loads.run(self.tool, server, "--workload", "put", "-c", 1, "--depth", 500, "-n", self.count(5_000_000),
                  "--warm-up=0")

    def kick(self, server):
        client = Client(server)
        client.run(b"use kicked\r\n", 1)
        client.repeat(put(100_000), self.count(1_000_000))
        yield
        client.run(b"kick %d\r\n" % self.count(1_000_000), 1)
        client.close()

    def close_holder(self, server):
        client = Client(server)
        jobs = self.count(100_000)
        client.run(b"use held\r\nwatch held\r\nignore default\r\n", 3)
        client.repeat(put(), jobs)
        client.repeat(b"reserve\r\n", jobs, lines_each=2)
        yield
        client.close()
        time.sleep(0.5)

    def large_jobs(self, server):
        client = Client(server)
        size = 100_000_000
        client.run(b"use large\r\nwatch large\r\nignore default\r\n", 3)
        job = put(body=b"x" * size)
        yield
        for _ in range(3):
            client.run(job, 1)
            client.socket.sendall(b"reserve\r\n")
            header = b""
            while not header.endswith(b"\r\n"):
                header += client.socket.recv(1)
            client.read_exactly(size + 2)
            client.run(b"delete %d\r\n" % int(header.split()[1]), 1)
        client.close()

    def delays_end(self, server):
        client = Client(server)
        client.run(b"use later\r\n", 1)
        delay = 6
        started = time.monotonic()
        client.repeat(put(delay), self.count(1_000_000))
        taken = time.monotonic() - started
        yield
        time.sleep(max(0.0, delay - taken - 0.2) + taken + 0.5)
        client.close()


@dataclasses.dataclass(frozen=True)
class Stall:
    text: str
    p999_ms: float
    max_ms: float      # Median of the rounds.
    worst_ms: float
    idle_max_ms: float
    stolen: float = 0.0  # Median of the rounds.

    @property
    def beyond_ms(self):
        return max(0.0, self.max_ms - self.idle_max_ms)

    @property
    def is_met(self):
        return self.beyond_ms < LIMIT_MS


@dataclasses.dataclass(frozen=True)
class Seen:
    p999_ms: float
    max_ms: float
    stolen: float
    commands: int


def watch(tool, haricotd, action):
    """Runs an action. Returns the waits of the small client meanwhile."""
    with Server(haricotd, "-z", str(JOB_BYTES_MAX)) as server:
        steps = action(server)
        next(steps)
        # Runs until it is interrupted.
        small = loads.Load(tool, server, "-c", 1, "--seconds", 250, "--warm-up=300", urgent=True)
        others = Others()
        try:
            time.sleep(0.5)
            for _ in steps:
                pass
            time.sleep(0.2)
        finally:
            stolen = others.stolen()
            result = small.interrupt()["all"]
    return Seen(result["p99.9_us"] / 1000, result["max_us"] / 1000, stolen, result["commands"])


def watch_undisturbed(tool, haricotd, action, again_until):
    """Runs an action, and repeats it a few times while processor time is stolen. Returns the least disturbed run."""
    usable = []
    for _ in range(TRIES):
        seen = watch(tool, haricotd, action)
        if seen.commands >= COMMANDS_MIN:
            usable.append(seen)
            if seen.stolen <= STOLEN_SHARE_MAX or time.monotonic() > again_until:
                break
    if not usable:
        raise loads.Failed(f"the small client got fewer than {COMMANDS_MIN} answers in each of {TRIES} tries")
    return min(usable, key=lambda seen: seen.stolen)


def measure(tool, haricotd, quick, log):
    actions = Actions(tool, 0.1 if quick else 1)
    rounds = 1 if quick else 2

    def idle(_):
        yield
        time.sleep(1 if quick else 5)

    size = actions.count
    rows = (
        ("nothing", idle),
        (f"{size(5_000_000):,} jobs put, then deleted", actions.fill_and_delete),
        (f"{size(1_000_000):,} delayed jobs kicked at once", actions.kick),
        (f"a connection closes that holds {size(100_000):,} jobs", actions.close_holder),
        ("three jobs of 100 MB in and out", actions.large_jobs),
        (f"{size(1_000_000):,} delays end within about a second", actions.delays_end),
    )
    seen = {text: [] for text, _ in rows}
    again_until = time.monotonic() + SECONDS_MAX
    for number in range(rounds):
        for text, action in rows:
            log(f"stalls, round {number + 1} of {rounds}: {text}")
            seen[text].append(watch_undisturbed(tool, haricotd, action, again_until))
    idle_max = statistics.median(r.max_ms for r in seen["nothing"])
    for text, _ in rows:
        of = seen[text]
        yield Stall(text, statistics.median(r.p999_ms for r in of),
                    statistics.median(r.max_ms for r in of), max(r.max_ms for r in of), idle_max,
                    statistics.median(r.stolen for r in of))
