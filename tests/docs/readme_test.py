#!/usr/bin/env python3
"""Runs the examples of the README in a shell, twice, as a newcomer may.

The picture has to have the lines of `haricot top`, and the numbers have to be those of docs/performance.md.

    readme_test.py HARICOTD HARICOT
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "monitors"))
sys.path.insert(0, str(HERE.parent / "tool"))

import documents
from screen import Screen
from servers import Connection, Server

# The text before each example.
HEADS = ("Try it by hand", "Inspect a server")


def example(text, head):
    match = re.search(rf"^{head}[^\n]*\n\n((?:    [^\n]*\n)+)", text, re.MULTILINE)
    assert match, f"the README has no example after {head!r}"
    return match.group(1)


def shape(line):
    """Returns a line of `haricot top` without the words that differ in each run."""
    line = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", line)
    return " ".join(re.sub(r"\d[\d.,:]*", "N", line).split())


def check_picture(text, haricotd, haricot):
    """Checks that the picture of the README has the heading and the columns of `haricot top`."""
    after = text[text.index("This is `haricot top`"):]
    picture = re.search(r"^(?: {4}.*\n)+", after, re.MULTILINE).group()
    listed = [shape(line) for line in picture.splitlines()[:7]]
    with tempfile.TemporaryDirectory() as folder, Server(haricotd, ["-b", folder]) as server:
        with Connection(server.port) as client:
            assert client.ask("use thumbnails") == "USING thumbnails\r\n"
            screen = Screen([haricot, "top", "-a", f"127.0.0.1:{server.port}", "-i", "1"])
            try:
                screen.wait_for(lambda: [shape(line) for line in screen.lines[:7]] == listed)
            finally:
                screen.close()
        server.stop()


def check_numbers(text):
    table = text[text.index("## What it does better"):].split("\n\n")[1]
    numbers = [number for row in documents.rows(table)[1:] for cell in row[1:]
               for number in re.findall(r"[0-9][0-9.,]*[0-9]", cell)]
    measured = documents.read("performance.md")
    assert len(numbers) == 21, numbers
    for number in numbers:
        assert re.search(rf"(?<![0-9.,]){re.escape(number)}(?![0-9])", measured), f"docs/performance.md has no {number}"


def main(haricotd, haricot):
    text = (documents.ROOT / "README.md").read_text(encoding="utf-8")
    check_picture(text, haricotd, haricot)
    check_numbers(text)
    with Server(haricotd, []) as server:
        address = f"127.0.0.1:{server.port}"
        environment = os.environ | {
            "HARICOT_ADDR": address,
            "PATH": f"{pathlib.Path(haricot).parent}:{os.environ['PATH']}",
        }
        for _ in range(2):
            for head in HEADS:
                commands = example(text, head).replace("127.0.0.1:11300", address)
                assert "haricot " in commands, commands
                ended = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", commands], env=environment, timeout=60,
                    stdin=subprocess.DEVNULL, capture_output=True, text=True)
                if ended.returncode != 0 or ended.stderr or not ended.stdout:
                    print(commands, ended.stdout, ended.stderr, f"status {ended.returncode}", sep="\n")
                    return 1
        server.stop()
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*map(os.path.abspath, sys.argv[1:])))
