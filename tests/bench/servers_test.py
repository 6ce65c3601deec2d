#!/usr/bin/env python3
"""Tests of the parts of scripts/bench with real servers.

    servers_test.py ROOT HARICOT HARICOTD FLOOR_SERVER
"""

import argparse
import contextlib
import dataclasses
import io
import math
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
ROOT, TOOL, HARICOTD, FLOOR = (pathlib.Path(word) for word in sys.argv[1:5])
del sys.argv[1:5]
sys.path.insert(0, str(ROOT / "bench"))

import handovers
import loads
import measure
import memory
import restarts
import rows
import space
import stalls
from servers import Refused, Server, ports

FEW = ("--count=300", "--warm-up=0")


class Servers(unittest.TestCase):
    def test_a_load_reports_the_cost_of_its_server(self):
        for binary, *flags in ((HARICOTD,), (FLOOR,), (FLOOR, "-s", "50")):
            with Server(binary, *flags) as server:
                result = loads.run(TOOL, server, *FEW)
                self.assertEqual(result["commands"], 900)
                self.assertGreater(result["server"]["cpu_us_per_command"], 0)
                self.assertGreater(server.resident(), 100_000)

    def test_a_failed_start_reports_the_reason(self):
        with self.assertRaises(Refused) as refused:
            Server(HARICOTD, "--no-such-flag")
        self.assertIn("--no-such-flag", str(refused.exception))

    def test_a_used_port_is_replaced(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            choices = [other.getsockname()[1], ports.choose_port()]
            with mock.patch.object(ports, "choose_port", side_effect=choices):
                with Server(HARICOTD) as server:
                    self.assertEqual(server.port, choices[1])

    def test_a_failed_load_reports_the_reason(self):
        with Server(HARICOTD, "-z", "50") as server, self.assertRaises(loads.Failed) as failed:
            loads.run(TOOL, server, *FEW)
        self.assertIn("JOB_TOO_BIG", str(failed.exception))

    def test_every_large_action_runs_while_it_is_watched(self):
        actions = stalls.Actions(TOOL, 0.001)
        for action in (actions.kick, actions.close_holder, actions.delays_end):
            with self.subTest(action.__name__), Server(HARICOTD) as server:
                steps = action(server)
                next(steps)
                client = stalls.Client(server)
                before = client.run(b"stats\r\n", 50)
                for _ in steps:
                    pass
                after = client.run(b"stats\r\n", 50)
                client.close()
                self.assertNotEqual(states(before), states(after))

    def test_the_tool_accepts_the_flags_of_every_load(self):
        with Server(HARICOTD) as server:
            for scenario in (*rows.SCENARIOS, *rows.BINLOG_SCENARIOS):
                with self.subTest(scenario.key), mock.patch.object(subprocess, "Popen") as started:
                    loads.Load(TOOL, server, *scenario.flags, "--warm-up=2k", "--keep",
                               "--seconds=0.400")
                    words = started.call_args.args[0]
                # With --help the tool reads all flags and runs nothing.
                ended = subprocess.run([*words, "--help"], capture_output=True, text=True,
                                       timeout=60, check=False)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertTrue(ended.stdout.startswith("Use: haricot bench "), ended.stdout)

    def test_a_round_has_all_figures_of_each_server(self):
        options = argparse.Namespace(build=TOOL.parent, quick=True, folder=None)
        measurement = measure.Measurement(options)
        measurement.tool, measurement.rounds, measurement.seconds = TOOL, 1, 0.1
        measurement.binaries |= {rows.HARICOT: HARICOTD, rows.FLOOR: FLOOR}
        servers = (rows.HARICOT, rows.FLOOR)
        few = [dataclasses.replace(scenario, servers=servers) for scenario in rows.SCENARIOS[:1]]
        with contextlib.redirect_stderr(io.StringIO()):
            measurement.compare(few)
        self.assertEqual(measurement.failures, [])
        for name in servers:
            for metric, value in measurement.medians()[("one", name)].items():
                self.assertGreaterEqual(value, 0, metric)
            self.assertGreater(measurement.medians()[("one", name)][rows.RATE], 0)

    def test_memory_and_restarts_are_measured(self):
        self.assertGreater(memory.bytes_a_job(TOOL, HARICOTD, 20_000), 100)
        self.assertTrue(math.isfinite(memory.bytes_an_idle_connection(TOOL, HARICOTD, 20)))
        resident, _ = memory.left_over(TOOL, HARICOTD, 500)
        self.assertGreater(resident, 100_000)
        with tempfile.TemporaryDirectory() as folder:
            restarts.fill(TOOL, HARICOTD, folder, 300)
            self.assertGreater(restarts.seconds_to_answer(HARICOTD, folder), 0)
            with Server(HARICOTD, "-b", folder, "-F") as server:
                client = stalls.Client(server)
                self.assertIn(b"current-jobs-ready: 300\n", client.run(b"stats\r\n", 50))
                client.close()

    def test_a_restart_with_clients_attached_is_measured(self):
        longest, faults = handovers.restart_under_load(HARICOTD, (30, 5, 5, 4, 2, 20), 2)
        self.assertEqual(faults, [])
        self.assertGreater(longest, 0)
        for flags in ((), ("-b", self.enterContext(tempfile.TemporaryDirectory()))):
            longest, ratio, faults = handovers.restart_with_jobs(HARICOTD, 3000, *flags)
            self.assertEqual(faults, [])
            self.assertGreater(ratio, 0.1)  # The memory of so few jobs is small compared with that of a process.
        self.assertGreater(handovers.idle_restart_seconds(), 0)

    def test_a_restart_that_loses_clients_or_jobs_is_reported(self):
        with handovers.Kept(HARICOTD) as server:
            crowd = handovers.Crowd(server, 10, 2, 2, 2, 2, 9)
            cycles = handovers.Cycles(server, 2)
            server.process.kill()
            server.process.wait()
            server.start()
            _, _, faults = cycles.end()
            self.assertGreater(len(faults), 1)
            self.assertGreater(len(crowd.check()), 5)
            crowd.close()

    def test_the_storing_floor_returns_the_stored_bodies(self):
        with Server(FLOOR, "-s", "5") as server:
            client = stalls.Client(server)
            bodies = [bytes([ord("a") + i]) * size for i, size in enumerate((100_000, 600_000, 4, 7))]
            client.run(b"".join(stalls.put(body=body) for body in bodies), 4)
            for body in bodies[:2] + bodies[3:]:  # The third body is too small to be stored.
                client.socket.sendall(b"reserve\r\n")
                expected = b"RESERVED 1234567 %d\r\n%s\r\n" % (len(body), body)
                answer = b""
                while len(answer) < len(expected):
                    answer += client.socket.recv(1 << 20)
                self.assertTrue(answer == expected, answer[:30])
                client.run(b"delete 1\r\n", 1)
            client.close()

    def test_space_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            with space.Load(HARICOTD, folder) as load:
                load.put_and_delete(1000, 100)
                self.assertEqual(load.next_id, 1001)
                self.assertIn(b"current-jobs-ready: 10\n", load.client.run(b"stats\r\n", 50))
        with tempfile.TemporaryDirectory() as folder, space.Load(HARICOTD, folder) as load:
            load.put(500)
            load.release_again(500, 2)
            self.assertIn(b"current-jobs-delayed: 500\n", load.client.run(b"stats\r\n", 50))
            written, migrated = space.numbers(load.client)
            # The put, two releases, and the reserve of the delayed job.
            self.assertEqual((written, migrated), (2000, 0))
            self.assertEqual(load.largest, space.folder_bytes(folder))

    def test_a_file_may_disappear_while_the_folder_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "binlog.1").write_bytes(b"12345")
            pathlib.Path(folder, "binlog.2").symlink_to("is not there")
            pathlib.Path(folder, "binlog.3.tmp").write_bytes(b"123")
            self.assertEqual(space.folder_bytes(folder), 5)

    def test_stalls_are_watched_again_while_processors_are_stolen(self):
        stolen = stalls.Seen(9, 99, 0.3, 5000)
        starved = stalls.Seen(0, 0, 0, 0)
        good = stalls.Seen(1, 2, 0, 5000)
        for tries, wanted in (([stolen, starved, good], good), ([starved, stolen, starved], stolen)):
            with mock.patch.object(stalls, "watch", side_effect=tries):
                self.assertEqual(stalls.watch_undisturbed(TOOL, HARICOTD, None, math.inf), wanted)
        with mock.patch.object(stalls, "watch", side_effect=[starved, stolen, good]):
            self.assertEqual(stalls.watch_undisturbed(TOOL, HARICOTD, None, 0), stolen)
        with mock.patch.object(stalls, "watch", return_value=starved):
            self.assertRaises(loads.Failed, stalls.watch_undisturbed, TOOL, HARICOTD, None, 0)

    def test_the_waits_during_an_action_are_those_of_the_small_client(self):
        seen = stalls.watch(TOOL, HARICOTD, stalls.Actions(TOOL, 0.001).kick)
        self.assertGreater(seen.commands, 0)
        self.assertGreater(seen.max_ms, 0)


def states(report):
    """Returns the lines of the report with the numbers of jobs by state."""
    return [line for line in report.decode().splitlines() if line.startswith("current-jobs-")]


if __name__ == "__main__":
    unittest.main()
