#!/usr/bin/env python3
"""Tests the tags of jobs in haricot put, export, import and move, as black boxes.

    tags_test.py HARICOT SERVER [FLAG...]
"""

import collections
import json
import pathlib
import re
import signal
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from key_relay import KeyRelay
from operator_case import BINARY, FLAGS, TOOL
from operator_server import DONE, NO, NO_SERVER, REFUSED, USAGE, Scripted, Server, run, wait_until
from transfer_case import Relay, TransferTest

FLAG_OF_TAG = {"try": ("--tries", "3"), "con": ("--concurrency", "k:2"), "idp": ("--unique", "k"),
               "grp": ("--group", "g"), "aft": ("--after", "g"), "back": ("--backoff", "10s:1m")}


def line(**members):
    return json.dumps(members).encode() + b"\n"


class TagTest(TransferTest):
    def needs(self, *tags):
        for tag in tags:
            if not self.has(tag):
                self.skipTest(f"the server has no {tag}")

    def tags(self, tube):
        """Returns the jobs of a tube by list-jobs: body -> (state, try, con, idp)."""
        found = {}
        for state in ("ready", "delayed", "buried"):
            for item in self.server.ask(f"list-jobs {tube} {state} 1000").split("\n- ")[1:]:
                keys = dict(re.findall(r'^ *([\w-]+): "?([^"\n]*)"?$', item, re.MULTILINE))
                body = self.server.ask(f"peek {keys['id']}").split("\r\n", 1)[1]
                found[body.removesuffix("\r\n")] = (state, *map(keys.get, ("try", "con", "idp")))
        return found

    def drain(self):
        self.server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.server.stat("draining") == "true")


class Put(TagTest):
    def test_a_job_gets_the_tags_of_the_flags(self):
        self.needs("try", "con")
        self.good("put", "-t", "mail", "--tries", "3", "one")
        self.good("put", "-t", "mail", "--concurrency", "k:2", "two")
        self.good("put", "-t", "mail", "--concurrency", "k", "three")
        self.good("put", "-lt", "mail", "--tries", "65535", "--concurrency", "K-1:65535",
                  stdin=b"four\nfive\n")
        last = ("ready", "65535", "K-1:65535", None)
        self.assertEqual(self.tags("mail"), {
            "one": ("ready", "3", None, None), "two": ("ready", None, "k:2", None),
            "three": ("ready", None, "k", None), "four": last, "five": last})

    def test_the_times_of_a_backoff_may_have_units(self):
        self.needs("back")
        self.good("put", "-t", "mail", "--backoff", "10s:1m", "one")
        self.good("put", "-t", "mail", "--backoff", "90", "two")
        self.good("put", "-t", "mail", "--backoff", "1m30s:1h", "three")
        found = re.findall(r'^ *back: (.*)$', self.server.ask("list-jobs mail ready 9"), re.MULTILINE)
        self.assertEqual(found, ['"10:60"', "90", "90"])

    def test_a_server_without_a_tag_gets_no_job_and_no_tube(self):
        for tag, flag in FLAG_OF_TAG.items():
            for more, stdin in ((["delete 1"], b""), (["-l"], b"a\nb\n"), ([], b"stats")):
                if self.has(tag):
                    continue
                output = self.refused(REFUSED, f"does not know {flag[0]}: it is ",
                                      "put", "-t", "mail", *flag, *more, stdin=stdin)
                self.assertEqual(output, "")
        self.assertTrue(self.has("try") or self.server.stat("total-jobs") == "0")
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)

    def test_what_every_server_refuses_is_not_sent(self):
        for flag, values in (
                ("--tries", ("0", "65536", "-1", "x", "")),
                ("--concurrency", ("", ":1", "a b", "a:0", "a:65536", "a:", "a:1:1", "a,b", "\u00e4",
                                   "k" * 101, "a:1 try:3")),
                ("--unique", ("", ":1", "a b", "a:", "a:-1", "a:1:1", "a:0", "a:0s", "a:x",
                              "a:4294967296", ":5m", "a b:5", "a_\n", "k" * 101,
                              "k" * 101 + ":1", "a:1 try:3", "a:1m try:3")),
                ("--backoff", ("", "0", "0s", "-1", "x", "1:", "1:0", ":1", "1:1:1", "4294967296", "1:4294967296",
                               "1 try:3"))):
            for value in values:
                status, output, error = run(TOOL, "put", f"{flag}={value}", "x",
                                            address="unix:/nowhere")
                self.assertEqual((status, output), (USAGE, b""), (flag, value))
                self.assertIn(f"{flag}: ", error)

    def test_a_line_is_not_longer_than_a_server_takes(self):
        key = "k" * 100
        for rest, wanted in ((88, NO_SERVER), (89, USAGE)):
            status, _, error = run(TOOL, "put", "--concurrency", key, "--unique", key[:rest], "x",
                                   address="unix:/nowhere")
            self.assertEqual(status, wanted, error)
        for unique in (key, key + ":49710d"):
            self.assertNotIn("224", run(TOOL, "put", "--unique", unique, "x",
                                        address="unix:/nowhere")[2])
        self.assertIn("do not fit into the line of a put", error + run(
            TOOL, "put", "--concurrency", key, "--unique", key, "x", address="unix:/nowhere")[2])


