#!/usr/bin/env python3
"""Runs the everyday tasks of docs/tool.md as they are printed.

    tasks_test.py HARICOTD HARICOT
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
import documents
from operator_server import Server

DAEMON, TOOL = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
del sys.argv[1:3]

INVOICE = json.dumps({"displayName": "App\\Jobs\\SendInvoice"})
NEWSLETTER = json.dumps({"displayName": "App\\Jobs\\SendNewsletter"})
# The output of each command, in the order of the page.
OUTPUTS = {
    "tubes --sort buried": r".*buried.*\n.*\bmail\n(.*\n)*",
    "failures": r".*class note\n.*App\\Jobs\\SendInvoice timeout of smtp\n.* - refused\n",
    "failures mail --group timeout": r".*class note\n(.*timeout of smtp\n){2}",
    "jobs --state buried --since yesterday": r".*note\n(.*buried.*\n){3}",
    "kick mail --since yesterday --note timeout": "kicked 2\n",
    "kick mail --class SendInvoice": "kicked 0\n",
    "kick mail --all": "kicked 1\n",
    "move mail mail-later --class SendNewsletter": "moved 3\n",
    "delete mail --match customer-17 --yes": "deleted 1\n",
    "delete --buried --older 30d --yes": "deleted 0\n",
    "jobs --state reserved": r".*held-for.*\n.*reserved.*default\n",
    "jobs mail --next --count 10": r".*note\n(.*ready.*mail.*\n){4}",
    "peek mail --ready": r".*SendInvoice.*",
    "note 17 'see ticket 4711'": "",
    "put --tube mail --at tomorrow newsletter": r"\d+\n",
    "put --tube mail --unique report --tries 5 report": r"\d+\n",
    "pause mail 10m": "tube mail is paused for 600 s\n",
    "pause mail 0": "tube mail is resumed\n",
    "export mail --state delayed > delayed.json": "",
    "export --sample 1% > sample.json": "",
    "-a queue2 import delayed.json": "imported 11\n",
    "ping --max-ready 1000 --max-oldest 5m --max-buried 100 --quiet": "",
}


class Tasks(unittest.TestCase):
    def test_each_is_one_command(self):
        block = re.search(r"(?:^    .*\n)+", documents.section("tool.md", "Everyday tasks"), re.MULTILINE)[0]
        tasks = [re.sub(r" +# .*", "", line.strip()).removeprefix("haricot ") for line in block.splitlines()]
        self.assertEqual(tasks, list(OUTPUTS))
        self.assertGreaterEqual(len(tasks), 20)
        with Server(DAEMON) as server, Server(DAEMON) as other, tempfile.TemporaryDirectory() as folder, \
                socket.socket(socket.AF_UNIX) as worker:
            worker.connect(server.path)
            self.fill(server, worker)
            for task in tasks:
                with self.subTest(task=task):
                    command = f"haricot {task}".replace("queue2", other.address)
                    ended = subprocess.run(
                        ["sh", "-c", command], capture_output=True, text=True, cwd=folder, timeout=60, check=False,
                        stdin=subprocess.DEVNULL,
                        env={"PATH": f"{TOOL.parent}:{os.environ['PATH']}", "HARICOT_ADDR": server.address})
                    self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                    self.assertRegex(ended.stdout, re.compile(f"^(?:{OUTPUTS[task]})$"))

    def fill(self, server, worker):
        for note in ("timeout of smtp", "timeout of smtp", "refused"):
            job = server.put(INVOICE if "timeout" in note else "plain", "mail")
            server.ask(f"reserve-job {job}", f"note {job} {len(note)}", note, f"bury {job} 5")
        for _ in range(3):
            server.put(NEWSLETTER, "mail")
        server.put("customer-17", "mail")
        server.put("in work")
        worker.sendall(b"reserve\r\n")
        self.assertTrue(worker.recv(100).startswith(b"RESERVED"))
        server.put("later", "mail")
        for _ in range(10):
            server.put("much later", "mail", delay=1000)


if __name__ == "__main__":
    unittest.main()
