#!/usr/bin/env python3
"""Tests haricot clients against any beanstalk server.

    clients_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import socket
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest
from operator_server import NO, REFUSED, USAGE, wait_until


class Clients(OperatorTest):
    def setUp(self):
        super().setUp()
        if not self.has("list-clients"):
            complaint = ("does not know list-clients: it is beanstalkd "
                         + self.server.stat("version"))
            self.assertEqual(self.refused(REFUSED, complaint, "clients"), "")
            self.skipTest("the server cannot list connections")
        self.server.put("x", "mail")
        self.connect("use worked", "watch mail", "reserve-job 1")
        self.connect("use awaited", "reserve")

    def connect(self, *lines):
        """Opens a connection, sends these lines, and waits until the server has run them."""
        link = socket.socket(socket.AF_UNIX)
        self.addCleanup(link.close)
        link.connect(self.server.path)
        link.sendall("".join(line + "\r\n" for line in lines).encode())
        used = lines[0].split()[1]
        wait_until(lambda: (self.find(used) or {}).get("commands") == len(lines))

    def clients(self, *words):
        return [json.loads(line) for line in self.good("clients", "--json", *words).splitlines()]

    def find(self, used):
        """Returns the client that uses this tube, or None."""
        return next((client for client in self.clients() if client["used"] == used), None)

    def test_it_shows_waiting_clients_and_holders(self):
        worker, waiting = self.find("worked"), self.find("awaited")
        self.assertEqual((worker["state"], worker["jobs"], worker["watching"]), ("idle", 1, 2))
        self.assertEqual((waiting["state"], waiting["jobs"], waiting["watching"]),
                         ("waiting", 0, 1))
        self.assertEqual((worker["address"], waiting["address"]), ("unix", "unix"))
        holder = json.loads(self.good("jobs", "--json", "--state", "reserved"))["holder"]
        self.assertEqual(holder, worker["id"])
        titles, row = [line.split() for line in self.good("jobs", "mail").splitlines()]
        self.assertEqual(dict(zip(titles, row))["holder"], str(worker["id"]))

    def test_the_table_has_a_line_for_each(self):
        titles, *rows = [line.split() for line in self.good("clients").splitlines()]
        shown = [dict(zip(titles, row)) for row in rows]
        ids = [int(row["id"]) for row in shown]
        self.assertEqual(ids, sorted(ids))
        self.assertIn("running", [row["state"] for row in shown])  # The connection of this command.
        row = next(row for row in shown if row["used"] == "awaited")
        self.assertEqual((row["state"], row["jobs"], row["commands"]), ("waiting", "0", "2"))

    def test_it_can_be_asked_for_some(self):
        worker = self.find("worked")["id"]
        self.assertEqual([client["id"] for client in self.clients("--holding")], [worker])
        self.assertEqual([client["id"] for client in self.clients("-n", "1", "-i", worker)],
                         [worker])
        self.refused(NO, "there is no such connection", "clients", "--from", "99999")
        self.refused(USAGE, "takes no operand", "clients", "mail")


if __name__ == "__main__":
    unittest.main()
