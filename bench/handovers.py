"""Measures a restart that keeps the connections: the longest wait of clients, and the memory.

This program does the work of systemd: it keeps the descriptors that the server stores, and passes them to the next
server. Its clients check every answer.
"""

import contextlib
import multiprocessing
import os
import pathlib
import resource
import selectors
import signal
import socket
import subprocess
import tempfile
import threading
import time

from loads import Failed
from memory import Figure
from servers import PATIENCE_SECONDS, Served, cores, ports
from stalls import Client, put

MORE_THAN_IDLE_MS = 150
MILLION_MS = 800
PEAK_RATIO_MAX = 2.3
RESTARTS = 20
SAMPLE_SECONDS = 0.002


class Kept(Served):
    """A server whose descriptors are kept while it is down; a context manager."""

    def __init__(self, binary, *flags):
        self.binary, self.flags, self.port = binary, flags, ports.choose_port()
        self.folder = tempfile.TemporaryDirectory()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.folder.name + "/notify")
        self.socket.settimeout(PATIENCE_SECONDS)
        self.log = os.fdopen(os.memfd_create("log"), "w+b")
        self.kept = {}
        self.process = None
        self.start()

    def start(self):
        """Starts the server, and waits until it is ready and has taken all kept descriptors."""
        passed = list(self.kept.items())
        spare = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - len(passed) - 10
        server_core, _ = cores()

        def prepare():
            os.sched_setaffinity(0, {server_core})
            # First moves all descriptors to free numbers, because one may have the final number of another.
            for i, (_, descriptor) in enumerate(passed):
                os.dup2(descriptor, spare + i)
            for i in range(len(passed)):
                os.dup2(spare + i, 3 + i, inheritable=True)
                os.close(spare + i)

        words = f"export LISTEN_PID=$$ LISTEN_FDS={len(passed)} " \
                f"LISTEN_FDNAMES={':'.join(name for name, _ in passed)}; " if passed else ""
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", words + 'exec "$0" "$@"', str(self.binary), "-l", "127.0.0.1", "-p",
             str(self.port), *self.flags], stdout=self.log, stderr=self.log, close_fds=False,
            preexec_fn=prepare, env={**os.environ, "NOTIFY_SOCKET": self.folder.name + "/notify"})
        self._handle_notifications(lambda message: "READY=1" in message)
        while self.kept:
            self._handle_notifications(lambda message: "FDSTOREREMOVE=1" in message)

    def stop(self):
        """Stops the server, and waits until it has stored its descriptors and ended."""
        self.process.send_signal(signal.SIGTERM)
        self._handle_notifications(lambda message: "BARRIER=1" in message)
        if self.process.wait(PATIENCE_SECONDS) != 0:
            raise Failed(f"the server failed: {self._output()}")

    def restart(self):
        self.stop()
        self.start()

    def _handle_notifications(self, is_last):
        """Executes the server's notifications up to the first one for which `is_last` is true."""
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self.socket, 4096, 1)
            except TimeoutError:
                raise Failed(f"the server sends no notification: {self._output()}") from None
            message = data.decode().splitlines()
            name = next((line[7:] for line in message if line.startswith("FDNAME=")), "")
            if "FDSTORE=1" in message:
                self.kept[name] = descriptors.pop()
            elif "FDSTOREREMOVE=1" in message and name in self.kept:
                os.close(self.kept.pop(name))
            for descriptor in descriptors:
                os.close(descriptor)
            if is_last(message):
                return

    def _output(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-1000:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for descriptor in self.kept.values():
            os.close(descriptor)
        self.socket.close()
        self.log.close()
        self.folder.cleanup()


# Clients during a restart -------------------------------------------------------------------------


class Crowd:
    """Connections in all states, which must not notice a restart."""

    UNREAD = 200

    def __init__(self, server, connections, waiting, holding, in_middle, unread, jobs):
        self.faults = []
        clients = [Client(server) for _ in range(connections)]
        take = iter(clients)
        self.waiting = [next(take) for _ in range(waiting)]
        self.holding = [next(take) for _ in range(holding)]
        self.in_line = [next(take) for _ in range(in_middle // 2)]
        self.in_body = [next(take) for _ in range(in_middle - in_middle // 2)]
        self.unread = [next(take) for _ in range(unread)]
        self.idle = list(take)
        self.all = clients
        self.jobs = jobs
        first = clients[-1]
        first.run(b"use crowd\r\n", 1)
        first.repeat(put(), jobs)
        for number, client in enumerate(self.waiting):
            client.run(b"watch wait-%d\r\nignore default\r\n" % number, 2)
            client.socket.sendall(b"reserve\r\n")
        self.held = []
        for client in self.holding:
            client.run(b"watch crowd\r\nignore default\r\n", 2)
            client.socket.sendall(b"reserve\r\n")
            self.held.append(int(read_until(client, b"x\r\n").split()[1]))
        for client in self.in_line:
            client.socket.sendall(b"list-tube")
        for client in self.in_body:
            client.socket.sendall(b"put 0 0 600 10\r\n01234")
        for client in self.unread:
            client.socket.sendall(b"stats\r\n" * self.UNREAD)

    def check(self):
        """Returns the faults: differences from a server that was not restarted."""
        for client, number in zip(self.holding, self.held):
            self._ask(client, b"delete %d\r\n" % number, b"DELETED\r\n")
        for client in self.in_line:
            self._ask(client, b"-used\r\n", b"USING default\r\n")
        for client in self.in_body:
            self._ask(client, b"56789\r\n", b"INSERTED ")
        for client in self.unread:
            with self._collecting_faults(client):
                reports = b""
                while reports.count(b"OK ") < self.UNREAD or not reports.endswith(b"\n\r\n"):
                    more = client.socket.recv(1 << 20)
                    if not more:
                        raise Failed("the server closed a connection")
                    reports += more
        for number, client in enumerate(self.waiting):
            self._ask(self.idle[0], b"use wait-%d\r\nput 0 0 600 1\r\nx\r\n" % number, b"INSERTED ")
            with self._collecting_faults(client):
                read_until(client, b" 1\r\nx\r\n")
        for client in self.idle:
            self._ask(client, b"ignore default\r\n", b"NOT_IGNORED\r\n")
        left = b"current-jobs-ready: %d\n" % (self.jobs - len(self.held))
        with self._collecting_faults(self.idle[0]):
            if left not in tube_report(self.idle[0], b"crowd"):
                self.faults.append(f"not {left.decode().strip()}")
        return self.faults

    def _ask(self, client, command, answer):
        with self._collecting_faults(client):
            client.socket.sendall(command)
            read_until(client, answer)

    @contextlib.contextmanager
    def _collecting_faults(self, client):
        try:
            client.socket.settimeout(PATIENCE_SECONDS)
            yield
        except (OSError, Failed) as fault:
            self.faults.append(str(fault))

    def close(self):
        for client in self.all:
            client.close()


def read_until(client, wanted):
    """Reads to the end of the answer that contains `wanted`, and returns the bytes."""
    data = b""
    while wanted not in data or not data.endswith(b"\r\n"):
        more = client.socket.recv(1 << 16)
        if not more:
            raise Failed("the server closed a connection")
        data += more
    return data


def tube_report(client, tube):
    client.socket.sendall(b"stats-tube %s\r\n" % tube)
    return read_until(client, b"\n\r\n")


class Cycles:
    """Connections that put, reserve and delete all the time, on one tube and from another process. Measures their
    longest wait, and checks that each job is reserved exactly once."""

    def __init__(self, server, connections):
        self.ours, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(
            target=self._run, args=(server.port, connections, theirs))
        self.process.start()
        self.ours.recv()  # The process has begun.

    def end(self):
        """Returns the longest wait in seconds, the number of cycles, and the faults."""
        with contextlib.suppress(BrokenPipeError):  # The process may have ended.
            self.ours.send("end")
        if not self.ours.poll(PATIENCE_SECONDS):
            self.process.kill()
            raise Failed("the clients get no answers")
        result = self.ours.recv()
        self.process.join()
        return result

    @staticmethod
    def _run(port, connections, pipe):
        try:
            result = Cycles._cycle(port, connections, pipe)
        except OSError as fault:
            result = 0.0, 0, [str(fault), "no cycle was completed"]
        pipe.send(result)

    @staticmethod
    def _cycle(port, connections, pipe):
        os.sched_setaffinity(0, {cores()[1]})
        poll = selectors.DefaultSelector()
        poll.register(pipe, selectors.EVENT_READ, None)
        one = [Cycle(port, number) for number in range(connections)]
        for cycle in one:
            poll.register(cycle.socket, selectors.EVENT_READ, cycle)
            cycle.begin()
        pipe.send("begun")
        is_over = False
        while not is_over or any(cycle.is_busy for cycle in one):
            for key, _ in poll.select():
                if key.data is None:
                    pipe.recv()
                    poll.unregister(pipe)
                    is_over = True
                elif not key.data.step(is_over):
                    poll.unregister(key.data.socket)
        bodies_put = [body for cycle in one for body in cycle.bodies_put]
        taken = [body for cycle in one for body in cycle.taken]
        faults = [cycle.fault for cycle in one if cycle.fault]
        if len(set(taken)) != len(taken):
            faults.append("a job was reserved twice")
        if set(bodies_put) != set(taken):
            faults.append("a job was lost")
        return max(cycle.longest for cycle in one), len(taken), faults


class Cycle:
    """A connection that repeats a put, a reserve of any job of the tube, and a delete of that job."""

    def __init__(self, port, number):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(b"use cycle\r\nwatch cycle\r\nignore default\r\n")
        data = b""
        while data.count(b"\n") < 3:
            data += self.socket.recv(100)
        self.number, self.count = number, 0
        self.bodies_put, self.taken = [], []
        self.longest, self.fault, self.is_busy = 0.0, "", False

    def begin(self):
        self.count += 1
        self.body = b"%d-%d" % (self.number, self.count)
        self._send(b"put 0 0 600 %d\r\n%s\r\n" % (len(self.body), self.body))

    def _send(self, command):
        self.is_busy, self.sent, self.since = True, command.split()[0], time.monotonic()
        self.answer = b""
        self.socket.sendall(command)

    def step(self, is_over):
        """Reads an answer and sends the next command. Returns false if the connection is done."""
        try:
            more = self.socket.recv(4096)
            return self._receive(more, is_over) if more else self._fail("the server closed a connection")
        except OSError as fault:
            return self._fail(str(fault))

    def _receive(self, more, is_over):
        self.answer += more
        if self.answer.count(b"\r\n") < (2 if self.sent == b"reserve" else 1):
            return True
        self.longest = max(self.longest, time.monotonic() - self.since)
        if self.sent == b"put" and self.answer.startswith(b"INSERTED "):
            self.bodies_put.append(self.body)
            self._send(b"reserve\r\n")
        elif self.sent == b"reserve" and self.answer.startswith(b"RESERVED "):
            self.taken.append(self.answer.split(b"\r\n")[1])
            self._send(b"delete %s\r\n" % self.answer.split()[1])
        elif self.sent == b"delete" and self.answer == b"DELETED\r\n":
            self.is_busy = False
            if not is_over:
                self.begin()
            return not is_over
        else:
            return self._fail(f"unexpected answer to {self.sent}: {self.answer}")
        return True

    def _fail(self, fault):
        self.fault, self.is_busy = fault, False
        return False


# Measurements -------------------------------------------------------------------------------------


class Memory:
    """Watches the memory of the servers and of the state between them, and keeps the largest sum."""

    def __init__(self, server):
        self.server, self.largest, self.is_over = server, 0, False
        self.before = anonymous_bytes(server.pid)
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()

    def _watch(self):
        pids = {self.server.pid}
        while not self.is_over:
            pids.add(self.server.pid)
            bytes_now = sum(map(anonymous_bytes, pids)) + self._state_bytes(pids)
            self.largest = max(self.largest, bytes_now)
            time.sleep(SAMPLE_SECONDS)

    def _state_bytes(self, pids):
        """Returns the size of the state's memfd, which one of the processes has open, or 0."""
        folders = [pathlib.Path(f"/proc/{pid}/fd") for pid in (*pids, os.getpid())]
        for folder in folders:
            with contextlib.suppress(OSError):
                for entry in folder.iterdir():
                    with contextlib.suppress(OSError):
                        if "memfd:haricot-state" in os.readlink(entry):
                            return os.stat(entry).st_blocks * 512
        return 0

    def peak_ratio(self):
        """Stops watching. Returns the ratio of the largest sum to the memory before."""
        self.is_over = True
        self.thread.join()
        return self.largest / self.before


def anonymous_bytes(pid):
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def idle_restart_seconds():
    """Returns the restart time of a process that does nothing."""
    process = subprocess.Popen(["/bin/sleep", "60"])
    time.sleep(0.1)
    started = time.monotonic()
    process.terminate()
    process.wait()
    process = subprocess.Popen(["/bin/sleep", "60"])
    seconds = time.monotonic() - started
    process.kill()
    process.wait()
    return seconds


def restart_under_load(binary, crowd_of, restarts, *flags):
    """Returns the longest wait in seconds, and the faults."""
    with Kept(binary, *flags) as server:
        crowd = Crowd(server, *crowd_of)
        cycles = Cycles(server, 8)
        for _ in range(restarts):
            time.sleep(0.2)
            server.restart()
        time.sleep(0.2)
        longest, count, faults = cycles.end()
        if count == 0:
            faults.append("no cycle was completed")
        faults += crowd.check()
        crowd.close()
    return longest, faults


def restart_with_jobs(binary, jobs, *flags):
    """Returns the longest wait in seconds, the ratio of the largest memory to that before, and the faults."""
    with Kept(binary, *flags) as server:
        client = Client(server)
        client.run(b"use many\r\n", 1)
        client.repeat(put(), jobs)
        cycles = Cycles(server, 1)
        time.sleep(0.2)
        memory = Memory(server)
        server.restart()
        ratio = memory.peak_ratio()
        longest, _, faults = cycles.end()
        report = tube_report(client, b"many")
        if b"current-jobs-ready: %d\n" % jobs not in report:
            faults.append("jobs were lost")
        client.close()
    return longest, ratio, faults


def count_of(faults, log):
    for fault in faults[:5]:
        log(f"FAILED: {fault}")
    return len(faults)


def measure(binary, folder, quick, log):
    scale = 0.1 if quick else 1
    size = lambda number: int(number * scale)
    # This process has all descriptors of the server, too.
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    crowd_of = (size(5000), size(1000), size(1000), size(50), size(50), size(10_000))
    crowd_text = f"{size(5000):,} connections, {size(10_000):,} jobs"
    idle_ms = idle_restart_seconds() * 1000
    for restarts, text in ((1, "a restart"), (RESTARTS, f"{RESTARTS} restarts")):
        log(f"{text}: {crowd_text}")
        longest, faults = restart_under_load(binary, crowd_of, restarts)
        yield Figure(f"{crowd_text}, {text}: errors", "errors", 0, count_of(faults, log))
        yield Figure(f"{crowd_text}, {text}", "ms", MORE_THAN_IDLE_MS + idle_ms, longest * 1000, None,
                     f"restart of an idle service: {idle_ms:.0f} ms")
    jobs = size(1_000_000)
    for text in ("in memory", "with a binlog"):
        log(f"a restart: {jobs:,} jobs {text}")
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            flags = ("-b", inside) if text != "in memory" else ()
            longest, ratio, faults = restart_with_jobs(binary, jobs, *flags)
        load = f"{jobs:,} jobs {text}, a restart"
        yield Figure(f"{load}: errors", "errors", 0, count_of(faults, log))
        yield Figure(load, "ms", MILLION_MS, longest * 1000)
        yield Figure(f"{load}: peak memory", "times", PEAK_RATIO_MAX, ratio)
