#!/usr/bin/env python3
"""Runs the programs of docs/concepts.md, each against haricotd and against beanstalkd.

    concepts_test.py HARICOTD HARICOT BEANSTALKD

In each language the producer puts two jobs, and the worker has to delete one and bury the other. The page's list of
client libraries has to be that of tests/clients.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "monitors"))

import documents
from servers import Connection, Server

PAGE = "concepts.md"
TUBE = "checksums"
GOOD, BAD = "/etc/passwd", "/no/such/file"
SECONDS_MAX = 60


def programs():
    """Returns by language the files to write, and the commands of producer and worker."""
    producer, after = documents.blocks(PAGE, "sh")
    (worker,) = documents.blocks(PAGE, "bash")
    module, python_producer, python_worker = documents.blocks(PAGE, "python")
    php_producer, php_worker = documents.blocks(PAGE, "php")
    python = sys.executable
    return after, {
        "shell": ({"producer": producer, "worker": worker}, ["bash", "-eu", "producer"], ["bash", "worker"]),
        "python": (
            {"beanstalk.py": module, "producer.py": python_producer, "worker.py": python_worker},
            [python, "producer.py"],
            [python, "worker.py"],
        ),
        "php": (
            {"producer.php": php_producer, "worker.php": php_worker},
            ["php", "producer.php"],
            ["php", "worker.php"],
        ),
    }


def counts(client):
    """Returns the numbers of deleted and buried jobs of the tube."""
    answer = client.ask(f"stats-tube {TUBE}")
    found = dict(line.split(": ") for line in answer.splitlines() if ": " in line)
    return int(found.get("cmd-delete", 0)), int(found.get("current-jobs-buried", 0))


def run(command, **more):
    return subprocess.run(
        command, timeout=SECONDS_MAX, stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)


def try_out(server, environment, files, producer, worker, after):
    """Runs the programs of a language. Returns an error, or an empty value."""
    with tempfile.TemporaryDirectory() as name, Connection(server.port) as client:
        folder = pathlib.Path(name)
        for file, text in files.items():
            (folder / file).write_text(text.replace("11300", str(server.port)), encoding="utf-8")
        # Watched, because a tube and its counters end with its last client.
        client.ask(f"watch {TUBE}")
        put = run(producer, cwd=folder, env=environment)
        if put.returncode != 0 or put.stderr or len(put.stdout.splitlines()) != 2:
            return f"the producer: status {put.returncode}, {put.stdout}{put.stderr}"
        with open(folder / "output", "w+b") as output:
            process = subprocess.Popen(
                worker, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            try:
                deadline = time.monotonic() + SECONDS_MAX
                while counts(client) != (1, 1) and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                running = process.poll() is None
            finally:
                process.kill()
                process.wait()
            output.seek(0)
            listed = output.read().decode()
        if counts(client) != (1, 1) or not running:
            return f"the worker: deleted and buried {counts(client)}, running: {running}, {listed}"
        sum_of = run(["sha256sum", GOOD]).stdout.split()[0]
        if f"{sum_of}  {GOOD}" not in listed and f"{sum_of} {GOOD}" not in listed:
            return f"the worker did not print the sum: {listed}"
        if client.ask("use " + TUBE) != f"USING {TUBE}\r\n" or BAD not in client.ask("peek-buried"):
            return "the wrong job is buried"
        checked = run(["bash", "-euo", "pipefail", "-c", after], env=environment)
        if checked.returncode != 0 or checked.stderr or BAD not in checked.stdout or TUBE not in checked.stdout:
            return f"the commands afterwards: status {checked.returncode}, {checked.stdout}{checked.stderr}"
        if BAD not in client.ask("peek-ready"):
            return "the buried job was not kicked"
    return None


def libraries(text):
    """Returns versions and origins in a table of libraries, without their names."""
    return sorted(
        cells[-2:] for cells in documents.rows(text) if cells[-1].startswith("Debian, ") or cells[-1] == "npm")


def main(haricotd, haricot, beanstalkd):
    wrong = []
    after, languages = programs()
    for daemon in (haricotd, beanstalkd):
        for language, (files, producer, worker) in languages.items():
            with Server(daemon, []) as server:
                environment = os.environ | {
                    "HARICOT_ADDR": f"127.0.0.1:{server.port}",
                    "PATH": f"{pathlib.Path(haricot).parent}:{os.environ['PATH']}",
                }
                trouble = try_out(server, environment, files, producer, worker, after)
                if trouble:
                    wrong.append(f"{language}, {daemon}: {trouble}")
    listed = libraries(documents.section(PAGE, "Client libraries"))
    table = (documents.ROOT / "tests/clients/README.md").read_text(encoding="utf-8")
    # The table of tests/clients has two more columns.
    tested = libraries("\n".join("|" + "|".join(cells[:3]) + "|" for cells in documents.rows(table)))
    if listed != tested or not listed:
        wrong.append(f"libraries: the page has {listed}, tests/clients has {tested}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*map(os.path.abspath, sys.argv[1:])))
