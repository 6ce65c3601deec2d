#!/usr/bin/env python3
"""Runs the backup of docs/runbook.md on the folder of a server at work, several times over.

    backup_test.py HARICOTD HARICOT

Each copy has to be sound, has to have every job that was there all the time, and no job that was gone
before the backup began.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "monitors"))

import documents
from servers import Connection, Server

BACKUPS = 20
STAYING_JOBS = 500
BACKUP_SECONDS_MAX = 60
# Small files, so that several come and go during a backup.
FILE_BYTES = 2_000_000


def put(client, body):
    return int(client.ask(f"put 0 0 600 {len(body)}", body).split()[1])


class Load(threading.Thread):
    """Puts jobs and deletes them again a little later, until it has to stop."""

    def __init__(self, port):
        super().__init__()
        self.port = port
        self.stopped = threading.Event()
        self.gone = []  # Only ever appended to.
        self.error = None

    def run(self):
        try:
            with Connection(self.port) as client:
                living = []
                while not self.stopped.is_set():
                    living.append(put(client, "y" * 1000))
                    if len(living) > 1000:
                        job = living.pop(0)
                        assert client.ask(f"delete {job}") == "DELETED\r\n"
                        self.gone.append(job)
        except Exception as error:  # The main thread reports it.
            self.error = error


def jobs_in(haricot, folder):
    check = subprocess.run([haricot, "binlog", "check", folder], capture_output=True, text=True)
    assert check.returncode == 0, f"the copy is not sound:\n{check.stdout}{check.stderr}"
    dump = subprocess.run(
        [haricot, "binlog", "dump", "--json", folder], capture_output=True, text=True, check=True
    )
    return {job["id"]: job for job in map(json.loads, dump.stdout.splitlines())}


def back_up(haricot, source, copy):
    (script,) = documents.blocks("runbook.md", "sh")
    words = ["sh", "-c", f'{script}\nbackup "$1" "$2"', "backup", source, copy]
    environment = {**os.environ, "PATH": f"{os.path.dirname(haricot)}:{os.environ['PATH']}"}
    run = subprocess.run(
        words, capture_output=True, text=True, env=environment, timeout=BACKUP_SECONDS_MAX
    )
    assert run.returncode == 0, run.stderr
    return run.stderr.count("\n")


def main(haricotd, haricot):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "source")
        os.mkdir(source)
        complaints = 0
        with Server(haricotd, ["-b", source, "-s", str(FILE_BYTES)]) as server:
            with Connection(server.port) as client:
                staying = {put(client, f"job {i} " + "x" * (i % 700)) for i in range(STAYING_JOBS)}
                first = set(os.listdir(source))
            load = Load(server.port)
            load.start()
            try:
                for number in range(BACKUPS):
                    copy = os.path.join(folder, f"copy-{number}")
                    gone = set(load.gone)
                    complaints += back_up(haricot, source, copy)
                    jobs = jobs_in(haricot, copy)
                    assert staying <= jobs.keys(), f"missing: {sorted(staying - jobs.keys())[:10]}"
                    back = gone & jobs.keys()
                    assert not back, f"came back: {sorted(back)[:10]}"
            finally:
                load.stopped.set()
                load.join()
            assert load.error is None, load.error
            assert not first & {name for name in os.listdir(source) if name != "lock"}, (
                "no file came and went: this shows nothing"
            )
            server.stop()
        with Server(haricotd, ["-b", copy]) as restored:
            with Connection(restored.port) as client:
                for job in staying:
                    assert client.ask(f"peek {job}").startswith(f"FOUND {job} ")
            restored.stop()
    print(f"{BACKUPS} backups, {complaints} lines about tries, {len(load.gone)} jobs came and went")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*map(os.path.abspath, sys.argv[1:])))
