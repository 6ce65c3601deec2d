"""Clients that put, release, bury, kick and delete jobs, with and without tags, and record the state that each job must
have afterwards."""

import dataclasses
import random
import re
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
    releases: int = 0
    tags: tuple = ()  # Tags of the put, in the order in which the server reports them.


KEY_LIVES_S = 1_000_000  # The time for which a key outlives its job: longer than any test.


def read_job(client, job_id):
    """Returns the server's job, or None."""
    stats = client.stats(f"stats-job {job_id}")
    if stats is None:
        return None
    _, body = client.ask(f"peek {job_id}")
    return Job(stats["tube"], body, int(stats["pri"]), int(stats["ttr"]), int(stats["delay"]), stats["state"],
               int(stats["buries"]), int(stats["kicks"]), int(stats["releases"]), tags_of(client, job_id))


def tags_of(client, job_id):
    words, text = client.ask(f"scan-jobs {job_id} 1")
    if words[0] == "UNKNOWN_COMMAND":  # beanstalkd
        return ()
    found = re.findall(r'^  (try|con|idp): "?([^"\n]*)"?$', text.decode(), re.MULTILINE)
    return tuple(f"{tag}:{value}" for tag, value in found)


def key_of(job):
    """Returns the tag `idp` of the job, or None."""
    return next((tag for tag in job.tags if tag.startswith("idp:")), None)


class Load(threading.Thread):
    """A connection with its own jobs. It ends with the connection, when the server cannot store a change, or by
    stop()."""

    def __init__(self, client, number, seed, may_be_full=False, has_tags=True):
        """Takes over the client. `may_be_full`: the server may refuse puts because its folder is full. `has_tags`: the
        server supports tags."""
        super().__init__(daemon=True)
        self.client = client
        self.random = random.Random(f"{seed} {number}")
        self.tube = f"tube-{number}"
        self.jobs = {}  # Acknowledged states by id: the Job, or None if it was deleted.
        self.kept = {}  # Tags of deleted jobs whose keys live on, by id.
        self.pending = {}  # Other possible states by id, because a command had no answer.
        self.keys = 0
        self.put_pending = None  # The Job of a put without an answer.
        self.acknowledged = 0
        self.acknowledged_puts = 0
        self.may_be_full = may_be_full
        self.has_tags = has_tags
        self.refused_puts = 0
        self.refusal = None  # The refusal that ended the load. Its command may have taken effect.
        self.fault = None
        self.is_over = False

    def stop(self):
        """Ends the load. Outstanding answers are lost."""
        self.is_over = True
        try:
            self.client.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # The server closed the connection first.
        self.join()
        self.client.close()

    def run(self):
        try:
            self.client.ask(f"use {self.tube}")
            while not self.is_over:
                self.step()
        except OSError:
            pass  # The connection has ended.
        except Exception as error:  # Stored, because a thread has no caller.
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
            if key_of(job):
                self.kept[job_id] = key_of(job)
        elif job.state == "buried":
            self.change(job_id, f"kick-job {job_id}", "KICKED",
                        dataclasses.replace(job, state="ready", kicks=job.kicks + 1))
        else:
            # A job that is reserved when its server fails is ready on the next one.
            self.change(job_id, f"reserve-job {job_id}", "RESERVED", dataclasses.replace(job, state="ready"))
            priority = self.random.randrange(2**32)
            if self.random.random() < 0.5:
                delay = self.random.choice((0, 100_000))
                self.change(job_id, f"release {job_id} {priority} {delay}", "RELEASED", dataclasses.replace(
                    job, state="delayed" if delay else "ready", priority=priority, delay=delay,
                    releases=job.releases + 1))
                return
            self.change(job_id, f"bury {job_id} {priority}", "BURIED", dataclasses.replace(
                job, state="buried", priority=priority, buries=job.buries + 1))

    def put(self):
        # If the folder may be full, small and large bodies fill the rest of its room.
        body = self.random.randbytes(self.random.choice((300, 60_000) if self.may_be_full else (0, 10, 300, 300, 5000)))
        delay = self.random.choice((0, 0, 0, 100_000))
        job = Job(self.tube, body, self.random.randrange(2**32), self.random.randint(100, 100_000), delay,
                  "delayed" if delay else "ready", tags=self.draw_tags())
        self.put_pending = job
        words = self.ask("INSERTED", " ".join([f"put {job.priority} {job.delay} {job.ttr} {len(body)}", *job.tags]), body)
        self.put_pending = None
        if words[0] == "OUT_OF_MEMORY":
            self.refused_puts += 1
            return
        self.jobs[int(words[1])] = job
        self.acknowledged += 1
        self.acknowledged_puts += 1

    def draw_tags(self):
        """Returns random tags, or none for half of the jobs. The tag `try` never takes effect: its limit is too
        high."""
        if not self.has_tags or self.random.random() < 0.5:
            return ()
        self.keys += 1
        tags = ("try:65535", f"con:customer-{self.random.randrange(20)}:3", f"idp:{self.tube}-{self.keys}:{KEY_LIVES_S}")
        return tuple(tag for tag in tags if self.random.random() < 0.7)

    def ask(self, good, command, body=None):
        words, _ = self.client.ask(command, body)
        if words[0] == "INTERNAL_ERROR":
            self.refusal = words[0]
            raise ConnectionError("the server cannot store a change")
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
    """Returns the differences between the server's jobs and the acknowledged ones, as texts. Requires: the loads have
    ended, and the server has no other jobs."""
    found = []
    alive = 0
    for load in loads:
        if load.fault:
            found.append(f"{load.tube}: {load.fault!r}")
        for job_id, acknowledged in load.jobs.items():
            job = read_job(client, job_id)
            alive += job is not None
            if job != acknowledged and not (job_id in load.pending and job == load.pending[job_id]):
                found.append(f"job {job_id} is {job}, but was acknowledged as {acknowledged}")
        found += lost_keys(client, load)
    stats = client.stats()
    there = sum(int(stats[f"current-jobs-{state}"]) for state in ("ready", "reserved", "delayed", "buried"))
    unanswered = sum(load.put_pending is not None for load in loads)
    if not alive <= there <= alive + unanswered:
        found.append(f"{there} jobs exist, {alive} of them acknowledged, and {unanswered} puts had no answer")
    return found


def lost_keys(client, load):
    """Returns the keys that are lost although they should have outlived their jobs, as texts."""
    found = []
    if load.kept:
        client.ask(f"use {load.tube}")
    for job_id, tag in load.kept.items():
        words, _ = client.ask(f"put 0 0 60 0 {tag}", b"")
        if words != ["INSERTED", str(job_id), "DELETED"]:
            found.append(f"the key {tag} of the deleted job {job_id} is lost: {words}")
            client.ask(f"delete {words[1]}")
    return found
