#!/usr/bin/env python3
"""Tests the resource agent: by Debian's ocf-tester, and in each case in which a cluster relies on its status.

    agent_test.py HARICOTD HARICOT
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from stage import (PATIENCE_S, PROJECT, Client, end_all_others, exists, isolate, skip, stats_of,
                   wait_for)

if len(sys.argv) < 3:
    sys.exit(__doc__)
HARICOTD, HARICOT = map(os.path.abspath, sys.argv[1:3])
PORT = 11300  # In a network namespace.
OCF_ROOT = pathlib.Path("/usr/lib/ocf")

SUCCESS, GENERIC, UNIMPLEMENTED, PERMISSION, INSTALLED, CONFIGURED, NOT_RUNNING = 0, 1, 3, 4, 5, 6, 7


class Agent(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.folder.chmod(0o755)  # ocf-tester calls the agent as another user.
        self.binlog = self.folder / "jobs"
        self.binlog.mkdir()
        self.log = self.folder / "log"
        self.agent = self.folder / "haricotd"
        shutil.copy(PROJECT / "packaging" / "ocf" / "haricotd", self.agent)
        self.agent.chmod(0o755)
        self.pid_file = self.folder / "run" / "haricotd-queue.pid"
        # No process of a test may affect the next one.
        self.addCleanup(end_all_others)

    # Actions of the cluster ------------------------------------------------------------------------

    def environment(self, timeout_s=20, **parameters):
        values = {"binary": HARICOTD, "tool": HARICOT, "binlog": self.binlog, "address": "127.0.0.1",
                  "port": PORT, "log": self.log} | parameters
        return {**os.environ, "OCF_ROOT": str(OCF_ROOT), "OCF_RESOURCE_INSTANCE": "queue",
                "HA_RSCTMP": str(self.folder / "run"), "HA_LOGFILE": str(self.folder / "agent.log"),
                "OCF_RESKEY_CRM_meta_timeout": str(timeout_s * 1000),
                # The server must not inherit the socket of the agent's own service manager.
                "NOTIFY_SOCKET": "/nonexistent/notify",
                **{f"OCF_RESKEY_{name}": str(value) for name, value in values.items()}}

    def begin(self, action, **settings):
        process = subprocess.Popen([self.agent, action], env=self.environment(**settings), text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def run_agent(self, action, **settings):
        process = self.begin(action, **settings)
        self.output, _ = process.communicate(timeout=2 * PATIENCE_S)
        return process.returncode

    def check(self, status, action, **settings):
        self.assertEqual(self.run_agent(action, **settings), status, f"{action}: {self.output}\n{self.log_text()}")

    def log_text(self):
        return self.log.read_text() if self.log.exists() else ""

    def server_pid(self):
        """Returns the process id in the agent's pid file, or 0."""
        try:
            return int(self.pid_file.read_text().split()[0])
        except (OSError, IndexError):
            return 0

    def start(self, **settings):
        self.check(SUCCESS, "start", **settings)
        return self.server_pid()

    def kill_server(self):
        """Kills the server that the agent has started. Returns its process id."""
        pid = self.server_pid()
        os.kill(pid, signal.SIGKILL)
        wait_for("the end of the server", lambda: not exists(pid))
        return pid

    def client(self):
        return Client("127.0.0.1", PORT)

    def wrapper(self, script):
        """Returns a program that replaces haricotd: it runs the script, which may execute haricotd."""
        path = self.folder / "wrapper"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    # Tests -----------------------------------------------------------------------------------------

    def test_ocf_tester_passes(self):
        environment = self.environment()
        words = []
        for name, value in environment.items():
            if name.startswith("OCF_RESKEY_") and "CRM_meta" not in name:
                words += ["-o", f"{name.removeprefix('OCF_RESKEY_')}={value}"]
        result = subprocess.run(["ocf-tester", "-n", "queue", *words, self.agent], text=True, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=4 * PATIENCE_S)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("passed all tests", result.stdout)

    def test_a_start_and_a_stop_keep_the_jobs(self):
        self.check(NOT_RUNNING, "monitor")
        first = self.start(socket=self.folder / "socket", options="-z 100 --log-format=json")
        self.check(SUCCESS, "start", socket=self.folder / "socket")
        self.assertEqual(self.server_pid(), first, "the second start must not start a second server")
        with self.client() as client:
            job = client.put(b"kept")
            self.assertEqual(client.stats()["max-job-size"], "100")
        self.assertTrue((self.folder / "socket").is_socket())
        self.assertIn('"fsync":"0"', self.log_text().replace(" ", ""))
        self.check(SUCCESS, "stop")
        self.assertFalse(exists(first))
        self.check(NOT_RUNNING, "monitor")
        self.check(SUCCESS, "stop")
        self.start()
        with self.client() as client:
            self.assertEqual(client.ask(f"peek {job}"), (["FOUND", str(job), "4"], b"kept"))
        self.assertNotIn("notify", self.log_text())

    def test_start_waits_for_the_replay(self):
        self.start(fsync=50)
        count = 50_000
        with self.client() as client:
            client.socket.sendall(b"put 0 0 60 4\r\nbody\r\n" * count)
            for _ in range(count):
                self.assertEqual(client.answer()[0][0], "INSERTED")
        self.kill_server()
        # The server starts when the test opens the gate.
        gate = self.folder / "gate"
        os.mkfifo(gate)
        slow = self.wrapper(f'read -r _ <"{gate}"; exec "{HARICOTD}" "$@"')
        start = self.begin("start", binary=slow)
        wait_for("the process", lambda: self.server_pid() and exists(self.server_pid()))
        self.check(GENERIC, "monitor", binary=slow, timeout_s=2)
        self.assertIn("does not answer", self.output)
        self.assertIsNone(start.poll(), "the start ended before the server answered")
        gate.write_text("open\n")
        self.assertEqual(start.wait(PATIENCE_S), SUCCESS)
        # Clients may connect as soon as the start has ended.
        self.assertEqual(self.log_text().count("event=ready"), 2, self.log_text())
        self.assertEqual(stats_of("127.0.0.1", PORT, PATIENCE_S)["current-jobs-ready"], str(count))

    def words_of_server(self):
        return pathlib.Path(f"/proc/{self.server_pid()}/cmdline").read_bytes().decode().split("\0")

    def test_the_server_has_a_fence_and_a_fenced_start_is_retried(self):
        tried = self.folder / "tried"
        once = self.wrapper(f'[ -e "{tried}" ] || {{ : >"{tried}"; exit 75; }}; exec "{HARICOTD}" "$@"')
        self.start(binary=once)
        words = self.words_of_server()
        self.assertEqual(words[words.index("--fence-after") + 1], "60")
        self.check(SUCCESS, "stop", binary=once)
        self.start(fence_after=0)
        self.assertNotIn("--fence-after", self.words_of_server())
        self.check(SUCCESS, "stop")
        tried.unlink()
        self.check(GENERIC, "start", binary=once, lock_wait=0)
        self.assertIn("status 75", self.output)

    def test_a_start_after_its_timeout_can_be_stopped(self):
        endless = self.wrapper('while :; do sleep 1; done')
        start = self.begin("start", binary=endless)
        pid = wait_for("the process", self.server_pid)
        start.kill()
        start.wait()
        self.assertTrue(exists(pid))
        self.check(SUCCESS, "stop", binary=endless)
        self.assertFalse(exists(pid))

    def test_stop_waits_for_the_last_sync(self):
        # Each sync takes two seconds. With -D, strace is a child of the server, which keeps its process id.
        slow = self.wrapper(f'exec strace -D -f -o /dev/null -e trace=fsync,fdatasync '
                            f'-e inject=fsync,fdatasync:delay_enter=2000000 "{HARICOTD}" "$@"')
        pid = self.start(binary=slow, fsync=50)
        with self.client() as client:
            job = client.put(b"on its way")
        self.check(SUCCESS, "stop", binary=slow)
        self.assertFalse(exists(pid))
        self.assertIn("event=stopped jobs=1", self.log_text())
        self.start()
        with self.client() as client:
            self.assertEqual(client.ask(f"peek {job}")[1], b"on its way")

    def test_a_server_that_does_not_end_is_killed_before_the_timeout(self):
        deaf = self.wrapper("trap '' TERM; while :; do sleep 0.1; done")
        start = self.begin("start", binary=deaf)
        pid = wait_for("the process", self.server_pid)
        start.kill()
        wait_for("the trap", lambda: int(next(line.split()[1] for line in pathlib.Path(f"/proc/{pid}/status")
                 .read_text().splitlines() if line.startswith("SigIgn")), 16) & 1 << signal.SIGTERM - 1)
        self.check(SUCCESS, "stop", binary=deaf, timeout_s=2)
        self.assertFalse(exists(pid))
        self.assertIn("killing process", (self.folder / "agent.log").read_text())

    def test_a_killed_server_does_not_run(self):
        self.start()
        pid = self.kill_server()
        self.check(NOT_RUNNING, "monitor")
        self.start()
        self.assertNotEqual(self.server_pid(), pid)
        self.check(SUCCESS, "monitor")

    def test_a_hanging_server_has_failed_and_can_be_stopped(self):
        pid = self.start()
        os.kill(pid, signal.SIGSTOP)
        self.check(GENERIC, "monitor", timeout_s=2)
        self.assertIn("does not answer", self.output)
        self.check(SUCCESS, "stop")
        self.assertFalse(exists(pid))
        self.assertIn("event=stopped", self.log_text())

    def test_a_reused_process_id_is_not_the_server(self):
        stranger = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        self.pid_file.parent.mkdir()
        self.pid_file.write_text(f"{stranger.pid} 1\n")
        self.check(NOT_RUNNING, "monitor")
        self.check(SUCCESS, "stop")
        self.assertIsNone(stranger.poll())

    def test_a_server_without_a_pid_file_is_found_by_its_folder(self):
        pid = self.start()
        line = self.pid_file.read_text()
        self.pid_file.unlink()
        self.check(SUCCESS, "monitor")
        self.check(SUCCESS, "start")
        self.check(SUCCESS, "stop")
        self.assertFalse(exists(pid), line)

    def test_another_server_at_the_address_is_not_ours(self):
        other = subprocess.Popen([HARICOTD, "-l", "127.0.0.1", "-p", str(PORT)], stderr=subprocess.DEVNULL)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        wait_for("the other server", lambda: stats_of("127.0.0.1", PORT))
        self.check(NOT_RUNNING, "monitor")
        self.check(GENERIC, "start")
        self.assertIn("status 111", self.output)
        self.check(NOT_RUNNING, "monitor")
        # Our server runs, but the other one answers at its address.
        self.start(port=PORT + 1)
        self.check(GENERIC, "monitor")
        self.assertIn("another server answers", self.output)
        self.check(SUCCESS, "stop")
        self.assertIsNone(other.poll())

    def test_the_folder_of_another_server_is_not_touched(self):
        # Under another path, so that the agent does not take the server for its own.
        other = subprocess.Popen([HARICOTD, "-l", "127.0.0.1", "-p", "0", "-b", f"{self.binlog}/."],
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(other.stderr.close)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        while "event=ready" not in other.stderr.readline():
            self.assertIsNone(other.poll())
        self.check(GENERIC, "start", lock_wait=0)
        self.assertIn("status 10", self.output)
        self.assertIsNone(other.poll())
        # A volume may release the lock of a failed node late: the start waits for it.
        tried = self.log_text().count("another server uses the folder")
        start = self.begin("start", lock_wait=2 * PATIENCE_S)
        wait_for("attempts", lambda: self.log_text().count("another server uses the folder") > tried + 1)
        self.assertIsNone(start.poll())
        other.kill()
        self.assertEqual(start.wait(PATIENCE_S), SUCCESS)
        self.check(SUCCESS, "monitor")

    def test_monitor_changes_nothing_and_accepts_drain_mode(self):
        self.start(options="--allow-drain")
        with self.client() as client:
            client.put(b"waits")
            self.assertEqual(client.ask("drain")[0], ["DRAINING"])
            before = client.stats()
            for _ in range(3):
                self.check(SUCCESS, "monitor")
            after = client.stats()
        moving = ("uptime", "rusage-utime", "rusage-stime", "cmd-stats", "total-connections",
                  # The server may not have noticed yet that the monitor has closed its connection.
                  "current-connections")
        for key, value in before.items():
            if key not in moving:
                self.assertEqual(after[key], value, key)
        remarks = (self.folder / "agent.log").read_text().count("drain mode")
        self.assertEqual(remarks, 1, "logged once, not by each monitor")

    def test_a_server_that_refuses_changes_has_failed(self):
        self.start()
        self.binlog.rename(self.folder / "elsewhere")
        with self.client() as client:
            wait_for("a refusal", lambda: client.ask("put 0 0 60 1", b"x")[0][0] == "INTERNAL_ERROR")
        self.check(GENERIC, "monitor", timeout_s=10)
        self.assertIn("refuses changes", self.output)
        self.check(SUCCESS, "monitor", refusing_fails=0)
        (self.folder / "elsewhere").rename(self.binlog)
        self.check(SUCCESS, "monitor", timeout_s=2 * PATIENCE_S)

    def delay_syncs(self, pid):
        """Delays each sync of the server for longer than a test."""
        tracer = subprocess.Popen(["strace", "-f", "-p", str(pid), "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
                                   "-e", f"inject=fsync,fdatasync:delay_enter={10 * PATIENCE_S}s"],
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(tracer.wait)
        self.addCleanup(tracer.kill)
        wait_for("the tracer", lambda: not any("TracerPid:\t0\n" in (task / "status").read_text()
                 for task in pathlib.Path(f"/proc/{pid}/task").iterdir()))

    def test_a_server_whose_syncs_hang_has_failed(self):
        self.delay_syncs(self.start(fence_after=0))
        with self.client() as waiting, self.client() as client:
            waiting.socket.sendall(b"put 0 0 60 4\r\nwait\r\n")
            wait_for("a change that waits", lambda: int(client.stats()["binlog-sync-lag"]) > 1000)
            self.check(SUCCESS, "monitor")
            self.check(SUCCESS, "monitor", sync_lag_max=0)
            self.check(GENERIC, "monitor", sync_lag_max=1, timeout_s=4)
            self.assertIn("waiting", self.output)
            # The interval of -f does not count as a hang.
            self.check(SUCCESS, "monitor", sync_lag_max=1, fsync=10_000 * PATIENCE_S)

    def test_wrong_parameters(self):
        for wrong in ({"port": "http"}, {"port": 0}, {"port": 65536}, {"fsync": "never"}, {"binlog": "jobs"},
                      {"socket": "socket"}, {"mountpoint": "mnt"}, {"lock_wait": "long"}, {"fence_after": "1s"},
                      {"sync_lag_max": "-1"}):
            with self.subTest(wrong):
                self.check(CONFIGURED, "validate-all", **wrong)
                self.check(CONFIGURED, "start", **wrong)
                self.check(NOT_RUNNING, "monitor", **wrong)
                self.check(SUCCESS, "stop", **wrong)
        for wrong in ({"binary": "/nonexistent/haricotd"}, {"tool": "/nonexistent/haricot"},
                      {"user": "nobody-of-this-name"}):
            with self.subTest(wrong):
                self.check(INSTALLED, "validate-all", **wrong)
                self.check(INSTALLED, "start", **wrong)
                self.check(NOT_RUNNING, "monitor", **wrong)
                self.check(SUCCESS, "stop", **wrong)
        self.check(CONFIGURED, "start", options="--nonsense")
        self.assertIn("unknown flag: --nonsense", self.output)
        self.check(INSTALLED, "start", binlog=self.folder / "no-folder")
        self.check(GENERIC, "start", mountpoint=self.folder)
        self.assertIn("nothing is mounted", self.output)
        self.check(PERMISSION, "start", log=self.folder / "no-folder" / "log")
        self.check(SUCCESS, "validate-all")
        self.check(NOT_RUNNING, "monitor")
        self.check(UNIMPLEMENTED, "promote")


if __name__ == "__main__":
    isolate("ocf-tester", "strace", "xmllint")
    if not (OCF_ROOT / "lib" / "heartbeat" / "ocf-shellfuncs").exists():
        skip("Debian's resource-agents is missing")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
