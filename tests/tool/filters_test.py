#!/usr/bin/env python3
"""Tests the filters of kick, delete, move, bury, export and jobs, and the subcommands note and failures.

    filters_test.py HARICOT SERVER [FLAG...]

A server that cannot list jobs must refuse them and keep its jobs.
"""

import json
import pathlib
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, output_on_terminal
from operator_server import DONE, NO, REFUSED, USAGE, wait_until

MAIL = json.dumps({"uuid": "1", "displayName": "App\\Jobs\\SendMail", "job": "Handler@call",
                   "data": {"class": "Inner", "to": ["Müller", 17]}}).replace("/", "\\/")
BILL = json.dumps({"class": "ChargeCard", "args": [{"url": "https://x/y"}]}).replace("/", "\\/")


class FilterTest(OperatorTest):
    def setUp(self):
        super().setUp()
        if not self.has("list-jobs"):
            self.skipTest("the server cannot list jobs")

    def fail_job(self, body, note=None, tube="mail"):
        job = self.server.put(body, tube)
        lines = [f"reserve-job {job}"]
        if note is not None:
            lines += [f"note {job} {len(note.encode('latin-1'))}", note]
        self.assertIn("BURIED", self.server.ask(*lines, f"bury {job} 7"))
        return job

    def state(self, job):
        return self.server.stat("state", f"stats-job {job}")

    def states(self, *jobs):
        return [self.state(job) for job in jobs]


