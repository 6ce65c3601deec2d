#!/usr/bin/env python3
"""Tests the messages of subcommands if no server answers, or a program that is not a beanstalk server.

    bad_server_test.py HARICOT
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_server import (DONE, LOCAL, NO, NO_SERVER, REFUSED, USAGE, Dripping, Fixed, Scripted,
                             run)

TOOL = sys.argv[1]
del sys.argv[1:]


class Trouble(unittest.TestCase):
    """Tests programs that are not beanstalk servers, and servers that misbehave."""

    def refused(self, wanted, complaint, *words, **more):
        status, output, error = run(TOOL, *words, **more)
        self.assertEqual((status, output), (wanted, b""), error)
        self.assertIn(complaint, error)

    def test_no_server_listens(self):
        with socket.socket() as reserved:
            reserved.bind(("127.0.0.1", 0))  # Reserves the port.
            address = f"127.0.0.1:{reserved.getsockname()[1]}"
            for words in (["ping"], ["stats"], ["tubes"], ["top"], ["put", "x"], ["drain"]):
                self.refused(NO_SERVER, f"cannot connect to {address}: Connection refused", *words,
                             address=address)
        self.refused(NO_SERVER, "cannot connect to unix:/nowhere", "ping", "unix:/nowhere")

    def test_nothing_is_no_address(self):
        """An empty address is refused, because it cannot mean the server at 127.0.0.1:11300."""
        for words in (["ping", ""], ["ping", "-a", ""], ["-a", "", "stats"], ["top", "-a", ""],
                      ["ping", "-a", "unix:/nowhere,"], ["bench", ""], ["bench", "-a", ""],
                      ["put", "x", "--address="]):
            self.refused(USAGE, "empty address", *words, address="unix:/nowhere")
        for words in (["ping"], ["flush", "mail", "-y"], ["work", "true"], ["top"]):
            self.refused(USAGE, "HARICOT_ADDR: empty address", *words,
                         environment={"HARICOT_ADDR": ""})

    def test_bench_requires_the_name_of_a_server(self):
        with Fixed(b"") as server:
            self.refused(USAGE, "requires the address of the server", "bench", "-n", "1", address=server.address)
        self.refused(USAGE, "requires the address of the server", "bench")
        self.refused(NO_SERVER, "cannot connect to unix:/nowhere", "bench", "unix:/nowhere")

    def test_bench_reports_a_low_ulimit_before_it_starts(self):
        with Fixed(b"") as server:
            for words in (["-c", "300"], ["--waiting", "300"], ["--idle-connections", "300"]):
                script = 'ulimit -n 200; exec "$@"'
                ended = subprocess.run(["bash", "-c", script, "bash", TOOL, "bench", server.address,
                                        *words], capture_output=True, text=True, timeout=60,
                                       check=False)
                self.assertEqual((ended.returncode, ended.stdout), (LOCAL, ""))
                self.assertRegex(ended.stderr, r"3\d\d descriptors are needed, but ulimit -n allows 200")

    def test_invalid_addresses(self):
        for address in ("127.0.0.1:86446", ":65536", "[::1]:4294978596", "localhost:-1", ":80x",
                        "127.0.0.1:", "unix:"):
            for words in (["ping"], ["ping", address], ["put", "x", "-a", address], ["top"],
                          ["bench", address]):
                self.refused(USAGE, "", *words, address=address)
        self.refused(USAGE, "the port in 127.0.0.1:86446 must be a number up to 65535 or a service name",
                     "ping", address="127.0.0.1:86446")

    def test_the_messages_of_a_server_in_drain_mode(self):
        keys = {"draining": "false"}

        def answer(line):
            body = "---\n" + "".join(f"{key}: {value}\n" for key, value in stats.items())
            return f"OK {len(body)}\r\n{body}\r\n".encode()

        refusals = {
            "binlog-no-space": "the disk of its binlog is full",
            "binlog-refusing": "the disk of its binlog fails",
            "memory-full": "it has reached --memory-max",
        }
        for value in (0, 1):
            for key, reason in refusals.items():
                stats = keys | dict.fromkeys(refusals, 0) | {key: value}
                with Scripted(answer) as server:
                    status, output, error = run(TOOL, "ping", "-W", address=server.address)
                self.assertIn(b" answers: ", output)
                if value == 0:
                    self.assertEqual((status, error), (DONE, ""))
                else:
                    self.assertEqual(status, NO)
                    self.assertEqual(
                        error, f"haricot ping: {server.address} accepts no new jobs: {reason}\n")

    def test_another_kind_of_server(self):
        with Fixed(b"SSH-2.0-OpenSSH_9.2\r\n") as server:
            self.refused(NO_SERVER, f"{server.address} is not a beanstalk server; it sent: SSH-2.0",
                         "ping", server.address)
        with Fixed(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
            self.refused(NO_SERVER, "it sent: HTTP/1.1 400 Bad Request", "stats",
                         address=server.address)
        with Fixed(b"\x1b]0;owned\x07\n") as server:
            self.refused(NO_SERVER, "it sent: \\x1b]0;owned\\x07", "tubes", address=server.address)
        with Fixed(b"J\x00\x00\x00\x0a5.7") as server:
            self.refused(NO_SERVER, "it sent: J\\x00\\x00\\x00", "ping", "-T2",
                         address=server.address)

    def test_a_server_that_stays_silent(self):
        with Fixed(b"") as server:
            begin = time.monotonic()
            self.refused(NO_SERVER, "the server sent nothing in time", "ping", "--timeout", "0.3",
                         address=server.address)
            self.assertGreaterEqual(time.monotonic() - begin, 0.29)

    def test_a_server_that_drips_is_late(self):
        # The server sends bytes more often than that, and would need a minute for the answer.
        stats = b"---\n" + b"".join(b"key-%d: 1\n" % i for i in range(50))
        with Dripping(b"OK %d\r\n%s\r\n" % (len(stats), stats)) as server:
            for words in (["ping"], ["stats"], ["top", "-bn1"]):
                # The timeout ends in the line of the answer, and after it.
                for seconds in ("1", "2"):
                    self.refused(NO_SERVER, "the server stopped in the middle of the answer", *words, "-T", seconds,
                                 address=server.address)

    def test_a_host_with_several_addresses_is_tried_whole(self):
        # Replaces /etc/hosts in a mount namespace.
        script = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'
        with Fixed(b"OK 9\r\n---\na: 1\n\r\n") as server, \
                tempfile.NamedTemporaryFile("w") as hosts:
            hosts.write("::1 both\n127.0.0.1 both\n")
            hosts.flush()
            os.chmod(hosts.name, 0o644)
            begin = ["unshare", "-rm", "sh", "-c", script, "sh", hosts.name]
            if subprocess.run([*begin, "true"], capture_output=True, check=False).returncode != 0:
                self.skipTest("there are no mount namespaces for us")
            port = server.address.split(":")[1]
            ended = subprocess.run([*begin, TOOL, "stats", "-k", "a", "-a", f"both:{port}"],
                                   capture_output=True, timeout=60, check=False)
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (DONE, b"1\n", b""))

    def test_an_old_server_that_lacks_a_command(self):

        def answer(line):
            return b"OK 17\r\n---\nversion: 1.4\n\r\n" if line == "stats" else b"UNKNOWN_COMMAND\r\n"

        with Scripted(answer) as server:
            for words, command in ((["kick", "5"], "kick-job"), (["bury", "5"], "reserve-job"),
                                   (["release", "5"], "reserve-job"),
                                   (["pause", "mail", "5"], "pause-tube")):
                status, _, error = run(TOOL, *words, address=server.address)
                self.assertEqual(status, REFUSED)
                self.assertIn(f"does not know {command}: it is beanstalkd 1.4", error)

    def test_a_server_that_knows_no_command_is_named_once(self):
        with Scripted(lambda line: b"UNKNOWN_COMMAND\r\n") as server:
            for words, command in ((["stats"], "stats"), (["ping"], "stats"), (["tubes"], "stats"),
                                   (["kick", "5"], "kick-job")):
                status, _, error = run(TOOL, *words, address=server.address)
                self.assertEqual((status, error), (REFUSED, f"haricot {words[0]}: the server at {server.address} "
                                                            f"does not know {command}\n"))

    def test_no_answer_of_a_server_controls_the_terminal(self):
        stats = b"---\nhostname: \x1b[2J\nversion: \"\x9b1\"\n"
        with Scripted(lambda line: b"OK %d\r\n%s\r\n" % (len(stats), stats)) as server:
            for words in (["stats"], ["ping"], ["stats", "--json"]):
                status, output, error = run(TOOL, *words, address=server.address)
                self.assertEqual((status, error), (DONE, ""))
                self.assertNotIn(b"\x1b", output)
                self.assertNotIn(b"\x9b", output)
            self.refused(NO_SERVER, "invalid answer to list-tubes", "tubes",
                         address=server.address)

    def test_a_list_of_jobs_that_is_none_is_of_no_beanstalk_server(self):
        def answer(line):
            if line in ("stats", "stats-tube mail"):
                return b"OK 17\r\n---\nversion: 1.4\n\r\n"
            return b"OK 6\r\n---\nx\n\r\n"

        with Scripted(answer) as server:
            for words, command in ((["jobs", "mail"], "scan-jobs"), (["export", "mail"], "scan-jobs"),
                                   (["jobs", "mail", "--next"], "list-jobs")):
                self.refused(NO_SERVER, f"is not a beanstalk server: invalid answer to {command}", *words,
                             address=server.address)

    def test_a_local_failure_is_not_an_answer_of_a_server(self):
        with Fixed(b"OK 9\r\n---\na: 1\n\r\n") as server:
            # There is a descriptor for one of the two servers.
            ended = subprocess.run(["bash", "-c", 'ulimit -n 4; exec "$@"', "bash", TOOL, "top", "-bn1",
                                    "-a", server.address, "-a", "unix:/nowhere"], capture_output=True,
                                   text=True, timeout=60, check=False)
            self.assertEqual((ended.returncode, ended.stdout), (LOCAL, ""), ended.stderr)
            self.assertIn("cannot connect to unix:/nowhere: Too many open files", ended.stderr)

    def test_a_full_disk_of_stdout_is_reported(self):
        helped = subprocess.run([TOOL, "--help"], capture_output=True, text=True, check=True).stdout
        subcommands = re.findall(r"^  ([a-z]+)  ", helped, re.MULTILINE)
        self.assertIn("binlog", subcommands)
        with Fixed(b"OK 9\r\n---\na: 1\n\r\n") as server, open("/dev/full", "wb") as full:
            for words in (["stats", "-k", "a", "-a", server.address], ["--help"], ["--version"],
                          ["help"], *([name, "--help"] for name in subcommands)):
                ended = subprocess.run([TOOL, *words], stdout=full, stderr=subprocess.PIPE,
                                       timeout=60, check=False)
                self.assertEqual(ended.returncode, LOCAL, words)
                self.assertEqual(ended.stderr.count(b"cannot write to stdout: No space"), 1, words)

    def test_a_closed_pipe_is_no_failure(self):
        with Fixed(b"OK 9\r\n---\na: 1\n\r\n") as server:
            reading, writing = os.pipe()
            os.close(reading)
            ended = subprocess.run([TOOL, "stats", "-k", "a", "-a", server.address], stdout=writing,
                                   stderr=subprocess.PIPE, timeout=60, check=False)
            os.close(writing)
            self.assertEqual((ended.returncode, ended.stderr), (LOCAL, b""))


if __name__ == "__main__":
    unittest.main()
