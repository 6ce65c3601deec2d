#!/usr/bin/env python3
"""Tests the read-only subcommands as black boxes, against any beanstalk server.

    look_test.py HARICOT SERVER [FLAG...]
"""

import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import BINARY, FLAGS, OperatorTest, TOOL, output_on_terminal
from operator_server import DONE, NO, NO_SERVER, REFUSED, USAGE, Server, run, wait_until


def version_of_haricotd():
    """Returns the version in the parentheses of `haricotd -v`."""
    printed = subprocess.run([BINARY, "-v"], capture_output=True, check=True, timeout=20).stdout
    return printed.decode().split("(haricot ")[1].rstrip(")\n")


class Ping(OperatorTest):
    def test_it_names_address_and_version(self):
        output = self.good("ping")
        version = self.server.stat("version")
        kind = pathlib.Path(self.server.binary).name
        words = f"beanstalkd {version}"
        if kind == "haricotd":
            words = f"haricotd {version_of_haricotd()}, as {words}"
        self.assertTrue(output.startswith(f"{self.server.address} answers: {words}, up "), output)
        answer = self.good_json("ping")
        self.assertEqual(answer["address"], self.server.address)
        self.assertEqual(answer["version"], version)
        self.assertEqual(answer["server"], kind)
        self.assertEqual(answer.get("haricot-version"),
                         version_of_haricotd() if kind == "haricotd" else None)
        self.assertIs(answer["draining"], False)
        self.assertGreater(answer["milliseconds"], 0)

    def test_quiet_prints_nothing(self):
        self.assertEqual(self.good("ping", "-q"), "")

    def test_an_operand_and_a_flag_win_over_the_environment(self):
        for words in (["ping", self.server.address], ["ping", "-a", self.server.address]):
            status, output, _ = run(TOOL, *words, address="unix:/nowhere")
            self.assertEqual(status, DONE, output)

    def test_flags_can_stand_before_the_subcommand(self):
        for words in (["-a", self.server.address, "ping"], ["--address=" + self.server.address,
                                                            "-T", "5s", "ping", "-q"]):
            status, output, error = run(TOOL, *words, address="unix:/nowhere")
            self.assertEqual((status, error), (DONE, ""), output)
        answer = json.loads(run(TOOL, "-ja", self.server.address, "ping")[1])
        self.assertEqual(answer["address"], self.server.address)
        self.server.put("x", "mail")
        self.assertEqual(run(TOOL, "-a", self.server.address, "stats", "mail", "-k", "name")[1],
                         b"mail\n")

    def test_drain_mode_is_reported(self):
        self.server.process.send_signal(10)
        wait_until(lambda: self.server.stat("draining") == "true")
        self.assertIn("in drain mode", self.good("ping"))

    def test_writable_is_no_in_drain_mode(self):
        self.assertIn(" answers: ", self.good("ping", "--writable"))
        self.assertIs(self.good_json("ping", "-W")["writable"], True)
        self.assertNotIn("writable", self.good_json("ping"))
        self.server.process.send_signal(10)
        wait_until(lambda: self.server.stat("draining") == "true")
        complaint = f"{self.server.address} accepts no new jobs: it is in drain mode"
        self.assertIn(" answers: ", self.refused(NO, complaint, "ping", "--writable"))
        self.assertEqual(self.refused(NO, complaint, "ping", "--writable", "--quiet"), "")
        self.assertEqual(self.refused(NO, complaint, "ping", "-Wq", "--wait", "0.3"), "")
        answer = json.loads(self.refused(NO, complaint, "ping", "--writable", "--json"))
        self.assertIs(answer["writable"], False)
        self.assertEqual(answer["reason"], "it is in drain mode")
        self.good("ping")

    def test_it_can_wait_for_a_server_that_starts(self):
        self.server.stop()
        if os.path.exists(self.server.path):
            os.unlink(self.server.path)
        self.assertEqual(self.haricot("ping", "--wait", "0.3")[0], NO_SERVER)
        tool = subprocess.Popen([TOOL, "ping", "--wait", "20", "-a", self.server.address],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.server.start()
        self.assertEqual(tool.wait(20), DONE)


class Stats(OperatorTest):
    def test_they_are_those_of_the_server_without_quotes(self):
        lines = dict(line.split(": ", 1) for line in self.good("stats").splitlines())
        self.assertEqual(lines["version"], self.server.stat("version"))
        self.assertEqual(lines["max-job-size"], "65535")
        self.assertEqual(lines["hostname"], self.server.stat("hostname"))

    def test_a_command_reports_when_its_server_is_foreign(self):
        kind = pathlib.Path(self.server.binary).name
        self.assertEqual(self.good("stats").splitlines()[-1], f"server: {kind}")
        self.assertEqual(self.good("stats", "-k", "server"), f"{kind}\n")
        (server,) = self.good_json("stats")["servers"]
        self.assertEqual(list(server.items())[-1], ("server", kind))
        (server,) = self.good_json("stats", "default")["servers"]
        self.assertNotIn("server", server)

    def test_json_has_numbers_where_there_are_numbers(self):
        (stats,) = self.good_json("stats")["servers"]
        self.assertEqual(stats["max-job-size"], 65535)
        self.assertIsInstance(stats["version"], str)
        self.assertIsInstance(stats["id"], str)
        self.assertIsInstance(stats["rusage-utime"], float)
        self.assertIs(stats["draining"], False)

    def test_digits_are_a_job_and_anything_else_a_tube(self):
        job = self.server.put("hello", "mail", priority=7)
        self.assertEqual(self.good_json("stats", job)["pri"], 7)
        self.assertEqual(self.good_json("stats", job)["id"], job)
        self.assertEqual(self.good_json("stats", "mail")["sum"]["current-jobs-ready"], 1)

    def test_flags_are_for_names_made_of_digits(self):
        self.server.put("x", "77")
        self.assertEqual(self.good_json("stats", "--tube", "77")["servers"][0]["name"], "77")
        self.assertEqual(self.good_json("stats", "--job", "1")["tube"], "77")

    def test_one_key_alone(self):
        self.server.put("x", "mail")
        self.assertEqual(self.good("stats", "mail", "-k", "current-jobs-ready"), "1\n")
        self.assertEqual(self.good_json("stats", "-k", "version")["servers"][0]["version"],
                         self.server.stat("version"))
        self.refused(NO, "there is no brew", "stats", "-k", "brew")

    def test_missing_things_are_reported(self):
        self.refused(NO, "there is no tube mail", "stats", "mail")
        self.refused(NO, "there is no job 5", "stats", "5")
        self.refused(USAGE, "neither a tube name nor a job id", "stats", "no name")
        self.refused(USAGE, "more than one", "stats", "a", "--job", "1")


class Jobs(OperatorTest):
    def setUp(self):
        super().setUp()
        if not self.has("scan-jobs"):
            self.server.put("x")
            complaint = "does not know scan-jobs: it is beanstalkd " + self.server.stat("version")
            self.assertEqual(self.refused(REFUSED, complaint, "jobs"), "")
            self.refused(REFUSED, "does not know list-jobs", "jobs", "default", "--next")
            self.skipTest("the server cannot list jobs")

    def rows(self, *words):
        """Returns the table as a list of jobs, each a map from title to value."""
        titles, *rows = [line.split() for line in self.good("jobs", *words).splitlines()]
        return [dict(zip(titles, row)) for row in rows]

    def ids(self, *words):
        return [int(row["id"]) for row in self.rows(*words)]

    def fill(self):
        self.server.put("one", "mail", priority=7, ttr=9)
        self.server.put("two two", "mail", priority=5)
        self.server.put("three", "mail", delay=100)
        self.server.put("two", "news")
        self.server.ask("watch news", "ignore default", "reserve", "bury 4 6")

    def test_the_table_has_a_line_for_each_job(self):
        self.fill()
        rows = self.rows()
        self.assertEqual([row["id"] for row in rows], ["1", "2", "3", "4"])
        self.assertEqual([row["state"] for row in rows], ["ready", "ready", "delayed", "buried"])
        self.assertEqual([row["tube"] for row in rows], ["mail", "mail", "mail", "news"])
        self.assertEqual([row["pri"] for row in rows], ["7", "5", "1024", "6"])
        self.assertEqual([row["bytes"] for row in rows], ["3", "7", "5", "3"])
        self.assertEqual([row["reserves"] for row in rows], ["0", "0", "0", "1"])
        self.assertEqual(rows[0]["ttr"], "9")
        self.assertGreater(int(rows[2]["left"]), 50)

    def test_it_can_be_asked_for_some(self):
        self.fill()
        self.server.put("x", "77")
        self.assertEqual(self.ids("mail"), [1, 2, 3])
        self.assertEqual(self.ids("--tube", "77"), [5])
        self.assertEqual(self.ids("77"), [5])
        self.assertEqual(self.ids("mail", "-s", "ready"), [1, 2])
        self.assertEqual(self.ids("--state", "buried"), [4])
        self.assertEqual(self.ids("--from", "3"), [3, 4, 5])
        self.assertEqual(self.ids("-n", "2"), [1, 2])
        self.assertEqual(self.ids("-s", "delayed", "-n", "1"), [3])
        self.assertEqual(self.ids("--match", "two"), [2, 4])
        self.assertEqual(self.ids("mail", "--match", "two", "--state", "ready"), [2])
        self.assertEqual(self.ids("--match", "two", "-n", "1"), [2])

    def test_the_next_ones_are_in_the_order_of_service(self):
        self.fill()
        self.assertEqual(self.ids("mail", "--next"), [2, 1])
        self.assertEqual(self.ids("mail", "-N", "-n", "1"), [2])
        self.assertEqual(self.ids("mail", "-N", "--state", "delayed"), [3])
        self.assertEqual(self.ids("mail", "-N", "--match", "one"), [1])

    def test_very_many_jobs_are_several_pages(self):
        lines = "".join(f"job {i}\n" for i in range(2500))
        self.good("put", "-ql", stdin=lines.encode())
        self.good("delete", "-q", *range(100, 1300))
        ids = [*range(1, 100), *range(1300, 2501)]
        self.assertEqual(self.ids(), ids)
        self.assertEqual(self.ids("-n", "1100"), ids[:1100])
        self.assertEqual(self.ids("--match", "job 1999"), [2000])

    def test_json_has_an_object_a_line(self):
        self.fill()
        jobs = [json.loads(line) for line in self.good("jobs", "--json").splitlines()]
        self.assertEqual([(job["id"], job["tube"], job["state"]) for job in jobs],
                         [(1, "mail", "ready"), (2, "mail", "ready"), (3, "mail", "delayed"),
                          (4, "news", "buried")])
        self.assertEqual(jobs[1]["bytes"], 7)

    def test_missing_things_are_reported(self):
        self.fill()
        self.refused(NO, "there is no such job in tube nothing\n", "jobs", "nothing")
        self.refused(NO, "there is no such job in tube buried; for a state use --state\n",
                     "jobs", "buried")
        self.refused(NO, "there is no such job", "jobs", "--match", "four")
        self.refused(NO, "there is no tube nothing", "jobs", "nothing", "--next")
        self.refused(USAGE, "--next requires a tube", "jobs", "--next")
        self.refused(USAGE, "have no order", "jobs", "mail", "--next", "-s", "reserved")
        self.refused(USAGE, "is not ready, reserved", "jobs", "--state", "done")
        self.refused(USAGE, "more than one tube", "jobs", "mail", "news")
        self.refused(USAGE, "is not a tube name", "jobs", "no name")


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


class Completion(OperatorTest):
    def test_tubes_of_the_server_are_offered(self):
        script = pathlib.Path(__file__).parents[2] / "packaging/bash-completion/haricot"
        self.server.put("x", "mail")
        self.server.put("x", "mars")
        command = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; ' \
                  'COMP_POINT=${#COMP_LINE}; _haricot; echo "${COMPREPLY[@]}"'
        for words in (["stats", "ma"], ["kick", "--tube", "ma"], ["kick", "ma"], ["pause", "ma"]):
            ended = subprocess.run(["bash", "-c", command, script, TOOL, *words], check=True,
                                   capture_output=True, text=True, timeout=60,
                                   env={**os.environ, "HARICOT_ADDR": self.server.address})
            self.assertEqual((ended.stdout, ended.stderr), ("mail mars\n", ""))


class Peek(OperatorTest):
    def test_the_body_is_written_as_it_is(self):
        job = self.server.put("a\x00\xff\r\n\x1b[2Jb")
        self.assertEqual(self.haricot("peek", job)[:2], (DONE, b"a\x00\xff\r\n\x1b[2Jb"))

    def test_a_terminal_gets_no_control_characters(self):
        job = self.server.put("a\x1b[2Jb\xff\nc")
        self.assertEqual(output_on_terminal("peek", job, address=self.server.address),
                         b"a\\x1b[2Jb\\xff\r\nc\r\n")
        self.assertEqual(
            output_on_terminal("peek", job, "--raw", address=self.server.address),
            b"a\x1b[2Jb\xff\r\nc")

    def test_a_terminal_gets_nothing_that_turns_the_text_round(self):
        job = self.server.put("invoice\xe2\x80\xaefdp.exe")
        shown = output_on_terminal("peek", job, address=self.server.address)
        self.assertEqual(shown, rb"invoice\xe2\x80\xaefdp.exe" + b"\r\n")
        shown = output_on_terminal("peek", "--json", job, address=self.server.address)
        self.assertIn(rb'"body":"invoice\u202efdp.exe"', shown)

    def test_each_state_of_a_tube_can_be_listed(self):
        self.server.put("buried", "mail", priority=1)
        self.server.ask("watch mail", "ignore default", "reserve", "bury 1 5")
        self.server.put("ready", "mail")
        self.server.put("delayed", "mail", delay=100)
        for state in ("ready", "delayed", "buried"):
            self.assertEqual(self.good("peek", f"--{state}", "-t", "mail"), state)
        self.assertEqual(self.good("peek", "--buried", "-t", "mail", "--id"), "1\n")

    def test_json_has_the_job_and_its_body(self):
        job = self.server.put('say "h\xc3\xa9llo"\n', "mail", priority=3)
        answer = self.good_json("peek", job)
        self.assertEqual(answer["body"], 'say "héllo"\n')
        self.assertEqual((answer["id"], answer["tube"], answer["pri"]), (job, "mail", 3))
        self.assertEqual(answer["bytes"], 13)
        odd = self.server.put("\xff\x00")
        self.assertEqual(base64.b64decode(self.good_json("peek", odd)["body_base64"]), b"\xff\x00")

    def test_missing_things_are_reported(self):
        self.refused(NO, "there is no job 5", "peek", "5")
        self.refused(NO, "there is no delayed job in tube default", "peek", "--delayed")
        self.refused(NO, "there is no tube mail", "peek", "--ready", "--tube", "mail")
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)
        self.refused(USAGE, "one id, or one of", "peek")
        self.refused(USAGE, "one id, or one of", "peek", "x")


if __name__ == "__main__":
    unittest.main()
