#!/usr/bin/env python3
"""Types the examples of the README's tool into a shell, twice: a newcomer may do that, too.

    readme_test.py HARICOTD HARICOT
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "monitors"))

import documents
from servers import Server

# What each example comes after.
HEADS = ("Try it by hand", "Look into a server")


def example(text, head):
    match = re.search(rf"^{head}[^\n]*\n\n((?:    [^\n]*\n)+)", text, re.MULTILINE)
    assert match, f"the README has no example after {head!r}"
    return match.group(1)


def main(haricotd, haricot):
    text = (documents.ROOT / "README.md").read_text(encoding="utf-8")
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
