#!/usr/bin/env python3
"""Tests HAProxy in front of two servers, with the settings of docs/availability.md: which server gets the clients when
one of them hangs, drains, is killed and restarts, and that no acknowledged job is lost.

    haproxy_test.py HARICOTD
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from stage import PATIENCE_S, PROJECT, Client, end_all_others, isolate, stats_of, wait_for

if len(sys.argv) < 2:
    sys.exit(__doc__)
HARICOTD = os.path.abspath(sys.argv[1])
PROXY, ONE, TWO = "192.0.2.10", "192.0.2.11", "192.0.2.12"  # The addresses of the document.
PORT = 11300


def documented_settings():
    text = (PROJECT / "docs" / "availability.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"^```haproxy\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return settings


class Producer(threading.Thread):
    """Puts jobs through the proxy, and reconnects if the connection ends."""

    def __init__(self):
        super().__init__(daemon=True)
        self.acknowledged = set()
        self.fault = None
        self.refused = 0
        self.is_over = threading.Event()

    def run(self):
        number = 0
        while not self.is_over.is_set():
            with contextlib.suppress(OSError), Client(PROXY, PORT) as client:
                while not self.is_over.is_set():
                    number += 1
                    words, _ = client.ask(f"put 0 0 60 {len(str(number))}", str(number).encode())
                    if words[0] == "INSERTED":
                        self.acknowledged.add(str(number).encode())
                    elif words == ["DRAINING"]:
                        self.refused += 1
                    else:
                        self.fault = words
                    time.sleep(0.001)
            time.sleep(0.01)


class Proxy(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.addCleanup(end_all_others)
        self.folder = pathlib.Path(holder.name)
        self.servers = {}
        self.ids = {}
        for address in (ONE, TWO):
            self.start(address)
        settings = self.folder / "haproxy.cfg"
        settings.write_text(documented_settings())
        self.run_program("haproxy", "-db", "-f", str(settings))
        wait_for("the proxy", self.serving_address)

    def run_program(self, *words):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start(self, address):
        jobs = self.folder / address
        jobs.mkdir(exist_ok=True)
        self.servers[address] = self.run_program(HARICOTD, "-l", address, "-p", str(PORT), "-b", str(jobs),
                                                 "--allow-drain")
        self.ids[address] = wait_for("the server", lambda: stats_of(address, PORT))["id"]

    def serving_address(self):
        """Returns the address of the server for a new client of the proxy, or None if no server answers."""
        stats = stats_of(PROXY, PORT, timeout=2)
        return next((address for address, known in self.ids.items() if stats and stats["id"] == known), None)

    def wait_until_serves(self, address, after="it began"):
        """Waits until new clients get this server, and prints the time that it took, which docs/availability.md
        reports."""
        begin = time.monotonic()
        wait_for(f"{address} behind the proxy", lambda: self.serving_address() == address)
        print(f"{time.monotonic() - begin:.1f} s after {after}, {address} serves")

    def jobs_of(self, address):
        bodies = set()
        with Client(address, PORT) as client:
            while True:
                words, body = client.ask("reserve-with-timeout 0")
                if words[0] != "RESERVED":
                    return bodies
                bodies.add(body)
                client.ask(f"delete {words[1]}")

    def test_the_second_server_replaces_the_first(self):
        self.wait_until_serves(ONE)
        producer = Producer()
        producer.start()
        wait_for("jobs", lambda: len(producer.acknowledged) > 100)
        self.assertEqual(stats_of(TWO, PORT)["total-jobs"], "0")

        # The first server hangs: the proxy closes its clients' connections.
        open_client = Client(PROXY, PORT)
        self.assertEqual(open_client.stats()["id"], self.ids[ONE])
        self.servers[ONE].send_signal(signal.SIGSTOP)
        self.wait_until_serves(TWO, "the first hangs")
        with self.assertRaises(ConnectionError):
            open_client.ask("stats")
        open_client.close()
        self.servers[ONE].send_signal(signal.SIGCONT)
        self.wait_until_serves(ONE, "the first continues")

        # The first server drains: producers get the second one, workers reach the first one at its own address.
        with Client(ONE, PORT) as client:
            self.assertEqual(client.ask("drain")[0], ["DRAINING"])
            self.wait_until_serves(TWO, "the first drains")
            before = len(producer.acknowledged)
            wait_for("jobs on the second", lambda: len(producer.acknowledged) > before + 100)
            self.assertEqual(client.ask("reserve-with-timeout 0")[0][0], "RESERVED")
            self.assertEqual(client.ask("undrain")[0], ["NOT_DRAINING"])
        self.wait_until_serves(ONE)

        # The first server is killed, and restarts with its jobs.
        self.servers[ONE].kill()
        self.servers[ONE].wait()
        self.wait_until_serves(TWO, "the first is killed")
        self.start(ONE)
        self.wait_until_serves(ONE, "the first is back")

        # No server is left: clients notice at once.
        for address in (ONE, TWO):
            self.servers[address].kill()
            self.servers[address].wait()
        wait_for("a refusal", self.refuses)
        self.start(TWO)
        self.wait_until_serves(TWO)
        self.start(ONE)
        self.wait_until_serves(ONE)

        producer.is_over.set()
        producer.join(PATIENCE_S)
        self.assertIsNone(producer.fault)
        there = self.jobs_of(ONE) | self.jobs_of(TWO)
        self.assertEqual(producer.acknowledged - there, set(), "acknowledged jobs on no server")

    def refuses(self):
        try:
            with Client(PROXY, PORT, timeout=2) as client:
                client.ask("stats")
        except ConnectionError:
            return True
        except TimeoutError:
            pass
        return False


if __name__ == "__main__":
    isolate("haproxy")
    for each in (PROXY, ONE, TWO):
        subprocess.run(["ip", "address", "add", f"{each}/32", "dev", "lo"], check=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
