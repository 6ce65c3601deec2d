"""Records the jobs that a server has acknowledged, and detects answers that contradict them.

A job is identified by the number in its body after its put is sent, and by its id after an answer has it. Answers of
different connections are read in any order, so an answer may show a job before the answer to its put, or after the
answer to its delete if the command was sent before.
"""

import collections

# Longer than any command takes. Deletions are remembered for this time, to accept late answers. After it, an unknown id
# is always a fault.
REMEMBERED_SECONDS = 60
FAULTS_MAX = 20

_FILL = bytes(33 + i * 7 % 90 for i in range(1009)) * 130
BODY_BYTES_MIN = 16
BODY_BYTES_MAX = 120_000


def body_of(number, size):
    """Returns the body of the job with that number, which is unique."""
    head = b"%d:" % number
    at = number % 1009
    return head + _FILL[at : at + size - len(head)]


def number_in(body):
    """Returns the number of the job with that body, or -1 if the body is not one of body_of()."""
    head = body[:20].partition(b":")[0]
    number = int(head) if head.isdigit() else -1
    return number if number >= 0 and body == body_of(number, len(body)) else -1


class Ledger:
    def __init__(self, clock):
        self._clock = clock  # Returns seconds; time.monotonic, except in tests.
        self.jobs = {}  # Number by id, of jobs that were acknowledged or seen, and not deleted.
        self.bytes = 0  # Sum of their bodies.
        self.faults = []
        self.highest_id = 0
        self._sizes = {}  # Size of the body by number, of all `jobs`.
        self._pending = set()  # Numbers of unanswered puts.
        self._early = {}  # Id by number, of unanswered puts whose job was seen.
        self._doubtful = set()  # Numbers of puts without an answer: the job may exist.
        self._maybe_gone = set()  # Ids of deletes without an answer.
        self._deleted = collections.OrderedDict()  # Time of the answer by id, of deleted jobs.

    def fault(self, text):
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(text)

    # Answers under load. `asked_at` is the time at which the command was sent.

    def put_sent(self, number):
        self._pending.add(number)

    def put_answered(self, number, job_id, size):
        self._pending.discard(number)
        seen_as = self._early.pop(number, None)
        if seen_as is None:
            if job_id in self.jobs or job_id in self._deleted:
                self.fault(f"id {job_id} was assigned twice")
            self._add(job_id, number, size)
        elif seen_as != job_id:
            self.fault(f"the body of job {job_id} was seen in job {seen_as}")

    def put_refused(self, number):
        self._pending.discard(number)
        if number in self._early:
            self.fault(f"a put was refused, but job {self._early.pop(number)} has its body")

    def put_lost(self, number):
        self._pending.discard(number)
        if self._early.pop(number, None) is None:
            self._doubtful.add(number)

    def deleted(self, job_id):
        if job_id in self._deleted:
            self.fault(f"job {job_id} was deleted twice")
        self._drop(job_id)
        self._maybe_gone.discard(job_id)
        now = self._clock()
        self._deleted[job_id] = now
        while next(iter(self._deleted.values())) < now - REMEMBERED_SECONDS:
            self._deleted.popitem(last=False)

    def deletion_lost(self, job_id):
        if job_id in self.jobs:
            self._maybe_gone.add(job_id)

    def seen(self, job_id, body, asked_at):
        number = number_in(body)
        if number < 0:
            self.fault(f"job {job_id} has an unknown body: {body[:60]!r}")
        elif job_id in self.jobs:
            if self.jobs[job_id] != number or self._sizes[number] != len(body):
                self.fault(f"job {job_id} has the body of another job: {body[:60]!r}")
        elif number in self._pending and number not in self._early:
            self._early[number] = job_id
            self._add(job_id, number, len(body))
        elif number in self._doubtful:
            self._doubtful.discard(number)
            self._add(job_id, number, len(body))
        elif self._deleted.get(job_id, 0) < asked_at:
            self.fault(f"job {job_id} was deleted and has returned")

    # After a restart, without outstanding commands.

    def compare(self, found):
        """Compares all jobs of the server, body by id, with the record. The record continues with these jobs."""
        for job_id in list(self.jobs):
            if job_id in found:
                self.seen(job_id, found[job_id], self._clock())
                continue
            if job_id not in self._maybe_gone:
                self.fault(f"job {job_id} was acknowledged and is lost")
            self._drop(job_id)
        for job_id, body in found.items():
            if job_id not in self.jobs:
                self.seen(job_id, body, float("inf"))
        self._doubtful.clear()
        self._maybe_gone.clear()
        self._deleted.clear()

    def _add(self, job_id, number, size):
        self.jobs[job_id] = number
        self._sizes[number] = size
        self.bytes += size
        self.highest_id = max(self.highest_id, job_id)

    def _drop(self, job_id):
        number = self.jobs.pop(job_id, None)
        if number is not None:
            self.bytes -= self._sizes.pop(number)
