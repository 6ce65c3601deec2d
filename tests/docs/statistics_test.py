#!/usr/bin/env python3
"""Compares the keys of a live server's reports with the tables in docs/statistics.md.

    statistics_test.py HARICOTD
"""

import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "monitors"))

import documents
from servers import Connection, Server

# Each flag adds its keys.
LIMITS = ["--connections-max=1000", "--idle-timeout=600", "--memory-max=1g", "--tries-max=9"]


def keys_of(answer):
    assert answer.startswith("OK "), answer
    return [line.split(":")[0] for line in answer.splitlines()[2:] if line]


def documented(title):
    rows = documents.rows(documents.section("statistics.md", title))[1:]
    return [key for cells in rows for key in documents.codes(cells[0])]


def main(haricotd):
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/next"
        options = ["-b", folder, *LIMITS]
        # The second server takes over from the first one, which adds a key.
        with (
            Server(haricotd, [*options, f"--take-over-socket={socket}"]),
            Server(haricotd, [*options, f"--take-over={socket}"]) as server,
            Connection(server.port) as client,
        ):
            client.ask("put 0 0 60 1 con:key", "x")
            live = {
                "stats": keys_of(client.ask("stats")),
                "stats-tube": keys_of(client.ask("stats-tube default")),
                "stats-job": keys_of(client.ask("stats-job 1")),
            }
            server.stop()
    wrong = 0
    for title, keys in live.items():
        listed = documented(title)
        if listed != keys:
            wrong += 1
            print(f"{title}: not documented: {[key for key in keys if key not in listed]}")
            print(f"{title}: documented, but not there: {[key for key in listed if key not in keys]}")
            print(f"{title}: or they are in another order, or there twice")
    print(f"{sum(map(len, live.values()))} keys")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1])))
