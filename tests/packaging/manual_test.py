#!/usr/bin/env python3
"""Checks that haricotd(8) and `haricotd --help` have the same flags, and that man can show the pages.

    manual_test.py HARICOTD FOLDER_OF_PAGES
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HARICOTD, PAGES = sys.argv[1], pathlib.Path(sys.argv[2])


def flags_of_help(text):
    """Returns a set of (letter or None, long name, value or None)."""
    line = re.compile(r"^ (?:-(\w), |    +)--([\w-]+)(?: ([A-Z]+))?  ?", re.MULTILINE)
    return {(m[1], m[2], m[3]) for m in line.finditer(text)}


def flags_of_page(text):
    """Returns a set like that of flags_of_help(), from the .TP entries of the section OPTIONS."""
    section = re.search(r'^\.SH OPTIONS\n(.*?)^\.SH ', text, re.MULTILINE | re.DOTALL)[1]
    found = set()
    for line in re.findall(r"^\.TP\n\.BR (.*)$", section, re.MULTILINE):
        plain = re.sub(r"\\f[A-Z]", "", line).replace(r"\-", "-").replace('"', "")
        match = re.fullmatch(r"(?:-(\w) *, +)?--([\w-]+)(?: +([A-Z]+))?", plain.strip())
        if not match:
            raise AssertionError(f"a flag that cannot be read: {line}")
        found.add(match.groups())
    return found


class Manual(unittest.TestCase):
    def setUp(self):
        self.help = subprocess.run([HARICOTD, "--help"], capture_output=True, text=True, check=True).stdout
        self.page = (PAGES / "haricotd.8").read_text()

    def test_help_has_flags(self):
        self.assertIn(("l", "listen", "ADDR"), flags_of_help(self.help))
        self.assertEqual(len(flags_of_help(self.help)), len(re.findall(r"^ .*--", self.help, re.MULTILINE)))

    def test_page_and_help_have_the_same_flags(self):
        in_help, in_page = flags_of_help(self.help), flags_of_page(self.page)
        self.assertEqual(in_help - in_page, set(), "not in the page")
        self.assertEqual(in_page - in_help, set(), "not in the help")

    def test_the_default_values_are_the_same(self):
        """Checks that each number in brackets in the help is in the page's text about the flag."""
        section = self.page.split(".SH OPTIONS")[1].split("\n.SH ")[0]
        about = {}
        for entry in section.split(".TP\n")[1:]:
            about[re.search(r"\\-\\-((?:[\w]|\\-)+)", entry)[1].replace("\\-", "-")] = entry
        defaults = re.findall(r"--([\w-]+).*\(([\d.]+)", self.help)
        self.assertGreaterEqual(len(defaults), 5)
        for name, value in defaults:
            self.assertIn(value, about[name], f"--{name}")

    def test_beanstalkd_is_another_name_of_the_page(self):
        self.assertEqual((PAGES / "beanstalkd.1").read_text(), ".so man8/haricotd.8\n")
        self.assertRegex(self.page, r"\.SH NAME\nharicotd, beanstalkd \\- ")

    def test_man_accepts_the_pages(self):
        if not shutil.which("man"):
            self.skipTest("man is missing")
        for page in sorted(PAGES.glob("haricot*")):
            result = subprocess.run(
                ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(page)],
                capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, "", page.name)
            self.assertIn("SYNOPSIS", re.sub(".\b|\x1b\\[[0-9;]*m", "", result.stdout))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
