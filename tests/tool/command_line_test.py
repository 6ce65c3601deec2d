#!/usr/bin/env python3
"""Tests words on the command line against any beanstalk server: tubes in both forms, empty words, times, completion.

    command_line_test.py HARICOT SERVER [FLAG...]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL
from operator_server import DONE, LOCAL, NO, REFUSED, run, USAGE


def without_ages(text):
    return re.sub(r'"age":\d+,', "", text)


class Tubes(OperatorTest):
    """Tests that each subcommand accepts a tube as an operand and as --tube."""

    def both(self, before, *words):
        """Runs the words in both forms, after `before`, and returns their common output.

        TUBE stands for the tube mail. Ages are ignored, because a second may end between the two.
        """
        printed = []
        for tube in (["mail"], ["--tube", "mail"]):
            before()
            at = words.index("TUBE")
            printed.append(without_ages(self.good(*words[:at], *tube, *words[at + 1:])))
        self.assertEqual(*printed)
        return printed[0]

    def put(self):
        self.server.put("x", "mail")

    def bury(self):
        self.good("bury", "-q", self.server.put("x", "mail"))

    def empty(self):
        self.haricot("delete", "-qy", "--tube", "mail", "--all")

    def test_of_deletes_and_kicks(self):
        self.assertEqual(self.both(self.put, "flush", "TUBE", "-y"), "deleted 1\n")
        self.assertEqual(self.both(self.put, "delete", "TUBE", "--ready", "-y"), "deleted 1\n")
        self.assertEqual(self.both(self.bury, "kick", "TUBE", "--all"), "kicked 1\n")
        self.empty()
        self.assertEqual(self.both(self.put, "bury", "TUBE", "--count", "1"), "buried 1\n")

    def test_of_read_only_subcommands(self):
        self.put()
        nothing = lambda: None
        self.assertEqual(self.both(nothing, "peek", "TUBE", "--ready"), "x")
        self.assertIn("name: mail\n", self.both(nothing, "stats", "TUBE"))
        self.assertEqual(self.both(nothing, "tubes", "TUBE", "--names"), "mail\n")
        self.assertEqual(self.good("tubes", "--names", "-t", "m*", "default"), "default\nmail\n")
        top = json.loads(self.good("top", "-jn1", "-i0.1", "--tube", "mail"))
        self.assertEqual([tube["name"] for tube in top["sum"]["tubes"]], ["mail"])
        if self.has("scan-jobs"):
            self.assertIn('"tube":"mail"', self.both(nothing, "jobs", "--json", "TUBE"))
            self.assertIn('"tube":"mail"', self.both(nothing, "export", "TUBE"))
            two = without_ages(self.good("export", "-t", "mail", "default"))
            self.assertEqual(two, without_ages(self.good("export", "mail", "--tube=default")))

    def test_of_subcommands_that_reserve_and_change(self):
        self.put()
        self.assertEqual(self.both(self.put, "reserve", "TUBE", "--then", "delete"), "x")
        self.assertEqual(self.both(self.put, "pause", "TUBE", "0"), "tube mail is resumed\n")
        self.both(self.empty, "drain", "TUBE")
        for words in (["mail", "news"], ["-t", "mail", "news"], ["-t", "mail", "-t", "news"]):
            self.put()
            self.assertEqual(self.good("move", *words), "moved 1\n")
        self.assertEqual(self.count("ready", "news"), 3)

    def test_reserve_takes_several(self):
        self.server.put("a", "a")
        self.server.put("b", "b")
        words = ("reserve", "a", "-t", "b", "-w0", "--then", "delete")
        self.assertEqual({self.good(*words), self.good(*words)}, {"a", "b"})

    def test_digits_are_an_id_where_there_are_ids(self):
        self.server.put("x", "17")
        self.assertEqual(self.good("peek", "--tube", "17", "--ready"), "x")
        self.refused(NO, "job 17 does not exist", "delete", "17")
        self.assertEqual(self.good("delete", "-yt", "17", "--all"), "deleted 1\n")

    def test_mistakes(self):
        for words in (["kick", "mail", "--tube", "news", "--all"], ["flush", "-t", "a", "b", "-y"],
                      ["drain", "a", "b"], ["put", "-t", "a", "-t", "b", "x"]):
            self.refused(USAGE, "more than one tube", *words)
        self.refused(USAGE, "more than 2 tubes", "move", "a", "b", "c")
        self.refused(USAGE, "tube a is given twice", "move", "a", "-t", "a")
        self.refused(USAGE, "neither a tube name nor a job id", "kick", "no name")
        self.refused(USAGE, "'mail' is not a job id", "release", "mail")
        self.refused(USAGE, "either ids or a tube", "delete", "mail", "5", "--all", "-y")
        self.refused(USAGE, "a tube requires", "kick", "mail")
        self.refused(USAGE, "requires a tube and a time", "pause", "10m")


class Nothing(OperatorTest):
    """Tests empty words, which are usually unset variables of a script: they never mean everything."""

    def test_is_refused_as_an_operand(self):
        self.server.put("x")
        for words in (["put", ""], ["put", "x", ""], ["stats", ""], ["jobs", ""], ["flush", "", "-y"],
                      ["delete", "", "--all", "-y"], ["kick", "", "--all"], ["bury", "", "--all"],
                      ["move", "", "default"], ["move", "default", ""], ["pause", "", "0"],
                      ["pause", "default", ""], ["drain", ""], ["reserve", ""], ["peek", "", "--ready"],
                      ["export", ""], ["import", ""], ["release", ""], ["ping", ""]):
            with self.subTest(words):
                self.assertEqual(self.refused(USAGE, "", *words, stdin=b"x"), "")
        self.refused(NO, "there is no such tube", "tubes", "")
        self.refused(LOCAL, "", "binlog", "check", "")
        self.assertEqual(self.server.stat("total-jobs"), "1")
        self.assertEqual(self.count("ready"), 1)

    def test_is_refused_as_a_value(self):
        for words in (["put", "-t", "", "x"], ["put", "-f", ""], ["import", "-f", ""], ["import", "-t", ""],
                      ["put", "--unique", "", "x"], ["put", "--concurrency", "", "x"], ["jobs", "-m", ""],
                      ["jobs", "-s", ""], ["flush", "-y", "-t", ""], ["stats", "-k", ""], ["stats", "-i", ""],
                      ["work", "-t", "", "true"], ["work", "--joblog", "", "true"], ["tubes", "-s", ""],
                      ["reserve", "--then", ""], ["reserve", "--wait", ""], ["drain", "-w", ""],
                      ["put", "-d", "", "x"], ["put", "-r", "", "x"], ["put", "-p", "", "x"],
                      ["top", "-i", ""], ["ping", "-T", ""], ["work", "--bury-on", "", "true"],
                      ["work", "--max-time", "", "true"], ["bench", "-a", ""]):
            with self.subTest(words):
                self.assertEqual(self.refused(USAGE, "", *words, stdin=b"x"), "")
        self.assertEqual(self.server.stat("total-jobs"), "0")


class Times(OperatorTest):
    """Tests the times of --help: 2.5, 90s, 5m, 1h30m, 250ms."""

    def test_times_for_the_server_are_rounded_up(self):
        for words, key, value in ((["-d", "2.5"], "delay", 3), (["-r", "250ms"], "ttr", 1),
                                  (["-d", "0"], "delay", 0), (["-r", "1m0.5s"], "ttr", 61)):
            job = self.good("put", *words, "x").strip()
            self.assertEqual(self.good_json("stats", job)[key], value)
        self.assertEqual(self.good("pause", "default", "2.5"), "tube default is paused for 3 s\n")
        self.good("pause", "default", "0")
        self.refused(NO, "there is no ready job", "reserve", "nothing", "--wait", "250ms")
        self.assertEqual(self.good("release", "-d", "1.5", "1"), "released 1\n")
        self.assertEqual(self.good_json("stats", "1")["delay"], 2)
        status, _, error = self.haricot("work", "-t", "nothing", "--wait", "0.5", "--delay", "1.5",
                                        "--", "true")
        self.assertEqual(status, DONE, error)
        if self.has("idp"):
            self.good("put", "--unique", "key:1.5", "-t", "unique", "x")
            self.assertIn(" idp:key:2\n", self.good("jobs", "unique"))

    def test_an_invalid_time_is_reported_with_examples(self):
        for words in (["put", "-d", "soon", "x"], ["pause", "a", "soon"], ["drain", "-w", "soon"],
                      ["reserve", "--wait", "soon"], ["ping", "-T", "soon"], ["tubes", "-i", "soon"]):
            self.refused(USAGE, ", such as 90, 2.5, 250ms, 5m or 2d", *words)

    def test_zero_is_refused_as_too_short(self):
        for words in (["ping", "-T", "0"], ["drain", "-i", "0"], ["work", "--max-time", "0s", "true"],
                      ["bench", self.server.address, "-T", "0"], ["web", "--idle-timeout", "0"]):
            self.refused(USAGE, "is not a time above 0", *words)

    def test_help_has_the_unit_of_days(self):
        for name in ("put", "drain", "bench", "web"):
            self.assertIn("1h30m, 2d, 250ms", run(TOOL, name, "--help")[1].decode())
        self.refused(USAGE, "5m or 2d", "put", "-d", "x", "y")
        job = int(self.good("put", "-d", "2d", "x"))
        self.assertEqual(self.good("stats", job, "-k", "delay"), "172800\n")


class Completion(OperatorTest):
    def test_tubes_of_the_server_are_offered(self):
        script = pathlib.Path(__file__).parents[2] / "packaging/bash-completion/haricot"
        self.server.put("x", "mail")
        self.server.put("x", "mars")
        command = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; ' \
                  'COMP_POINT=${#COMP_LINE}; _haricot; echo "${COMPREPLY[@]}"'
        for words in (["stats", "ma"], ["kick", "--tube", "ma"], ["kick", "ma"], ["pause", "ma"]):
            ended = subprocess.run(["bash", "-c", command, script, TOOL, *words], check=True,
                                   capture_output=True, text=True, timeout=60,
                                   env={**os.environ, "HARICOT_ADDR": self.server.address})
            self.assertEqual((ended.stdout, ended.stderr), ("mail mars\n", ""))


class Suggestions(unittest.TestCase):
    def test_words_of_other_tools_mean_a_subcommand(self):
        for word, meant in (("who", "clients"), ("connections", "clients"), ("info", "stats"),
                            ("ls", "tubes")):
            status, _, error = run(TOOL, word)
            self.assertEqual(status, USAGE)
            self.assertIn(f"(did you mean {meant}?)", error)


class Messages(OperatorTest):
    def test_a_tag_that_the_server_lacks_is_called_as_it_was_typed(self):
        if self.has("idp"):
            self.skipTest("the server has it")
        for flag, value in (("--unique", "a"), ("--concurrency", "a"), ("--tries", "5")):
            self.refused(REFUSED, f"does not know {flag}: it is ", "put", flag, value, "x")


if __name__ == "__main__":
    unittest.main()
