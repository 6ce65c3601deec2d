"""The clients of the server: producers, workers, a keeper, and clients that misbehave.

Each is a connection that sends a batch of random commands, and the next batch after all answers.
"""

import random
import select
import socket
import struct
import time

from ledger import BODY_BYTES_MIN, body_of
from link import Gone, Link

TUBES = [b"soak-%d" % i for i in range(12)]
HELD_MAX = 30
ANSWER_SECONDS = 60


class Leaves(Exception):
    """The client closes its connection."""


class Actor:
    def __init__(self, crowd):
        self.crowd = crowd
        self.link = Link(crowd.port)
        self.begin()

    def begin(self):
        """Sends the first commands of a new connection."""

    def refill(self):
        """Sends the next batch. Requires: all commands are answered."""

    def ask(self, text, command=None):
        self.link.ask(text, (command, time.monotonic()))

    def answered(self, command, words, body, asked_at):
        """Handles the answer to a command that was sent with a name. Other answers are only checked for errors."""

    def take(self, answers):
        for (command, asked_at), words, body in answers:
            self.crowd.commands += 1
            if not words or words[0] in (b"INTERNAL_ERROR", b"OUT_OF_MEMORY", b"BAD_FORMAT", b"UNKNOWN_COMMAND"):
                self.crowd.ledger.fault(f"{command} was answered {bytes(b' '.join(words))!r}")
            if command is not None:
                self.answered(command, words, body, asked_at)

    def lost(self):
        """Marks the unanswered commands as lost, and closes the connection."""
        for command, _ in self.link.under_way:
            if command is None:
                continue
            if command[0] == "put":
                self.crowd.ledger.put_lost(command[1])
            elif command[0] == "delete":
                self.crowd.ledger.deletion_lost(command[1])
        self.link.under_way.clear()
        self.link.close()

    def delete(self, job_id):
        self.ask(b"delete %d\r\n" % job_id, ("delete", job_id))

    def note(self, command, words, body, asked_at):
        """Records the answer to a put, a delete or a peek in the ledger."""
        ledger = self.crowd.ledger
        if command[0] == "put":
            if words[0] in (b"INSERTED", b"BURIED"):
                ledger.put_answered(command[1], int(words[1]), command[2])
            else:
                ledger.put_refused(command[1])
                ledger.fault(f"a put was answered {bytes(b' '.join(words))!r}")
        elif command[0] == "delete":
            if words[0] == b"DELETED":
                ledger.deleted(command[1])
        elif body is not None:
            ledger.seen(int(words[1]), body, asked_at)


class Producer(Actor):
    def refill(self):
        crowd = self.crowd
        self.ask(b"use %s\r\n" % crowd.any_tube())
        for _ in range(random.randint(1, 30)):
            if len(crowd.ledger.jobs) >= crowd.jobs_wanted():
                break
            number = crowd.next_number()
            size = random.choice((random.randint(BODY_BYTES_MIN, 300),) * 14 + (random.randint(1000, 6000),) * 5 + (60_000,))
            delay = random.choice((0, 0, 0, 0, 0, 1, 2))
            head = b"put %d %d %d %d\r\n" % (random.randint(0, 3000), delay, random.randint(1, 60), size)
            crowd.ledger.put_sent(number)
            self.ask(head + body_of(number, size) + b"\r\n", ("put", number, size))
        if not self.link.under_way or random.random() < 0.05:
            self.ask(b"stats\r\n")

    answered = Actor.note


class Worker(Actor):
    def begin(self):
        self.held = []
        for tube in random.sample(TUBES, 6):
            self.ask(b"watch %s\r\n" % tube)

    def refill(self):
        held, self.held = self.held, []
        if len(held) > HELD_MAX or random.random() < 0.003:
            raise Leaves  # Its jobs return to their tubes.
        for job_id in held:
            self.decide(job_id)
        for _ in range(random.randint(1, 20)):
            self.ask(b"reserve-with-timeout %d\r\n" % (random.random() < 0.003), ("reserve",))

    def decide(self, job_id):
        chance = random.random()
        if chance < 0.75:
            self.delete(job_id)
        elif chance < 0.85:
            self.ask(b"release %d %d %d\r\n" % (job_id, random.randint(0, 3000), random.choice((0, 0, 1))))
        elif chance < 0.92:
            self.ask(b"bury %d %d\r\n" % (job_id, random.randint(0, 3000)))
        elif chance < 0.97:
            self.ask(b"touch %d\r\n" % job_id)
            self.held.append(job_id)
        # The other jobs are forgotten: their TTR ends.

    def answered(self, command, words, body, asked_at):
        self.note(command, words, body, asked_at)
        if words[0] == b"RESERVED":
            self.held.append(int(words[1]))