class Filters(FilterTest):
    def test_kick_by_note_class_and_text(self):
        mail, bill = self.fail_job(MAIL, "timeout of smtp\nline two"), self.fail_job(BILL, "declined")
        other = self.fail_job(MAIL, tube="other")
        self.assertEqual(self.good("kick", "mail", "--note", "timeout", "--since", "yesterday"), "kicked 1\n")
        self.assertEqual(self.states(mail, bill, other), ["ready", "buried", "buried"])
        self.assertEqual(self.good("kick", "mail", "--note", "line two"), "kicked 0\n")  # It is not buried.
        self.assertEqual(self.good_json("kick", "--class", "ChargeCard"), {"kicked": 1, "not_found": []})
        self.assertEqual(self.good("kick", "--class", "Inner"), "kicked 0\n")
        self.assertEqual(self.good("kick", "--class", "SendMail"), "kicked 1\n")
        self.assertEqual(self.states(mail, bill, other), ["ready"] * 3)

    def test_a_text_is_found_behind_the_escapes_of_json(self):
        mail, bill = self.fail_job(MAIL), self.fail_job(BILL)
        self.assertIn("\\u00fc", MAIL)
        self.assertEqual(self.good("kick", "--match", "Müller"), "kicked 1\n")
        self.assertEqual(self.good("kick", "--match", "https://x/y"), "kicked 1\n")
        self.assertEqual(self.states(mail, bill), ["ready", "ready"])

    def test_kick_takes_delayed_jobs_only_by_name(self):
        delayed, buried = self.server.put("x", "mail", delay=100), self.fail_job("x")
        self.assertEqual(self.good("kick", "mail", "--match", "x"), "kicked 1\n")
        self.assertEqual(self.states(delayed, buried), ["delayed", "ready"])
        self.assertEqual(self.good("kick", "mail", "--state", "delayed", "--match", "x"), "kicked 1\n")
        self.assertEqual(self.state(delayed), "ready")

    def test_older_counts_from_the_burial_of_buried_jobs(self):
        job = self.server.put("x", "mail")
        wait_until(lambda: int(self.server.stat("age", f"stats-job {job}")) >= 2)
        self.assertEqual(self.good("bury", "mail", "--older", "1s"), "buried 1\n")
        self.assertEqual(self.good("kick", "mail", "--older", "1s"), "kicked 0\n")
        wait_until(lambda: self.good("kick", "mail", "--older", "1s") == "kicked 1\n")
        self.assertEqual(self.good("delete", "mail", "--since", "1h", "--yes"), "deleted 1\n")

    def test_delete_needs_consent_and_spares_other_jobs(self):
        jobs = [self.fail_job(BILL), self.server.put(BILL, "mail", delay=50), self.server.put(BILL, "mail"),
                self.server.put(MAIL, "mail")]
        self.refused(USAGE, "--yes is required", "delete", "mail", "--class", "ChargeCard")
        self.assertEqual(self.good("delete", "mail", "--buried", "--class", "ChargeCard", "-y"), "deleted 1\n")
        self.assertEqual(self.good("delete", "--class", "ChargeCard", "-y", "-n", "1"), "deleted 1\n")
        self.assertEqual(self.good("delete", "--class", "ChargeCard", "-y", "--state", "ready"), "deleted 1\n")
        self.assertEqual(self.count("ready", "mail"), 1)
        self.assertEqual(self.state(jobs[3]), "ready")

    def test_move_keeps_the_note(self):
        buried, ready = self.fail_job(MAIL, "why\nmore"), self.server.put(MAIL, "mail")
        self.server.ask(f"note {ready} 5", "later")
        stays = self.server.put(BILL, "mail")
        self.assertEqual(self.good("move", "mail", "moved", "--class", "SendMail"), "moved 2\n")
        self.assertEqual(self.state(stays), "ready")
        jobs = [json.loads(line) for line in self.good("jobs", "moved", "--json").splitlines()]
        self.assertEqual([job["state"] for job in jobs], ["buried", "ready"])
        self.assertEqual([self.good("note", str(job["id"])) for job in jobs], ["why\nmore\n", "later\n"])
        self.assertEqual(self.good("move", "moved", "mail"), "moved 2\n")
        self.assertEqual(self.good("jobs", "mail", "--note", "more", "--json").count("buried-by"), 1)

    def test_bury_leaves_buried_jobs(self):
        jobs = [self.server.put(MAIL, "mail"), self.server.put(BILL, "mail"), self.fail_job(MAIL)]
        self.assertEqual(self.good("bury", "--class", "App\\Jobs\\SendMail"), "buried 1\n")
        self.assertEqual(self.states(*jobs), ["buried", "ready", "buried"])

    def test_export_and_import_keep_notes(self):
        self.fail_job(MAIL, "first line\nsecond \"line\"")
        self.server.ask(f"note {self.server.put(BILL, 'mail', delay=50)} 3", "\xff\x00\n")
        self.server.ask(f"note {self.server.put(BILL, 'mail')} 2", "ok")
        self.server.put("no note", "mail")
        lines = self.good("export", "mail")
        self.assertEqual(self.good("export", "mail", "--class", "ChargeCard").count("\n"), 2)
        self.assertEqual(self.good("export", "mail", "--state", "buried", "--note", "second").count("\n"), 1)
        self.good("flush", "mail", "--yes")
        self.assertEqual(self.good("import", stdin=lines.encode()), "imported 4\n")
        key = lambda text: sorted((job["body"], job["state"], job.get("note", job.get("note_base64")))
                                  for job in map(json.loads, text.splitlines()))
        self.assertEqual(key(self.good("export", "mail")), key(lines))

    def test_a_sample_is_the_same_each_time(self):
        for _ in range(400):
            self.server.put("x")
        sample = self.good("export", "--sample", "25%")
        self.assertEqual(self.good("export", "--sample", "25"), sample)
        self.assertTrue(50 < sample.count("\n") < 150, sample.count("\n"))
        self.assertEqual(self.good("export", "--sample", "100%").count("\n"), 400)
        self.refused(USAGE, "a share above 0%", "export", "--sample", "0%")

    def test_more_jobs_than_a_page_are_found(self):
        for _ in range(26):
            self.server.ask("use mail", *(["put 1 0 60 1", "x"] * 100))
        self.server.put("y", "news")
        self.assertEqual(self.good("bury", "--match", "x", "-n", "2050", "-q"), "")
        self.assertEqual(self.count("buried", "mail"), 2050)
        self.assertEqual(self.good("kick", "mail", "--match", "x"), "kicked 2050\n")
        self.assertEqual(self.good("delete", "--match", "x", "--yes"), "deleted 2600\n")
        self.assertEqual(self.count("ready"), 1)

    def test_a_terminal_is_asked(self):
        self.fail_job(MAIL)
        address = self.server.address
        self.assertIn(b"Kick 1 matching jobs? [y/N]",
                      output_on_terminal("kick", "--match", "Müller", address=address, typed=b"n\n"))
        self.assertEqual(self.count("buried", "mail"), 1)
        self.assertIn(b"kicked 1",
                      output_on_terminal("kick", "--match", "Müller", address=address, typed=b"y\n"))

    def test_mistakes(self):
        self.refused(USAGE, "ids exclude filters", "kick", "1", "--note", "x")
        self.refused(USAGE, "ids exclude filters", "delete", "1", "--note", "x", "--yes")
        self.refused(USAGE, "a time that has passed", "jobs", "--since", "2999-01-01")
        self.refused(USAGE, "a time that has passed", "jobs", "--since", "2026-02-30")
        self.refused(USAGE, "--by-id excludes filters", "export", "--by-id", "--note", "x")
        self.assertEqual(self.good("kick", "--note", "x", "nowhere"), "kicked 0\n")
        self.assertNotIn("nowhere", self.server.ask("list-tubes"))


class Jobs(FilterTest):
    def test_reserved_jobs_show_holder_and_times(self):
        self.server.put("x", ttr=100)
        self.hold()
        title, row = self.good("jobs", "--state", "reserved").splitlines()
        self.assertIn("held-for", title)
        job = json.loads(self.good("jobs", "--state", "reserved", "--json"))
        self.assertTrue(98 <= job["time-left"] <= 100)
        self.assertTrue(0 <= job["reserved-for"] <= 5)
        self.assertIn(f" {job['holder']} ", row)

    def test_the_table_shows_notes_without_control_characters(self):
        self.fail_job("x", 'it "failed" \x1b[31m')
        self.assertIn('mail "it "failed" \\x1b[31m"', self.good("jobs", "mail").splitlines()[1])
        self.assertEqual(self.good_json("jobs", "mail")["note"], 'it "failed" \x1b[31m')


