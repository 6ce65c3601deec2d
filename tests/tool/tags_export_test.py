#!/usr/bin/env python3
"""Tests the tags of jobs that are exported, imported, copied and moved.

    tags_export_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import BINARY, FLAGS, TOOL
from operator_server import DONE, NO, REFUSED, Server, run
from tags_test import TagTest, line
from transfer_case import Relay


class Transfer(TagTest):
    def put_tagged(self):
        self.needs("try", "con")
        tags = ("--tries", "5", "--concurrency", "12:3")
        self.good("put", "-t", "mail", *tags, "ready")
        self.good("put", "-t", "mail", *tags, "-d", "1h", "later")
        job = int(self.good("put", "-t", "mail", *tags, "buried"))
        self.good("bury", job)
        self.good("put", "-t", "mail", "plain")

    def check(self, tube):
        tags = ("5", "12:3", None)
        self.assertEqual(self.tags(tube), {
            "ready": ("ready", *tags), "later": ("delayed", *tags), "buried": ("buried", *tags),
            "plain": ("ready", None, None, None)})

    def test_jobs_shows_them(self):
        self.put_tagged()
        rows = self.good("jobs", "mail").splitlines()
        self.assertEqual([row.split()[10:] for row in rows],
                         [["tube", "tags", "note"]] + [["mail", "try:5", "con:12:3"]] * 3 + [["mail"]])
        for words in (["jobs"], ["jobs", "mail", "--next"], ["peek", "1"]):
            job = json.loads(self.good(*words, "--json").splitlines()[0])
            self.assertEqual((job["try"], job["con"]), (5, "12:3"))
        self.good("put", "-t", "digits", "--concurrency", "12", "x")
        self.assertEqual(json.loads(self.good("jobs", "digits", "-j"))["con"], "12")
        self.assertNotIn("try", json.loads(self.good("peek", "4", "--json")))

    def test_exported_jobs_can_be_imported(self):
        self.put_tagged()
        text = self.good("export").encode()
        self.good("delete", "-qyt", "mail", "--all")
        self.good("import", "--dry-run", stdin=text)
        self.assertEqual(self.good("import", stdin=text), "imported 4\n")
        self.check("mail")

    def test_the_jobs_of_a_binlog_can_be_imported(self):
        self.needs("try", "con")
        with tempfile.TemporaryDirectory() as folder, Server(BINARY, *FLAGS, "-b", folder) as kept:
            run(TOOL, "put", "-t", "mail", "--tries", "5", "--concurrency", "12", "x",
                address=kept.address)
            kept.stop()
            _, text, error = run(TOOL, "binlog", "dump", "--json", folder)
            self.assertEqual(error, "")
            self.assertEqual([json.loads(text)[tag] for tag in ("try", "con")], [5, "12"])
            _, words, _ = run(TOOL, "binlog", "dump", folder)
            self.assertIn(b" try=5 con=12 bytes=1 ", words)
        self.good("import", stdin=text)
        self.assertEqual(self.tags("mail"), {"x": ("ready", "5", "12", None)})

    def test_a_kept_key_is_reported_and_copied_and_is_not_a_job(self):
        self.needs("idp")
        with tempfile.TemporaryDirectory() as folder, Server(BINARY, *FLAGS, "-b", folder) as kept:
            kept.ask("use mail")
            for body, idp in (("gone", "report:3600"), ("stays", "other:60")):
                run(TOOL, "import", address=kept.address,
                    stdin=line(tube="mail", body=body, idp=idp))
            run(TOOL, "delete", "1", address=kept.address)
            kept.stop()
            copy = pathlib.Path(folder) / "copy"
            status, output, error = run(TOOL, "binlog", "copy", folder, str(copy))
            self.assertEqual((status, output, error), (DONE, b"1 jobs copied\n", ""))
            for each in (folder, str(copy)):
                status, output, _ = run(TOOL, "binlog", "check", each)
                self.assertEqual(status, DONE)
                self.assertIn(b"\n1 jobs, the next id is 3\n1 keys of deleted jobs\n", output)
                self.assertTrue(output.endswith(b"sound\n"))
                _, text, _ = run(TOOL, "binlog", "dump", "--json", each)
                job, key = map(json.loads, text.splitlines())
                self.assertEqual((job["id"], job["state"]), (2, "ready"))
                self.assertLessEqual(3500, key.pop("time-left"))
                self.assertEqual(key, {"id": 1, "tube": "mail", "state": "deleted",
                                       "idp": "report:3600"})
                _, words, _ = run(TOOL, "binlog", "dump", each)
                self.assertRegex(words.splitlines()[1],
                                 rb"^id=1 tube=mail state=deleted time-left=3\d\d\d idp=report:3600$")
        self.assertEqual(self.good("import", "--dry-run", stdin=text), "good 1\n")
        self.assertEqual(self.good("import", stdin=text), "imported 1\n")
        self.assertEqual(self.tags("mail"), {"stays": ("ready", None, None, "other:60")})

    def test_a_server_without_tags_gets_jobs_only_with_the_flag(self):
        if self.has("con"):
            self.skipTest("the server has them")
        text = line(tube="mail", body="plain") + line(tube="mail", body="x", con="k", state="buried")
        for _ in range(2):
            output = self.refused(REFUSED, "line 2: ", "import", stdin=text)
            self.assertEqual(output, "imported 1\n")
        self.refused(REFUSED, " does not know the tag con of put: it is ", "import", stdin=text)
        self.refused(REFUSED, "; --without-tags puts the jobs without tags; continue with --from-line 2\n",
                     "import", stdin=text)
        self.assertEqual(self.server.stat("total-jobs"), "4")
        status, output, error = self.haricot("import", "--dry-run", stdin=text + text)
        self.assertEqual((status, output), (NO, b"good 2\n"))
        self.assertRegex(error, r"line 2: .*the tag con.*\n.*line 4: .*the tag con.*\n$")
        for more in (["--from-line", "2"], ["--dry-run"]):
            _, _, error = self.haricot("import", "--without-tags", *more, stdin=text)
            self.assertEqual(error, "haricot import: jobs put without their tags: 1\n")
        self.assertEqual(self.good("import", "-q", "--without-tags", stdin=text), "")
        self.assertEqual((self.count("ready", "mail"), self.count("buried", "mail")), (5, 2))

    def test_a_file_with_an_unsupported_tag_is_refused_as_a_whole(self):
        if self.has("con"):
            self.skipTest("the server has it")
        path = pathlib.Path(self.server.folder.name) / "jobs"
        plain = line(tube="mail", body="plain")
        path.write_bytes(plain * 3 + b"\n" + line(tube="mail", body="x", con="k") + plain)
        before = self.server.ask("list-tubes")
        for words in (["import", path], ["import", "--from-line", "4", "-f", path]):
            output = self.refused(REFUSED, "line 5: the server at ", *words)
            self.assertEqual(output, "imported 0\n")
            self.refused(REFUSED, "; --without-tags puts the jobs without tags; nothing was put\n", *words)
        with path.open("rb", buffering=0) as opened:
            opened.read(len(plain))
            ended = subprocess.run([TOOL, "import", "-a", self.server.address], stdin=opened,
                                   capture_output=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (REFUSED, b"imported 0\n"))
        self.assertIn(b"line 4: ", ended.stderr)
        self.assertEqual(self.server.stat("total-jobs"), "0")
        self.assertEqual(self.server.ask("list-tubes"), before)
        self.assertEqual(self.good("import", "--from-line", "6", path), "imported 1\n")
        self.good("import", "-q", "--without-tags", path)
        self.assertEqual(self.count("ready", "mail"), 6)

    def test_a_file_is_imported_from_where_it_stands(self):
        path = pathlib.Path(self.server.folder.name) / "jobs"
        path.write_bytes(b"".join(line(tube="mail", body=f"job {i}") for i in range(700)))
        with path.open("rb", buffering=0) as opened:
            opened.read(len(line(tube="mail", body="job 0")))
            ended = subprocess.run([TOOL, "import", "-a", self.server.address], stdin=opened,
                                   capture_output=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (DONE, b"imported 699\n"))
        # An invalid line stops the import, whatever follows.
        path.write_bytes(line(tube="mail", body="x") + b"{\n" + line(tube="a", body="x", idp="k"))
        self.assertEqual(self.refused(NO, "line 2: ", "import", path), "imported 1\n")
        self.assertEqual(self.count("ready", "mail"), 700)

    def test_a_tag_that_is_none_is_a_bad_line(self):
        for tag, values in (("try", (0, 65536, True, "", "x", "3 con:a")),
                            ("con", ("", "a b", "a:0", None, ":1", "k" * 101)),
                            ("idp", ("", "a b", "a:x", False, "a:0", "a:4294967296", "a:1:1", "a:5m"))):
            for value in values:
                self.refused(NO, f'line 1: invalid value of "{tag}"', "import",
                             stdin=line(tube="a", body="x", **{tag: value}))
        long = line(tube="a", body="x", con="k" * 100 + ":65535", idp="k" * 100)
        self.refused(NO, "line 1: its tags do not fit into the line of a put", "import", stdin=long)
        self.assertEqual(self.server.stat("total-jobs"), "0")

    def test_after_a_kill_or_a_lost_server_all_jobs_have_them(self):
        self.needs("try", "con")
        text = b"".join(line(tube="mail", body=f"job {i}", con=f"key-{i % 7}:2",
                             state="buried" if i % 50 == 7 else "ready") for i in range(700))

        def check():
            found = [json.loads(one) for one in self.good("export").splitlines()]
            self.assertEqual([(job["body"], job["con"]) for job in found],
                             [(f"job {i}", f"key-{i % 7}:2") for i in range(700)])
            self.good("delete", "-qyt", "mail", "--all")

        self.assertGreater(self.import_with_ends(text, 700, check), 3)

    def test_moved_jobs_keep_them(self):
        self.put_tagged()
        self.assertEqual(self.good("move", "mail", "news"), "moved 4\n")
        self.check("news")

    def test_a_kill_of_a_move_loses_no_tag(self):
        self.needs("try", "con")
        for end in ("before", "after"):
            message = 1
            while True:
                self.put_tagged()
                relay = Relay(self.server, message, end)
                relay.run("move", "mail", "news")
                self.settle()
                found = [json.loads(one) for one in self.good("export").splitlines()]
                self.assertEqual({job["body"] for job in found}, {"ready", "later", "buried", "plain"})
                self.assertLessEqual(len(found), 5)
                for job in found:
                    tags = None if job["body"] == "plain" else (5, "12:3")
                    self.assertEqual((job["try"], job["con"]) if "try" in job else None, tags)
                for tube in ("mail", "news"):
                    self.haricot("delete", "-qyt", tube, "--all")
                if not relay.was_reached:
                    break
                message += 1
            self.assertGreater(message, 10)

    def test_a_move_that_is_refused_uses_no_try_up(self):
        self.needs("try")
        self.good("put", "-t", "mail", "--tries", "1", "ready")
        self.good("put", "-t", "mail", "--tries", "1", "-d", "1h", "later")
        self.drain()
        self.refused(REFUSED, "drain mode", "move", "mail", "news", "-s", "ready")
        self.assertEqual(self.tags("mail")["ready"], ("ready", "1", None, None))
        # A reserved job cannot return to the state delayed.
        self.refused(REFUSED, "job 2 is now buried, because it has no try left", "move", "mail", "news",
                     "-s", "delayed")
        self.assertEqual(self.tags("mail")["later"], ("buried", "1", None, None))


if __name__ == "__main__":
    unittest.main()
