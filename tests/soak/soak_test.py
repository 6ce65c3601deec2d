#!/usr/bin/env python3
"""Tests that the soak detects faults, and reports nothing else."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import samples
from ledger import REMEMBERED_SECONDS, Ledger, body_of, number_in
from samples import MIB, Limits, Sample


class Bodies(unittest.TestCase):
    def test_a_body_has_a_unique_number(self):
        for size in (16, 20, 1000, 60_000):
            self.assertEqual(len(body_of(4711, size)), size)
            self.assertEqual(number_in(body_of(4711, size)), 4711)
        damaged = bytearray(body_of(4711, 1000))
        damaged[500] ^= 1
        self.assertEqual(number_in(bytes(damaged)), -1)
        self.assertEqual(number_in(b"another body"), -1)


class Promises(unittest.TestCase):
    def setUp(self):
        self.now = 1000.0
        self.ledger = Ledger(lambda: self.now)
        for number in (1, 2, 3):
            self.ledger.put_sent(number)
            self.ledger.put_answered(number, number + 10, 100)

    def held(self, *numbers):
        return {number + 10: body_of(number, 100) for number in numbers}

    def test_existing_jobs_are_no_fault(self):
        self.ledger.compare(self.held(1, 2, 3))
        self.assertEqual(self.ledger.faults, [])

    def test_a_lost_job_is_detected(self):
        self.ledger.compare(self.held(1, 3))
        self.assertEqual(self.ledger.faults, ["job 12 was acknowledged and is lost"])

    def test_the_return_of_a_deleted_job_is_detected(self):
        self.ledger.deleted(12)
        self.ledger.compare(self.held(1, 2, 3))
        self.assertEqual(self.ledger.faults, ["job 12 was deleted and has returned"])

    def test_a_wrong_body_is_detected(self):
        self.ledger.compare({**self.held(1, 2), 13: body_of(2, 100)})
        self.assertEqual(len(self.ledger.faults), 1)

    def test_an_unanswered_command_may_have_taken_effect_or_not(self):
        self.ledger.put_sent(4)
        self.ledger.put_sent(5)
        self.ledger.put_lost(4)
        self.ledger.put_lost(5)
        self.ledger.deletion_lost(11)
        self.ledger.deletion_lost(12)
        self.ledger.compare(self.held(2, 3, 5))
        self.assertEqual(self.ledger.faults, [])
        self.assertEqual(self.ledger.jobs, {12: 2, 13: 3, 15: 5})
        # The comparison has found job 15, so it must not be lost later.
        self.ledger.compare(self.held(2, 3))
        self.assertEqual(self.ledger.faults, ["job 15 was acknowledged and is lost"])

    def test_a_job_may_be_seen_and_deleted_before_its_put_is_answered(self):
        self.ledger.put_sent(4)
        self.ledger.seen(14, body_of(4, 100), self.now)
        self.ledger.deleted(14)
        self.ledger.put_answered(4, 14, 100)
        self.ledger.compare(self.held(1, 2, 3))
        self.assertEqual(self.ledger.faults, [])

    def test_only_an_answer_to_an_earlier_command_may_show_a_deleted_job(self):
        asked_before = self.now
        self.now += 1
        self.ledger.deleted(12)
        self.ledger.seen(12, body_of(2, 100), asked_before)
        self.assertEqual(self.ledger.faults, [])
        self.ledger.seen(12, body_of(2, 100), self.now + 1)
        self.assertEqual(len(self.ledger.faults), 1)

    def test_repeated_ids_and_repeated_deletions_are_detected(self):
        self.ledger.put_sent(4)
        self.ledger.put_answered(4, 12, 100)
        self.ledger.deleted(13)
        self.ledger.deleted(13)
        self.assertEqual(len(self.ledger.faults), 2)

    def test_the_memory_of_the_ledger_does_not_grow_with_time(self):
        for number in range(100, 2100):
            self.now += 1
            self.ledger.put_sent(number)
            self.ledger.put_answered(number, number, 50)
            self.ledger.deleted(number)
        self.assertLess(len(self.ledger._deleted), REMEMBERED_SECONDS + 3)
        self.assertEqual(self.ledger.bytes, 300)


def sample(memory=8 * MIB, descriptors=12, disk=4 * MIB, jobs=100):
    return Sample(0, "at rest", jobs, 1000 * jobs, memory, descriptors, disk, 4, 0.0, 0)


class Flatness(unittest.TestCase):
    def test_each_limit_is_checked(self):
        for at_rest in (True, False):
            limits = Limits(MIB, 14)
            self.assertEqual(limits.excess(sample(), at_rest), [])
            for much in ({"memory": 40 * MIB}, {"descriptors": 100}, {"disk": 40 * MIB}):
                self.assertEqual(len(limits.excess(sample(**much), at_rest)), 1, much)

    def test_a_leak_is_detected_and_more_jobs_are_not_a_leak(self):
        leaking = [sample(memory=(8 + i) * MIB) for i in range(20)]
        self.assertEqual(len(samples.growth(leaking)), 1)
        descriptors = [sample(descriptors=12 + i) for i in range(20)]
        self.assertEqual(len(samples.growth(descriptors)), 1)
        more_jobs = [sample(memory=int((8 + i) * MIB), jobs=int(i * MIB / 1300)) for i in range(20)]
        self.assertEqual(samples.growth(more_jobs), [])
        self.assertEqual(samples.growth([sample()] * 20), [])


if __name__ == "__main__":
    unittest.main()