class Keeper(Actor):
    """Peeks at jobs, kicks them, deletes some that others hold, and pauses tubes."""

    def refill(self):
        ids = self.crowd.some_ids(20)
        self.ask(b"use %s\r\n" % random.choice(TUBES))
        for job_id in ids:
            if random.random() < 0.2:
                self.delete(job_id)
            else:
                self.ask(b"peek %d\r\n" % job_id, ("peek",))
        for text in (b"peek-ready\r\n", b"peek-delayed\r\n", b"peek-buried\r\n"):
            self.ask(text, ("peek",))
        self.ask(b"kick %d\r\n" % random.choice((0, 5, 200)))
        if ids:
            self.ask(b"kick-job %d\r\n" % ids[0])
            self.ask(b"stats-job %d\r\n" % ids[-1])
        if random.random() < 0.05:
            self.ask(b"pause-tube %s 1\r\n" % random.choice(TUBES))
        self.ask(b"stats-tube %s\r\n" % random.choice(TUBES))
        self.ask(b"list-tubes\r\n")

    answered = Actor.note


class Nuisance(Actor):
    """Connects, sends something invalid, and closes or resets the connection."""

    def refill(self):
        if getattr(self, "done", False):
            if random.random() < 0.5:
                linger = struct.pack("ii", 1, 0)
                self.link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            raise Leaves
        self.done = True
        text = random.choice((
            b"", b"reser", b"put 0 0 60 500\r\nhalf", b"put 0 0 60 4294967295\r\n" + b"x" * 5000,
            b"x" * 3000, b"\0\r\n" * 20, bytes(random.randrange(256) for _ in range(300)),
            b"stats\r\n" * 300, b"watch gone-%d\r\nreserve\r\n" % random.randrange(10**6)))
        try:
            self.link.socket.send(text)
        except OSError:
            pass  # The server was killed, which the next read detects.


class Crowd:
    """All clients, which one loop drives."""

    KINDS = (Producer,) * 4 + (Worker,) * 7 + (Keeper,) + (Nuisance,) * 2

    def __init__(self, ledger, few, many, tide_seconds):
        self.ledger = ledger
        self.port = 0
        self.commands = 0
        self._few, self._many, self._tide_seconds = few, many, tide_seconds
        self._number = 0
        self._actors = []

    def next_number(self):
        self._number += 1
        return self._number

    def any_tube(self):
        return random.choice(TUBES)

    def jobs_wanted(self):
        """Returns the target number of jobs: many and few in turns, so that memory and files have to shrink again."""
        return self._many if int(time.monotonic() / self._tide_seconds) % 2 == 0 else self._few

    def some_ids(self, count):
        low = max(1, self.ledger.highest_id - 4 * max(len(self.ledger.jobs), 1))
        ids = (random.randint(low, self.ledger.highest_id + 1) for _ in range(4 * count))
        return [job_id for job_id in ids if job_id in self.ledger.jobs][:count]

    def connect(self, port):
        self.port = port
        self._actors = [kind(self) for kind in self.KINDS]

    def run(self, until):
        """Drives the clients until that time. Raises Gone if the server ends."""
        while time.monotonic() < until:
            for place, actor in enumerate(self._actors):
                try:
                    if not actor.link.under_way:
                        actor.refill()
                    actor.link.flush()
                except Leaves:
                    actor.lost()
                    self._actors[place] = type(actor)(self)
            self._read()

    def _read(self):
        poller = select.poll()
        by_number = {}
        for actor in self._actors:
            by_number[actor.link.fileno()] = actor
            wants_to_write = actor.link.wants_to_write()
            poller.register(actor.link, select.POLLIN | (select.POLLOUT if wants_to_write else 0))
        for number, _ in poller.poll(20):
            actor = by_number[number]
            try:
                actor.take(actor.link.receive())
            except Gone:
                if not isinstance(actor, Nuisance):
                    raise

    def finish(self):
        """Waits for the outstanding answers, and closes all connections."""
        for actor in self._actors:
            for answer in actor.link.answers(ANSWER_SECONDS):
                actor.take([answer])
            actor.lost()
        self._actors = []

    def server_ended(self):
        """Reads the answers that the server sent before it ended. The other commands are in doubt."""
        for actor in self._actors:
            actor.take(actor.link.receive_rest())
            actor.lost()
        self._actors = []
