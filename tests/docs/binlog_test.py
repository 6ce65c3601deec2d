#!/usr/bin/env python3
"""Holds the example of docs/binlog.md against the file that a server leaves.

    binlog_test.py HARICOTD
"""

import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "monitors"))

import documents
from servers import Connection, Server

COMMANDS = (("use mail",), ("put 10 0 60 5", "hello"), ("put 10 0 60 5", "world"), ("delete 1",))
WHEN_PUT = range(0x88, 0x90)


def left_by(haricotd):
    """The bytes of the file, after the commands and SIGTERM."""
    with tempfile.TemporaryDirectory() as folder:
        with Server(haricotd, ["-b", folder]) as server, Connection(server.port) as client:
            for command in COMMANDS:
                client.ask(*command)
            server.process.terminate()
            server.process.wait()
        return pathlib.Path(folder, "binlog.1").read_bytes()


def drawn():
    """(Offset, bytes) of each run of bytes that the page shows, where it says the offset."""
    offset = None
    for line in documents.blocks("binlog.md", "")[-1].splitlines():
        begin, shown = re.match(r"([0-9a-f]{4}|    )  (.*?)(?:  |$)", line).groups()
        offset = int(begin, 16) if begin.strip() else offset
        for group in shown.split():
            if group == "…":
                offset = None
            if offset is None:
                break
            yield offset, bytes.fromhex(group)
            offset += len(group) // 2


def main(haricotd):
    one, other = left_by(haricotd), left_by(haricotd)
    assert len(one) == len(other), (len(one), len(other))
    wrong, held = [], 0
    for offset, shown in drawn():
        end = offset + len(shown)
        # What differs from run to run, as sums do, is anything in the page.
        if one[offset:end] == other[offset:end] and offset not in WHEN_PUT:
            held += 1
            if one[offset:end] != shown:
                wrong.append(f"{offset:04x}: {shown.hex()}, and the file has {one[offset:end].hex()}")
    print("\n".join(wrong) if wrong else f"{held} groups of bytes")
    return 1 if wrong or held < 60 else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
