"""Clients that put, bury, kick and delete jobs, and know what each job has to be afterwards."""

import dataclasses
import random
import socket
import threading


@dataclasses.dataclass(frozen=True)
class Job:
    tube: str
    body: bytes
    priority: int
    ttr: int
    delay: int
    state: str
    buries: int = 0
    kicks: int = 0


def look_up(client, job_id):
    """The job as the server has it; None if it has none."""
    stats = client.stats(f"stats-job {job_id}")
    if stats is None:
        return None
    _, body = client.ask(f"peek {job_id}")
    return Job(stats["tube"], body, int(stats["pri"]), int(stats["ttr"]), int(stats["delay"]), stats["state"],
               int(stats["buries"]), int(stats["kicks"]))


class Load(threading.Thread):
    """One connection with jobs of its own. It ends when the connection does, when the server cannot keep
    something, or by stop()."""

    def __init__(self, client, number, seed, may_be_full=False):
        """The client is the load's from now on. If the folder may be full, a put may be refused for it."""
        super().__init__(daemon=True)
        self.client = client
        self.random = random.Random(f"{seed} {number}")
        self.tube = f"tube-{number}"
        self.jobs = {}  # What was acknowledged: by id the Job, or None if it was deleted.
        self.pending = {}  # By id: what else a job may be, because a command had no answer.
        self.put_pending = None  # The Job of a put that had no answer.
        self.acknowledged = 0
        self.acknowledged_puts = 0
        self.may_be_full = may_be_full
        self.refused_puts = 0
        self.refusal = None  # The answer that ended it: what it was for may have happened, or not.
        self.fault = None
        self.is_over = False

    def stop(self):
        """Ends it; answers that have not come by now never come."""
        self.is_over = True
        try:
            self.client.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # The server was faster.
        self.join()
        self.client.close()

    def run(self):
        try:
            self.client.ask(f"use {self.tube}")
            while not self.is_over:
                self.step()
        except OSError:
            pass  # The connection has ended.
        except Exception as error:  # A thread has nobody to tell.
            self.fault = error

    def step(self):
        alive = [job_id for job_id, job in self.jobs.items() if job]
        chance = self.random.random()
        if chance < 0.6 or not alive:
            self.put()
            return
        job_id = self.random.choice(alive)
        job = self.jobs[job_id]
        if chance < 0.75:
            self.change(job_id, f"delete {job_id}", "DELETED", None)
        elif job.state == "buried":
            self.change(job_id, f"kick-job {job_id}", "KICKED",
                        dataclasses.replace(job, state="ready", kicks=job.kicks + 1))
        else:
            # A job that is reserved when its server dies is ready on the next one.
            self.change(job_id, f"reserve-job {job_id}", "RESERVED", dataclasses.replace(job, state="ready"))
            priority = self.random.randrange(2**32)
            self.change(job_id, f"bury {job_id} {priority}", "BURIED", dataclasses.replace(
                job, state="buried", priority=priority, buries=job.buries + 1))

    def put(self):
        # Where the folder may be full, the clients fill what room the server has left.
        body = self.random.randbytes(self.random.choice((300, 60_000) if self.may_be_full else (0, 10, 300, 300, 5000)))
        delay = self.random.choice((0, 0, 0, 100_000))
        job = Job(self.tube, body, self.random.randrange(2**32), self.random.randint(100, 100_000), delay,
                  "delayed" if delay else "ready")
        self.put_pending = job
        words = self.ask("INSERTED", f"put {job.priority} {job.delay} {job.ttr} {len(body)}", body)
        self.put_pending = None
        if words[0] == "OUT_OF_MEMORY":
            self.refused_puts += 1
            return
        self.jobs[int(words[1])] = job
        self.acknowledged += 1
        self.acknowledged_puts += 1

    def ask(self, good, command, body=None):
        words, _ = self.client.ask(command, body)
        if words[0] == "INTERNAL_ERROR":
            self.refusal = words[0]
            raise ConnectionError("the server cannot keep anything")
        if words[0] != good and not (words[0] == "OUT_OF_MEMORY" and good == "INSERTED" and self.may_be_full):
            raise RuntimeError(f"{command} was answered {words}")
        return words

    def change(self, job_id, command, good, after):
        self.pending[job_id] = after
        self.ask(good, command)
        del self.pending[job_id]
        self.jobs[job_id] = after
        self.acknowledged += 1


def differences(client, loads):
    """What a server has otherwise than it was acknowledged to the loads, as texts. Requires: the loads have
    ended, and the server has no jobs of anybody else."""
    found = []
    alive = 0
    for load in loads:
        if load.fault:
            found.append(f"{load.tube}: {load.fault!r}")
        for job_id, acknowledged in load.jobs.items():
            job = look_up(client, job_id)
            alive += job is not None
            if job != acknowledged and not (job_id in load.pending and job == load.pending[job_id]):
                found.append(f"job {job_id} is {job}, and was acknowledged as {acknowledged}")
    stats = client.stats()
    there = sum(int(stats[f"current-jobs-{state}"]) for state in ("ready", "reserved", "delayed", "buried"))
    unanswered = sum(load.put_pending is not None for load in loads)
    if not alive <= there <= alive + unanswered:
        found.append(f"{there} jobs are there, {alive} of them acknowledged, and {unanswered} puts had no answer")
    return found
