#!/usr/bin/env python3
"""Tests subcommands that ask several servers, and their sums.

    several_servers_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import BINARY, FLAGS, OperatorTest, TOOL
from operator_server import DONE, NO_SERVER, run, Server, USAGE


class Several(OperatorTest):
    """Tests two servers and their sums."""

    def setUp(self):
        super().setUp()
        self.other = Server(BINARY, *FLAGS)
        self.addCleanup(self.other.__exit__)
        self.both = f"{self.server.address},{self.other.address}"
        for server, tubes in ((self.server, ("a", "b")), (self.other, ("b", "b", "c"))):
            for tube in tubes:
                server.put("x", tube)

    def ask(self, *words):
        status, output, error = run(TOOL, *words, address=self.both)
        self.assertEqual((status, error), (DONE, ""))
        return output.decode()

    def test_ping_asks_each(self):
        lines = self.ask("ping").splitlines()
        self.assertTrue(lines[0].startswith(f"{self.server.address} answers: "))
        self.assertTrue(lines[1].startswith(f"{self.other.address} answers: "))
        self.assertEqual(lines[2:], ["2 of 2 servers are good"])
        self.assertEqual([json.loads(line)["address"] for line in self.ask("ping", "-j").splitlines()],
                         [self.server.address, self.other.address])
        self.assertEqual(self.ask("ping", "-q"), "")

    def test_flags_name_several_too(self):
        output = run(TOOL, "-a", self.server.address, "ping", "-a", self.other.address)[1]
        self.assertIn(b"2 of 2", output)

    def test_stats_have_sum_and_parts(self):
        self.assertEqual(self.ask("stats", "-k", "current-jobs-ready"), "5\n")
        self.assertEqual(self.ask("stats", "b", "-k", "current-jobs-ready"), "3\n")
        self.assertEqual(self.ask("stats", "c", "-k", "total-jobs"), "1\n")
        self.assertEqual(self.ask("stats", "-k", "pid"),
                         f"{self.server.address}: {self.server.process.pid}\n"
                         f"{self.other.address}: {self.other.process.pid}\n")
        answer = json.loads(self.ask("stats", "--json"))
        self.assertEqual(answer["sum"]["current-jobs-ready"], 5)
        self.assertNotIn("pid", answer["sum"])
        self.assertEqual([part["current-jobs-ready"] for part in answer["servers"]], [2, 3])
        parts = self.ask("stats").split("\n\n")
        self.assertIn("sum of 2 servers:\ncurrent-jobs-urgent: 0\ncurrent-jobs-ready: 5\n", parts[0])
        self.assertTrue(parts[1].startswith(self.server.address + ":\n"))
        self.assertIn("current-jobs-ready: 3\n", parts[2])

    def test_tubes_have_sum_and_parts(self):
        tables = [[line.split() for line in part.splitlines()]
                  for part in self.ask("tubes", "-i", "0", "a", "b", "c").split("\n\n")]
        self.assertEqual(tables[0][0], "sum of 2 servers:".split())
        ready = [[(row[-1], row[0]) for row in table[2:]] for table in tables]
        self.assertEqual(ready, [[("a", "1"), ("b", "3"), ("c", "1")], [("a", "1"), ("b", "1")],
                                 [("b", "2"), ("c", "1")]])
        answer = json.loads(self.ask("tubes", "-j", "-i", "0.1", "b"))
        self.assertEqual([tube["current-jobs-ready"] for tube in answer["sum"]], [3])
        self.assertEqual(answer["sum"][0]["put-rate"], 0)
        self.assertEqual([len(part["tubes"]) for part in answer["servers"]], [1, 1])

    def test_top_has_sum_and_parts(self):
        words = ("top", "--batch", "--count", "1", "-i", "0.1")
        parts = self.ask(*words).split("haricot top: ")[1:]
        self.assertEqual([part.split("\n")[0].split(",")[0] for part in parts],
                         ["sum of 2 servers", self.server.address, self.other.address])
        self.assertEqual([part.split("\njobs: ")[1].split()[0] for part in parts], ["5", "2", "3"])
        answer = json.loads(self.ask(*words, "--json"))
        self.assertEqual(answer["sum"]["server"]["current-jobs-ready"], 5)
        self.assertNotIn("address", answer["sum"])
        self.assertEqual({tube["name"]: tube["current-jobs-ready"]
                          for tube in answer["sum"]["tubes"]},
                         {"a": 1, "b": 3, "c": 1, "default": 0})
        self.assertEqual(answer["sum"]["rates"]["put"], 0)
        self.assertEqual([part["address"] for part in answer["servers"]],
                         [self.server.address, self.other.address])

    def test_top_leaves_out_a_server_that_is_gone(self):
        self.other.stop()
        status, output, error = run(TOOL, "top", "-jn1", "-i0.1", address=self.both)
        self.assertEqual(status, NO_SERVER)
        answer = json.loads(output)
        self.assertEqual([part["address"] for part in answer["servers"]], [self.server.address])
        self.assertEqual(answer["sum"]["server"]["current-jobs-ready"], 2)
        self.assertIn(self.other.address, error)
        self.server.stop()
        self.assertEqual(run(TOOL, "top", "-bn1", address=self.both)[:2], (NO_SERVER, b""))

    def test_a_server_that_is_gone_leaves_the_others(self):
        self.other.stop()
        for words, wanted in ((["ping"], b"1 of 2 servers are good"),
                              (["stats", "-k", "current-jobs-ready"], b"2\n"),
                              (["tubes", "-i", "0"], b"sum of 1 servers:")):
            status, output, error = run(TOOL, *words, address=self.both)
            self.assertEqual(status, NO_SERVER)
            self.assertIn(wanted, output)
            self.assertIn(self.other.address, error)

    def test_a_flag_takes_a_list_as_the_environment_does(self):
        for words in (["tubes", "-a", self.both], ["-a", self.both, "tubes"]):
            status, output, error = run(TOOL, *words)
            self.assertEqual((status, error), (DONE, ""))
            self.assertIn(b"sum of 2 servers:", output)

    def test_other_subcommands_take_one(self):
        for words in (["put", "x"], ["drain"], ["stats", "5"]):
            status, output, error = run(TOOL, *words, address=self.both)
            self.assertEqual((status, output), (USAGE, b""))
        self.assertIn("belongs to one server", error)
        self.assertIn("2 addresses are given, but this subcommand asks one server",
                      run(TOOL, "put", "x", address=self.both)[2])
        self.assertEqual(self.server.stat("total-jobs"), "2")


class Servers(OperatorTest):
    def test_an_address_counts_once(self):
        address = self.server.address
        self.assertEqual(self.good("stats", "-k", "current-jobs-ready", "-a", f"{address},{address}"),
                         "0\n")
        self.assertNotIn("servers are good", self.good("ping", "-a", address, "-a", address))
        self.assertEqual(self.good("put", "x", "-a", f"{address},{address}"), "1\n")

    def test_json_has_one_shape(self):
        self.server.put("x", "mail")
        one = self.good_json("stats")
        self.assertEqual(list(one), ["sum", "servers"])
        self.assertEqual(one["sum"]["current-jobs-ready"], 1)
        self.assertEqual(one["servers"][0]["address"], self.server.address)
        mail = self.good_json("stats", "mail")
        self.assertEqual((mail["sum"]["total-jobs"], mail["servers"][0]["name"]), (1, "mail"))
        tubes = self.good_json("tubes", "-i0")
        self.assertEqual([tube["name"] for tube in tubes["sum"]], ["default", "mail"])
        self.assertEqual(tubes["servers"][0]["address"], self.server.address)
        # Times cannot be added, so the sum has none.
        shown = tubes["servers"][0]["tubes"]
        self.assertEqual([{key: tube[key] for key in summed}
                          for tube, summed in zip(shown, tubes["sum"], strict=True)], tubes["sum"])
        top = json.loads(self.good("top", "-jn1", "-i0.1"))
        self.assertEqual(top["sum"]["server"]["current-jobs-ready"], 1)
        self.assertEqual([part["address"] for part in top["servers"]], [self.server.address])


if __name__ == "__main__":
    unittest.main()
