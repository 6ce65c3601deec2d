#!/usr/bin/env python3
"""Compares the example of docs/binlog.md with the file of a server.

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
    """Runs the commands and stops the server. Returns the bytes of its file."""
    with tempfile.TemporaryDirectory() as folder:
        with Server(haricotd, ["-b", folder]) as server, Connection(server.port) as client:
            for command in COMMANDS:
                client.ask(*command)
            server.process.terminate()
            server.process.wait()
        return pathlib.Path(folder, "binlog.1").read_bytes()


def drawn():
    """Yields offset and bytes of each run of bytes with an offset on the page."""
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
        # Bytes that differ from run to run, such as checksums, are not compared.
        if one[offset:end] == other[offset:end] and offset not in WHEN_PUT:
            held += 1
            if one[offset:end] != shown:
                wrong.append(f"{offset:04x}: {shown.hex()}, but the file has {one[offset:end].hex()}")
    print("\n".join(wrong) if wrong else f"{held} groups of bytes")
    return 1 if wrong or held < 60 else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
