#!/usr/bin/env python3
"""Runs a haricotd with a binlog under load for a long time, stops, kills and restarts it, and checks that no
acknowledged job is lost, that no deleted job returns, and that memory, descriptors and disk do not grow.

    soak.py --haricotd PATH --seconds N [--folder DIR] [--seed N]

Prints a table of samples and a verdict. Exit status: 0 passed, 1 failed, 2 wrong usage.
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "scripts" / "lib")]

import ports
import samples
from actors import ANSWER_SECONDS, Crowd
from ledger import Ledger, body_of
from link import Gone, Link
from samples import Limits, Sample

FILE_BYTES = 1024 * 1024
START_SECONDS = 60
STOP_SECONDS = 60
SETTLE_SECONDS = 60
PEEKS_AT_ONCE = 500
FLAGS = (["-f", "50"], ["-f", "0"], ["-F"], ["-f", "5", "-V"])
SUSPICIOUS = ("damage", "CHECK", "cannot", "Sanitizer", "lost", "refused")


class Failed(Exception):
    pass


class Server:
    """The daemon, which is restarted on the same folder."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.log_path = folder.parent / "log"
        self.process = None
        self.port = 0

    @property
    def pid(self):
        return self.process.pid

    def start(self, flags):
        for _ in range(ports.ATTEMPTS_MAX):
            self.port = ports.choose_port()
            command = [self.binary, "-l", "127.0.0.1", "-p", str(self.port), "-b", str(self.folder),
                       "-s", str(FILE_BYTES), *flags]
            with open(self.log_path, "wb") as log:
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            deadline = time.monotonic() + START_SECONDS
            while self.process.poll() is None and time.monotonic() < deadline:
                if ports.listens(self.pid, self.port):
                    return
                time.sleep(0.002)
            if self.process.poll() is None or not ports.is_address_in_use(self.log()):
                break
        raise Failed(f"the server did not start: {self.log()[-2000:]}")

    def end(self, number):
        """Sends the signal and waits for the end. Raises Failed if the server ends late or with another status."""
        self.process.send_signal(number)
        try:
            status = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"the server did not end within {STOP_SECONDS} s of signal {number}") from error
        if status != (0 if number == signal.SIGTERM else -number):
            raise Failed(f"the server ended with status {status}: {self.log()[-2000:]}")

    def log(self):
        return self.log_path.read_text(errors="replace")

    def suspicious_lines(self):
        return [line for line in self.log().splitlines() if any(word in line for word in SUSPICIOUS)]

    def discard(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Soak:
    def __init__(self, server, seconds, few, many):
        self.server = server
        self.started = time.monotonic()
        self.end = self.started + seconds
        self.ledger = Ledger(time.monotonic)
        self.crowd = Crowd(self.ledger, few, many, min(20, seconds / 6))
        self.limits = Limits(FILE_BYTES, len(Crowd.KINDS))
        self.rests = []
        self.checked_to = 0
        self.lives = self.kills = self.compared = 0
        # Seconds between restarts. Longer in a long run: a leak shows before a restart, a loss after it.
        self.life_seconds = (seconds / 30, seconds / 8) if seconds < 300 else (10, min(seconds / 12, 600))

    def run(self):
        print(Sample.HEADING)
        self.begin_life()
        while True:
            self.load(random.uniform(*self.life_seconds))
            over = time.monotonic() >= self.end
            self.end_life(random.choice(("kill", "kill", "stop", "rest")) if not over else "rest")
            self.begin_life()
            if over or self.ledger.faults:
                break
        self.server.end(signal.SIGTERM)

    def begin_life(self):
        """Starts the server, and compares its jobs with the acknowledged ones."""
        self.server.start(random.choice(FLAGS))
        self.lives += 1
        link = Link(self.server.port)
        held = self.peek_at_all(link)
        link.close()
        self.ledger.compare(held)
        self.compared += len(held)
        self.rest("started")

    def load(self, seconds):
        until = min(time.monotonic() + seconds, max(self.end, time.monotonic() + 1))
        self.crowd.connect(self.server.port)
        while time.monotonic() < until:
            step = min(until, time.monotonic() + min(30, seconds / 2))
            begun, cpu_before = time.monotonic(), samples.cpu_seconds(self.server.pid)
            self.crowd.run(step)
            cpu = samples.cpu_seconds(self.server.pid) - cpu_before
            self.judge(self.sample("under load", cpu / (time.monotonic() - begun)), at_rest=False)

    def end_life(self, how):
        if how == "rest":
            self.crowd.finish()
            self.rest("load has ended")
        number = signal.SIGKILL if how == "kill" else signal.SIGTERM
        self.kills += how == "kill"
        self.server.end(number)
        self.crowd.server_ended()
        for line in self.server.suspicious_lines():
            self.ledger.fault(f"the server logged: {line}")
        print(f"{'':>8} {'kill -9' if how == 'kill' else 'SIGTERM'}{'' if how == 'rest' else ' under load'}", flush=True)

    # Checks of the server ---------------------------------------------------------------------------

    def peek_at_all(self, link):
        """Returns all jobs, id to body. Peeks at each id that was assigned since the last call, and at earlier jobs."""
        number = self.crowd.next_number()
        link.ask(b"put 0 0 60 20\r\n" + body_of(number, 20) + b"\r\n", None)
        words = self.only(link)
        if words[0] != b"INSERTED":
            raise Failed(f"a put was answered {words}")
        newest = int(words[1])
        link.ask(b"delete %d\r\n" % newest, None)
        self.only(link)
        ids = [job_id for job_id in self.ledger.jobs if job_id <= self.checked_to]
        ids += range(self.checked_to + 1, newest)
        self.checked_to = newest
        held = {}
        for at in range(0, len(ids), PEEKS_AT_ONCE):
            for job_id in ids[at : at + PEEKS_AT_ONCE]:
                link.ask(b"peek %d\r\n" % job_id, job_id)
            for job_id, words, body in link.answers(ANSWER_SECONDS):
                if words[0] == b"FOUND":
                    held[job_id] = body
        count = self.count(link)
        if count != len(held):
            self.ledger.fault(f"the server counts {count} jobs, but has {len(held)}")
        return held

    @staticmethod
    def only(link):
        return next(link.answers(START_SECONDS))[1]

    @staticmethod
    def count(link):
        link.ask(b"stats\r\n", None)
        report = next(link.answers(ANSWER_SECONDS))[2].decode()
        values = dict(line.split(": ", 1) for line in report.splitlines() if ": " in line)
        return sum(int(values[f"current-jobs-{state}"]) for state in ("ready", "reserved", "delayed", "buried"))

    def rest(self, what):
        """Waits until the server is idle, without clients, and takes a sample."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            cpu_before, begun = samples.cpu_seconds(self.server.pid), time.monotonic()
            time.sleep(0.3)
            share = (samples.cpu_seconds(self.server.pid) - cpu_before) / (time.monotonic() - begun)
            sample = self.sample(what, share)
            is_calm = share < samples.CPU_SHARE_AT_REST_MAX and not self.limits.excess(sample, at_rest=True)
            if is_calm or time.monotonic() > deadline:
                break
        if share >= samples.CPU_SHARE_AT_REST_MAX:
            self.ledger.fault(f"the server uses {share * 100:.0f} % of a core at rest")
        self.judge(sample, at_rest=True)
        if what == "started":
            self.rests.append(sample)

    def sample(self, what, cpu_share):
        disk, files = samples.folder_usage(self.server.folder)
        return Sample(time.monotonic() - self.started, what, len(self.ledger.jobs), self.ledger.bytes,
                      samples.resident_bytes(self.server.pid), samples.descriptor_count(self.server.pid),
                      disk, files, cpu_share, self.crowd.commands)

    def judge(self, sample, at_rest):
        print(sample.row(), flush=True)
        for text in self.limits.excess(sample, at_rest):
            self.ledger.fault(text)


def parse_arguments():
    parser = argparse.ArgumentParser(description="Runs a haricotd under load for a long time, and checks it.")
    parser.add_argument("--haricotd", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--folder", help="parent folder of the binlog (default: that of temporary files)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    arguments = parser.parse_args()
    if arguments.seconds <= 0:
        parser.error("--seconds has to be more than 0")
    return arguments


def main():
    arguments = parse_arguments()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    random.seed(arguments.seed)
    print(f"seed {arguments.seed}")
    work = pathlib.Path(tempfile.mkdtemp(prefix="soak-", dir=arguments.folder))
    folder = work / "binlog"
    folder.mkdir()
    server = Server(arguments.haricotd, folder)
    many = 5000 if arguments.seconds >= 300 else 2000
    soak = Soak(server, arguments.seconds, few=many // 10, many=many)
    faults = []
    try:
        soak.run()
    except (Failed, Gone, OSError) as error:
        status = server.process.poll() if server.process else None
        faults.append(f"{type(error).__name__}: {error}; the server's status is {status}, its log: {server.log()[-2000:]}")
    finally:
        server.discard()
    faults = soak.ledger.faults + samples.growth(soak.rests) + faults
    minutes = (time.monotonic() - soak.started) / 60
    print(f"{soak.crowd.commands:,} commands in {minutes:.1f} minutes, {soak.lives} starts, {soak.kills} kills, "
          f"{soak.compared:,} jobs compared after restarts")
    if faults:
        print("FAILED; the folder was kept: " + str(work))
        for text in faults:
            print("  " + text)
        return 1
    for path in sorted(work.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    work.rmdir()
    print("passed: no job was lost, no deleted job returned; memory, descriptors and disk did not grow")
    return 0


if __name__ == "__main__":
    sys.exit(main())
