#!/usr/bin/env python3
"""Checks that the tool accepts the command lines on the pages.

    commands_test.py HARICOT
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import documents

if len(sys.argv) < 2:
    sys.exit(__doc__)
TOOL = pathlib.Path(sys.argv.pop(1)).resolve()
USAGE = 5
# An address without a server, because the commands must not have an effect.
NOWHERE = "unix:/nowhere/socket"
ADDRESS = re.compile(r"\b(127\.0\.0\.1:11300|queue\d|localhost)\b|unix:/[\w./]+")


def commands(text):
    """Yields the commands of the tool in the blocks of code of a page: words and line."""
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        if not fenced and not re.match(r" {4,}\S", line):
            continue
        inner = re.findall(r"\$\((haricot [^)]*)\)", line)
        for part in [re.sub(r"\$\([^)]*\)", "1", line), *inner]:
            if not re.match(r"\s*(\w+=\S+ )*haricot [-a-z]+[ \n]?", part):
                continue
            try:
                words = shlex.split(ADDRESS.sub(NOWHERE, part), comments=True)
            except ValueError:  # Text with an apostrophe, not a command.
                continue
            command = []
            for word in [*words, ";"]:
                if word in ("&&", "||", "|", ">", ";"):
                    if "haricot" in command:
                        yield command[command.index("haricot") + 1:], line
                    command = []
                else:
                    command.append(word)


def subcommands():
    text = subprocess.run([TOOL, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE)) | {"help"}


class Commands(unittest.TestCase):
    def test_are_accepted_by_the_tool(self):
        known = subcommands()
        found = 0
        pages = [documents.ROOT / "README.md", *sorted((documents.ROOT / "docs").glob("*.md"))]
        for page in pages:
            for words, line in commands(page.read_text(encoding="utf-8")):
                # Skips output that begins with the tool's name, such as `haricot top: ...`.
                if not known & set(words) or "top:" in words:
                    continue
                with self.subTest(page=page.name, line=line.strip()), tempfile.TemporaryDirectory() as folder:
                    # `haricot web` would run forever, so only its flags are parsed.
                    words += ["--help"] if words[0] == "web" else []
                    words = [word.strip("[]").replace("/tmp/", folder + "/") for word in words]
                    ended = subprocess.run([TOOL, *words], capture_output=True, text=True, cwd=folder,
                                           stdin=subprocess.DEVNULL, env={"HARICOT_ADDR": NOWHERE},
                                           timeout=60, check=False)
                    self.assertNotEqual(ended.returncode, USAGE, ended.stderr)
                    found += 1
        self.assertGreaterEqual(found, 30)


if __name__ == "__main__":
    unittest.main()
