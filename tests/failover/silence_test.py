#!/usr/bin/env python3
"""Tests a machine that fails silently while workers wait for its server: workers with the settings of
docs/availability.md notice, and one with the defaults of its library does not.

    silence_test.py HARICOTD
"""

import os
import re
import socket
import subprocess
import sys
import time
import unittest

from nodes import Node, make_network
from stage import PROJECT, Client, end_all_others, isolate, skip, wait_for

if len(sys.argv) < 2:
    sys.exit(__doc__)
HARICOTD = os.path.abspath(sys.argv[1])
PORT = 11300
PHEANSTALK = "/usr/share/php/Pheanstalk/autoload.php"

# Each program waits for a job, and prints the reason for which the wait ended.
RUBY = """
require 'beaneater'
require 'timeout'
tubes = Beaneater.new('{address}').tubes
begin
  Timeout.timeout({patience}) {{ tubes.reserve({wait}) }}
rescue Timeout::Error
  puts 'gone'
end
"""
PHP = """
require '{autoload}';
try {{
  Pheanstalk\\Pheanstalk::create('{host}', {port})->reserve();
}} catch (Pheanstalk\\Exception\\ConnectionException $error) {{
  echo "gone\\n";
}}
"""


def documented_times():
    text = (PROJECT / "docs" / "availability.md").read_text(encoding="utf-8")
    (times,) = re.findall(r"^sysctl -w (net\.ipv4\.tcp_keepalive.*)$", text, re.MULTILINE)
    return times.split()


class Silence(unittest.TestCase):
    def test_workers_detect_a_silent_failure_of_the_server(self):
        self.addCleanup(end_all_others)
        node = Node(1, ())
        self.addCleanup(node.end)
        node.run("sh", "-c", f"setsid {HARICOTD} -l 0.0.0.0 -p {PORT} </dev/null >/dev/null 2>&1 &")

        def client():
            return Client(node.address, PORT)
        wait_for("the server", lambda: self.answers(client))
        subprocess.run(["sysctl", "-q", "-w", *documented_times()], check=True)
        plain = client()
        plain.socket.sendall(b"reserve\r\n")
        values = {"host": node.address, "port": PORT, "autoload": PHEANSTALK, "patience": 20, "wait": 15,
                  "address": f"{node.address}:{PORT}"}
        workers = {}
        with client() as watcher:
            # The worker with a timeout starts last, because it must still wait when the machine fails.
            for name, words in (("pheanstalk", ("php", "-r", PHP)), ("beaneater", ("ruby", "-e", RUBY))):
                workers[name] = self.run_program(*words[:2], words[2].format(**values))
                wait_for(name, lambda: int(watcher.stats()["current-waiting"]) == 1 + len(workers))
        begin = time.monotonic()
        node.lose_power()
        for name, worker in workers.items():
            output, _ = worker.communicate(timeout=300)
            print(f"{name}: {output.strip()} after {time.monotonic() - begin:.1f} s", flush=True)
            self.assertEqual(output, "gone\n")
        # The settings of the page make the difference: this client has waited as long without noticing.
        plain.socket.setblocking(False)
        with self.assertRaises(BlockingIOError):
            plain.socket.recv(1)
        self.assertEqual(plain.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
        plain.close()

    @staticmethod
    def answers(client):
        try:
            with client() as each:
                return each.stats()
        except OSError:
            return None

    def run_program(self, *words):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


if __name__ == "__main__":
    isolate("nsenter", "hostname", "sysctl", "ruby", "php")
    if not os.path.exists(PHEANSTALK):
        skip("Debian's libraries are missing")
    make_network()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