class PutOnce(unittest.TestCase):
    """Tests the messages of put for a key that is taken."""

    def run_put(self, answer, *words, stdin=None):
        capabilities = b"---\n- try\n- idp\n"

        def say(command):
            if command == "capabilities":
                return b"OK %d\r\n%s\r\n" % (len(capabilities), capabilities)
            if command.startswith("use "):
                return b"USING " + command[4:].encode() + b"\r\n"
            if command.startswith("put "):
                is_good = command == "put 1024 0 60 4 idp:k"
                return answer if is_good else b"BAD_FORMAT\r\n"
            return b"" if command == "body" else b"UNKNOWN_COMMAND\r\n"

        with Scripted(say) as server:
            status, output, error = run(TOOL, "put", "--unique", "k", *words, stdin=stdin,
                                        address=server.address)
        return status, output.decode(), error

    def test_the_id_is_printed_and_a_duplicate_is_reported(self):
        there = "haricot put: the key is taken: job "
        for state in ("ready", "reserved", "delayed", "buried"):
            self.assertEqual(self.run_put(f"INSERTED 12 {state.upper()}\r\n".encode(), "body"),
                             (DONE, "12\n", f"{there}12, {state}\n"))
        self.assertEqual(self.run_put(b"INSERTED 12 DELETED\r\n", "body"),
                         (DONE, "12\n", "haricot put: the key is still taken: job 12, deleted\n"))
        self.assertEqual(self.run_put(b"INSERTED 12 READY 5\r\n", "body"),
                         (DONE, "12\n", f"{there}12, ready, now with priority 5\n"))
        self.assertEqual(self.run_put(b"INSERTED 12\r\n", "body"), (DONE, "12\n", ""))

    def test_in_json_and_in_silence(self):
        for words in (["-q"], ["-qj"]):
            self.assertEqual(self.run_put(b"INSERTED 12 READY\r\n", *words, "body"), (DONE, "", ""))
        status, output, _ = self.run_put(b"INSERTED 12 BURIED\r\n", "-j", "body")
        self.assertEqual((status, json.loads(output)),
                         (DONE, {"id": 12, "buried": False, "duplicate": "buried"}))
        self.assertEqual(json.loads(self.run_put(b"INSERTED 12\r\n", "-j", "body")[1]),
                         {"id": 12, "buried": False})

    def test_each_line_is_reported_with_its_number(self):
        status, output, error = self.run_put(b"INSERTED 12 READY\r\n", "-l", stdin=b"body\nbody\n")
        self.assertEqual((status, output), (DONE, "12\n12\n"))
        there = "the key is taken: job 12, ready\n"
        self.assertEqual(error, f"haricot put: line 1: {there}haricot put: line 2: {there}")

    def test_another_answer_is_none(self):
        for answer in (b"INSERTED 12 LOST\r\n", b"INSERTED x READY\r\n", b"INSERTED 12 READY x\r\n",
                       b"INSERTED 12 READY 1 2\r\n", b"INSERTED 12 \r\n"):
            status, output, error = self.run_put(answer, "body")
            self.assertIn(status, (NO_SERVER, REFUSED))
            self.assertEqual(output, "")
            self.assertIn(" INSERTED ", error)


