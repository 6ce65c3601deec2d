#!/usr/bin/env python3
"""Measures memory and processor time of `haricot web` with many tubes: scale_test.py HARICOT HARICOTD."""

import pathlib
import socket
import time
import unittest

from watch_case import BINARY, Server, Web, wait_until

MEMORY_KB_MAX = 12_000
CPU_SHARE_MAX = 0.01


def cpu_s(process):
    nanoseconds = pathlib.Path(f"/proc/{process.pid}/schedstat").read_text(encoding="ascii").split()[0]
    return int(nanoseconds) / 1e9


class Scale(unittest.TestCase):
    def watch(self, tubes):
        server = Server(BINARY)
        self.addCleanup(server.__exit__)
        for begin in range(0, tubes, 500):
            lines = []
            for i in range(begin, min(begin + 500, tubes)):
                lines += [f"use customer-{i}-orders", "put 5 0 60 1", "x"]
            server.ask(*lines)
        web = Web(server.address)
        self.addCleanup(web.__exit__)
        web.wait_ready()
        return web

    def test_fifty_thousand_tubes_fit_into_12_megabytes(self):
        web = self.watch(50_000)
        wait_until(lambda: web.fetch("/api/tubes")[0] == 200)
        rows = web.json("/api/tubes", sort="put_rate", count=10)
        self.assertEqual(rows["total"], 50_001)
        # Waits for two samples, and for one with rates.
        wait_until(lambda: web.json("/api/tubes", count=1)["tubes"][0]["put_rate"] is not None)
        # The history has tubes after 15 seconds.
        wait_until(lambda: web.json("/api/history")["points"] > 1)
        web.json("/api/tubes", sort="ready", count=500)
        memory_kb = web.memory_kb()
        print(f"{memory_kb} kB", flush=True)
        self.assertLess(memory_kb, MEMORY_KB_MAX)

    def test_a_thousand_tubes_take_a_hundredth_of_a_core(self):
        web = self.watch(1_000)
        wait_until(lambda: web.json("/api/tubes")["total"] == 1_001)
        begin, cpu = time.monotonic(), cpu_s(web.process)
        while time.monotonic() < begin + 10:
            web.json("/api/tubes", count=50)  # Keeps a viewer active.
            time.sleep(2)
        share = (cpu_s(web.process) - cpu) / (time.monotonic() - begin)
        print(f"{share:.3%} of a core", flush=True)
        self.assertLess(share, CPU_SHARE_MAX)

    def test_closed_and_slow_readers_cost_nothing(self):
        web = self.watch(1_000)
        wait_until(lambda: len(web.text("/metrics/tubes")) > 1_000_000)
        slow = []
        for i in range(40):
            client = socket.create_connection(("127.0.0.1", web.port))
            client.sendall(b"GET /metrics/tubes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            client.recv(1000)
            if i % 2 == 0:
                client.close()
            else:
                slow.append(client)
                self.addCleanup(client.close)
        self.assertGreater(len(web.text("/metrics/tubes")), 1_000_000)
        # Each slow client would need two megabytes.
        self.assertLess(web.memory_kb(), 24_000)


if __name__ == "__main__":
    unittest.main()