class Note(FilterTest):
    def test_it_is_written_printed_and_removed(self):
        job = str(self.server.put("x"))
        self.refused(NO, f"job {job} has no note", "note", job)
        self.assertEqual(self.good("note", job, "some text"), "")
        self.assertEqual(self.good("note", job), "some text\n")
        self.assertEqual(self.good_json("note", job), {"id": int(job), "note": "some text"})
        self.good("note", job, "")
        self.refused(NO, f"job {job} has no note", "note", job)

    def test_a_held_job_and_mistakes(self):
        job = str(self.server.put("x"))
        self.hold()
        self.refused(NO, "or a worker holds it", "note", job, "x")
        self.refused(NO, "does not exist", "note", "99", "x")
        self.refused(USAGE, "at most 1024 bytes", "note", job, "x" * 1025)
        self.refused(USAGE, "requires the id", "note")
        self.refused(USAGE, "not a job id", "note", "mail")


class Failures(FilterTest):
    def test_groups_by_note_and_class(self):
        for _ in range(3):
            last = self.fail_job(MAIL, "timeout\nat line 17")
        self.fail_job(MAIL, "refused")
        self.fail_job(BILL, "timeout", tube="bills")
        self.fail_job("plain")
        self.server.put(MAIL, "mail")
        rows = [line.split(None, 4) for line in self.good("failures").splitlines()]
        self.assertEqual(rows[0], ["jobs", "first", "last", "id", "class note"])
        self.assertEqual(rows[1][0::3], ["3", str(last)])
        self.assertEqual(rows[1][4], "App\\Jobs\\SendMail timeout")
        self.assertEqual({row[4] for row in rows[2:]},
                         {"App\\Jobs\\SendMail refused", "ChargeCard timeout", "- -"})
        self.assertEqual(len(self.good("failures", "mail").splitlines()), 4)
        self.assertEqual(len(self.good("failures", "mail", "-n", "1").splitlines()), 2)
        group = json.loads(self.good("failures", "bills", "--json"))
        self.assertEqual((group["jobs"], group["class"], group["note"]), (1, "ChargeCard", "timeout"))

    def test_a_group_lists_its_jobs(self):
        jobs = [self.fail_job(MAIL, "timeout"), self.fail_job(BILL, "timeout"), self.fail_job(BILL, "refused")]
        listed = [json.loads(line)["id"]
                  for line in self.good("failures", "--group", "timeout", "--json").splitlines()]
        self.assertEqual(listed, jobs[:2])
        self.assertEqual(len(self.good("failures", "--group", "ChargeCard").splitlines()), 3)
        self.assertIn("App\\Jobs\\SendMail timeout", self.good("failures", "-g", "SendMail"))
        self.refused(NO, "no such buried job", "failures", "--group", "nothing")


class Clock(FilterTest):
    def test_a_delay_can_be_a_time(self):
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() + 3600))
        job = self.good("put", "--at", at, "x").strip()
        self.assertTrue(3590 <= int(self.server.stat("delay", f"stats-job {job}")) <= 3600)
        job = self.good("put", "--delay", "tomorrow", "x").strip()
        self.assertTrue(0 <= int(self.server.stat("delay", f"stats-job {job}")) <= 25 * 3600)
        self.refused(USAGE, "a time to come", "put", "--at", "2001-01-01", "x")
        self.server.put("x", "mail")
        self.good("pause", "mail", at)
        self.assertTrue(3500 <= int(self.server.stat("pause-time-left", "stats-tube mail")) <= 3600)


class Limits(FilterTest):
    def test_ping_fails_beyond_the_limits(self):
        self.fail_job("x")
        self.server.put("x", "other")
        self.good("ping", "--max-ready", "1", "--max-buried", "1", "--max-oldest", "1h")
        self.refused(NO, "tube mail has buried jobs: 1, more than 0", "ping", "--max-buried", "0")
        self.good("ping", "--max-buried", "0", "--tube", "other")
        wait_until(lambda: self.haricot("ping", "--max-oldest", "1s")[0] == NO)
        output = json.loads(self.refused(NO, "tube other", "ping", "--max-ready", "0", "--json"))
        self.assertIs(output["within_limits"], False)


class Refusal(OperatorTest):
    def test_a_server_that_cannot_list_jobs_refuses(self):
        if self.has("list-jobs"):
            self.skipTest("the server can list jobs")
        self.server.put("x", "mail")
        self.server.put("x", "mail")
        self.good("bury", "mail", "--count", "1")
        for words in (["jobs"], ["kick", "mail", "--match", "x"], ["delete", "mail", "--match", "x", "--yes"],
                      ["bury", "--match", "x"], ["export", "--match", "x"], ["failures"], ["note", "1", "x"],
                      ["move", "mail", "news", "--match", "x"]):
            status, output, error = self.haricot(*words)
            self.assertEqual(status, REFUSED, (words, output, error))
        self.assertEqual((self.count("ready", "mail"), self.count("buried", "mail")), (1, 1))
        self.assertEqual(self.haricot("ping", "--max-ready", "1")[0], DONE)
        self.assertEqual(self.haricot("ping", "--max-ready", "0")[0], NO)


if __name__ == "__main__":
    unittest.main()