class Tries(TagTest):
    """Tests that subcommands which reserve a job use up a try."""

    def setUp(self):
        super().setUp()
        self.needs("try")
        self.good("put", "--tries", "1", "x")

    def test_a_refused_release_reports_a_remedy(self):
        wanted = "release was answered: BURIED: the job has no try left, or"
        self.refused(REFUSED, wanted, "release", "1")
        self.good("kick", "1")
        output = self.refused(REFUSED, wanted, "reserve", "--then", "release")
        self.assertEqual((output, self.count("buried")), ("x", 1))
        self.good("kick", "1")
        self.assertEqual(self.count("ready"), 1)

    def test_work_reports_a_buried_job(self):
        status, _, error = self.haricot("work", "-w0", "--", "false")
        self.assertEqual((status, self.count("buried")), (7, 1), error)
        self.assertIn(" was buried: it has no try left, or ", error)


class Unique(TagTest):
    """Tests keys, with a relay in front of a server that lacks them."""

    def setUp(self):
        super().setUp()
        self.needs("con")
        self.in_front = self.server
        if not self.has("idp"):
            self.in_front = KeyRelay(self.server)
            self.addCleanup(self.in_front.close)

    def haricot(self, *words, **more):
        return run(TOOL, *words, address=self.in_front.address, **more)

    def places(self):
        """Returns all jobs: body -> [(tube, state)]."""
        found = collections.defaultdict(list)
        for job in map(json.loads, self.good("export").splitlines()):
            found[job["body"]].append((job["tube"], job["state"]))
        return found

    def test_a_job_is_put_once(self):
        words = ("put", "-t", "mail", "--unique", "order-7")
        self.assertEqual(self.good(*words, "first"), "1\n")
        status, output, error = self.haricot(*words, "second")
        self.assertEqual((status, output), (DONE, b"1\n"))
        self.assertIn("the key is taken: job 1, ready", error)
        # A key belongs to its tube, and ends with its job.
        self.good("put", "-t", "news", "--unique", "order-7", "x")
        self.good("delete", "1")
        self.good(*words, "third")
        self.assertEqual((self.count("ready", "mail"), self.count("ready", "news")), (1, 1))

    def test_a_key_with_a_time_outlives_its_job(self):
        self.needs("idp")
        words = ("put", "-t", "mail", "--unique")
        for key, kept in (("a:500", "a:500"), ("b:1h30m", "b:5400"), ("c:4294967295", "c:4294967295"),
                          ("d:499500ms", "d:500"), ("e", "e"), ("f:0", None)):
            status, output, error = self.haricot(*words, key, key)
            if kept is None:
                self.assertEqual((status, output), (USAGE, b""), error)
                continue
            job = int(output)
            self.assertEqual(self.tags("mail")[key][3], kept)
            self.good("delete", job)
            status, output, error = self.haricot(*words, key[0], "again")
            self.assertEqual(status, DONE)
            is_kept = ":" in kept
            self.assertEqual(int(output) == job, is_kept)
            self.assertEqual(error, "haricot put: the key is still taken: job "
                                    f"{job}, deleted\n" if is_kept else "")
        _, output, _ = self.haricot(*words, "a:900", "-j", "again")
        self.assertEqual(json.loads(output), {"id": 1, "buried": False, "duplicate": "deleted"})
        self.assertEqual(self.count("ready", "mail"), 1)

    def test_a_key_with_a_time_comes_with_its_job(self):
        self.needs("idp")
        self.good("put", "-t", "mail", "--unique", "a:1h", "one")
        self.assertIn(" mail idp:a:3600\n", self.good("jobs"))
        for words in (["jobs"], ["jobs", "mail", "--next"], ["peek", "1"]):
            self.assertEqual(json.loads(self.good(*words, "--json"))["idp"], "a:3600")
        text = self.good("export").encode()
        self.assertEqual(json.loads(text)["idp"], "a:3600")
        self.assertEqual(self.good("import", "-t", "news", stdin=text), "imported 1\n")
        self.assertEqual(self.tags("news"), {"one": ("ready", None, None, "a:3600")})
        self.assertEqual(self.good("move", "mail", "letters"), "moved 1\n")
        self.assertEqual(self.tags("letters"), {"one": ("ready", None, None, "a:3600")})
        # A moved job leaves its key, like a deleted one.
        status, output, error = self.haricot("move", "letters", "mail")
        self.assertEqual((status, output), (NO, b"moved 0\n"))
        self.assertEqual(error, "haricot move: job 3 stays in tube letters: the key is still taken: "
                                "job 1, deleted\n")
        status, output, error = self.haricot("import", stdin=text)
        self.assertEqual((status, output), (NO, b"imported 0\n"))
        self.assertIn("line 1 is not imported; the key is still taken: job 1, deleted\n", error)
        self.good("flush", "-qy", "letters")
        self.assertEqual(self.good("import", "-t", "letters", stdin=text), "imported 1\n")
        self.assertEqual(sorted(self.places()["one"]), [("letters", "ready"), ("news", "ready")])

    def test_a_key_that_a_folder_has_without_a_job_is_shown_and_not_imported(self):
        self.needs("idp")
        with tempfile.TemporaryDirectory() as folder, Server(BINARY, *FLAGS, "-b", folder) as kept:
            for words in (("put", "-t", "mail", "--unique", "a:1h", "x"), ("delete", "1"),
                          ("put", "-t", "mail", "--unique", "b", "y")):
                self.assertEqual(run(TOOL, *words, address=kept.address)[0], DONE)
            kept.stop()
            _, text, _ = run(TOOL, "binlog", "dump", "--json", folder)
            _, words, _ = run(TOOL, "binlog", "dump", folder)
            self.assertIn(b" state=deleted ", words)
            self.assertEqual(run(TOOL, "binlog", "check", folder)[0], DONE)
        found = {job["id"]: job for job in map(json.loads, text.splitlines())}
        self.assertEqual([(found[i]["tube"], found[i]["state"], found[i]["idp"]) for i in (1, 2)],
                         [("mail", "deleted", "a:3600"), ("mail", "ready", "b")])
        self.assertIn(found[1]["time-left"], range(1, 3601))
        self.assertEqual(self.good("import", "--dry-run", stdin=text), "good 1\n")
        self.assertEqual(self.good("import", stdin=text), "imported 1\n")
        self.assertEqual(self.good("put", "-t", "mail", "--unique", "a", "z"), "2\n")

    def test_a_more_urgent_put_of_a_key_raises_the_job(self):
        self.needs("idp")
        self.good("put", "--unique", "a", "-p", "9", "x")
        _, output, error = self.haricot("put", "--unique", "a", "-p", "5", "x")
        self.assertEqual((output, error), (
            b"1\n", "haricot put: the key is taken: job 1, ready, now with "
                    "priority 5\n"))
        self.assertEqual(self.good_json("stats", "1")["pri"], 5)

    def test_keys_come_with_exported_jobs(self):
        self.good("put", "-t", "mail", "--unique", "12", "--concurrency", "34", "one")
        self.good("put", "-t", "mail", "--unique", "b", "--tries", "9", "-d", "1h", "two")
        text = self.good("export").encode()
        members = [json.loads(one) for one in text.splitlines()]
        self.assertEqual([job["idp"] for job in members], ["12", "b"])
        self.assertEqual(members[0]["con"], "34")
        self.assertEqual(self.good("import", "-t", "news", stdin=text), "imported 2\n")
        again = self.good("export", "news")
        self.assertEqual([json.loads(one).get("idp") for one in again.splitlines()], ["12", "b"])
        self.assertIn(" mail con:34 idp:12\n", self.good("jobs"))
        self.assertEqual(json.loads(self.good("peek", "1", "--json"))["idp"], "12")

    def test_an_import_reports_duplicates_and_does_not_change_the_other_job(self):
        self.good("put", "-t", "mail", "--unique", "a", "there")
        text = (line(tube="mail", body="x", idp="a", state="buried") +
                line(tube="mail", body="y", idp="b", state="buried") +
                line(tube="mail", body="z", idp="a") + line(tube="mail", body="last"))
        status, output, error = self.haricot("import", stdin=text)
        self.assertEqual((status, output), (NO, b"imported 2\n"))
        there = "is not imported; the key is taken: job 1, ready\n"
        self.assertEqual(error, f"haricot import: line 1 {there}haricot import: line 3 {there}"
                                "haricot import: lines not imported because other jobs have their keys: "
                                "2\n")
        self.assertEqual(self.places(), {"there": [("mail", "ready")], "y": [("mail", "buried")],
                                         "last": [("mail", "ready")]})
        status, output, _ = self.haricot("import", "--json", stdin=text)
        self.assertEqual((status, json.loads(output)), (NO, {"imported": 1, "bad": 0, "taken": 3}))

    def test_an_import_that_was_cut_can_be_repeated_from_its_first_line(self):
        text = b"".join(line(tube="mail", body=f"job {i}", idp=f"key-{i}") for i in range(600))
        message, seen = 1, set()
        while True:
            relay = Relay(self.in_front, message, "cut")
            relay.run("import", stdin=text)
            self.settle()
            there = self.count("ready", "mail") if "- mail" in self.server.ask("list-tubes") else 0
            status, output, _ = self.haricot("import", "--json", stdin=text)
            self.assertEqual((status, json.loads(output)), (
                NO if there else DONE, {"imported": 600 - there, "bad": 0, "taken": there}))
            self.assertEqual(self.count("ready"), 600)
            self.good("flush", "-qy", "mail")
            seen.add(there)
            if not relay.was_reached:
                break
            message += 1
        self.assertEqual(there, 600)
        self.assertIn(500, seen)

    def test_moved_jobs_keep_their_keys_and_yield_to_others(self):
        self.good("put", "-t", "mail", "--unique", "a", "one")
        self.good("put", "-t", "mail", "--unique", "b", "two")
        self.good("put", "-t", "news", "--unique", "a", "there")
        status, output, error = self.haricot("move", "mail", "news")
        self.assertEqual((status, output), (NO, b"moved 1\n"))
        self.assertEqual(error, "haricot move: job 1 stays in tube mail: the key is taken: "
                                "job 3, ready\n")
        self.assertEqual(self.places(), {"one": [("mail", "ready")], "two": [("news", "ready")],
                                         "there": [("news", "ready")]})
        found = [json.loads(one) for one in self.good("jobs", "--json").splitlines()]
        self.assertEqual([(job["tube"], job["idp"]) for job in found],
                         [("mail", "a"), ("news", "a"), ("news", "b")])

    def test_jobs_that_stay_do_not_hide_the_others(self):
        count = 1200
        text = b"".join(line(tube="mail", body=f"job {i}", idp=f"key-{i}") for i in range(count))
        self.good("import", "-q", stdin=text)
        self.good("import", "-qt", "news", stdin=b"".join(text.splitlines(True)[:700]))
        status, output, error = self.haricot("move", "mail", "news")
        self.assertEqual((status, output), (NO, b"moved 500\n"))
        self.assertEqual(error.count(" stays in tube mail"), 700)
        self.assertEqual((self.count("ready", "mail"), self.count("ready", "news")), (700, 1200))

    def test_jobs_that_fill_a_page_and_stay_are_reported(self):
        text = b"".join(line(tube="mail", body="x", idp=f"key-{i}") for i in range(1100))
        self.good("import", "-q", stdin=text)
        self.good("import", "-qt", "news", stdin=b"".join(text.splitlines(True)[:1000]))
        status, output, error = self.haricot("move", "mail", "news")
        self.assertEqual((status, output), (NO, b"moved 0\n"))
        self.assertEqual(error.count(" stays in tube mail"), 1000)
        self.assertTrue(error.endswith("haricot move: the jobs after these are not moved\n"))


if __name__ == "__main__":
    unittest.main()
