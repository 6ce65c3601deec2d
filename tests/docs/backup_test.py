#!/usr/bin/env python3
"""Runs the backup of docs/runbook.md many times on the folder of a busy server.

    backup_test.py HARICOTD HARICOT

Each backup has to succeed at the first try, and replaces the previous one. Each copy has to be sound, with every job
that existed all the time, and without jobs that were deleted before the backup began.
"""

import json
import os
import pathlib
import re
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
# Makes more backups until the server has begun this number of files.
FILES = 2 * BACKUPS
STAYING_JOBS = 500
BACKUP_SECONDS_MAX = 60
# Small files and many commands at once, so that files are begun and removed during a backup.
FILE_BYTES = 1_000_000
AT_ONCE = 50


def put(client, body):
    return int(client.ask(f"put 0 0 600 {len(body)}", body).split()[1])


def batch(client, commands):
    """Sends AT_ONCE commands, and returns their answers of one line."""
    client.socket.sendall(commands.encode())
    return [client.input.readline().decode() for _ in range(AT_ONCE)]


class Load(threading.Thread):
    """Puts jobs and deletes them a little later, many at once, until it has to stop."""

    def __init__(self, port):
        super().__init__()
        self.port = port
        self.stopped = threading.Event()
        self.gone = []  # Ids of deleted jobs. Append-only.
        self.error = None

    def run(self):
        try:
            with Connection(self.port) as client:
                living = []
                puts = f"put 0 0 600 1000\r\n{'y' * 1000}\r\n" * AT_ONCE
                while not self.stopped.is_set():
                    living += [int(answer.split()[1]) for answer in batch(client, puts)]
                    if len(living) > 1000:
                        jobs, living = living[:AT_ONCE], living[AT_ONCE:]
                        answers = batch(client, "".join(f"delete {job}\r\n" for job in jobs))
                        assert answers == ["DELETED\r\n"] * AT_ONCE
                        self.gone += jobs
        except Exception as error:  # The main thread reports it.
            self.error = error


def newest_file(folder):
    """Returns the number of the newest file. An unfinished file has another name."""
    matches = (re.fullmatch(r"binlog\.(\d+)", name) for name in os.listdir(folder))
    return max(int(match.group(1)) for match in matches if match)


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
    assert run.stderr == "", run.stderr


def main(haricotd, haricot):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "source")
        os.mkdir(source)
        with Server(haricotd, ["-b", source, "-s", str(FILE_BYTES)]) as server:
            with Connection(server.port) as client:
                staying = {put(client, f"job {i} " + "x" * (i % 700)) for i in range(STAYING_JOBS)}
            load = Load(server.port)
            load.start()
            copy = os.path.join(folder, "copy")
            try:
                backups = 0
                while load.is_alive() and (backups < BACKUPS or newest_file(source) <= FILES):
                    backups += 1
                    gone = set(load.gone)
                    back_up(haricot, source, copy)
                    jobs = jobs_in(haricot, copy)
                    assert staying <= jobs.keys(), f"missing: {sorted(staying - jobs.keys())[:10]}"
                    back = gone & jobs.keys()
                    assert not back, f"came back: {sorted(back)[:10]}"
            finally:
                load.stopped.set()
                load.join()
            assert load.error is None, load.error
            assert sorted(os.listdir(folder)) == ["copy", "source"], os.listdir(folder)
            newest = newest_file(source)
            server.stop()
        with Server(haricotd, ["-b", copy]) as restored:
            with Connection(restored.port) as client:
                for job in staying:
                    assert client.ask(f"peek {job}").startswith(f"FOUND {job} ")
            restored.stop()
    print(f"{backups} backups, {len(load.gone)} jobs and {newest - 1} files came and went")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*map(os.path.abspath, sys.argv[1:])))
