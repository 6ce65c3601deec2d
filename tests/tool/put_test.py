#!/usr/bin/env python3
"""Tests haricot put against any beanstalk server.

    put_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import socket
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, output_on_terminal, TOOL
from operator_server import DONE, LOCAL, NO, REFUSED, USAGE, wait_until


class Put(OperatorTest):
    def body(self, job):
        return self.haricot("peek", job)[1]

    def test_each_word_is_a_job(self):
        self.assertEqual(self.good("put", "one", "two"), "1\n2\n")
        self.assertEqual((self.body(1), self.body(2)), (b"one", b"two"))

    def test_stdin_or_a_file_is_a_job(self):
        self.assertEqual(self.good("put", stdin=b"line\nline\n\x00"), "1\n")
        self.assertEqual(self.body(1), b"line\nline\n\x00")
        self.assertEqual(self.good("put", "-", stdin=b"dash"), "2\n")
        self.assertEqual(self.body(2), b"dash")
        path = self.server.folder.name + "/body"
        pathlib.Path(path).write_bytes(b"in a file")
        self.assertEqual(self.good("put", "--file", path), "3\n")
        self.assertEqual(self.body(3), b"in a file")
        self.refused(LOCAL, "cannot open /nowhere", "put", "-f", "/nowhere")

    def test_an_empty_body_is_put_only_if_it_is_meant(self):
        path = self.server.folder.name + "/nothing"
        pathlib.Path(path).touch()
        self.refused(NO, "stdin is empty, no job was put; --empty", "put", stdin=b"")
        self.refused(NO, "stdin is empty", "put", "-", stdin=b"")
        self.refused(NO, f"{path} is empty", "put", "--file", path)
        self.assertEqual(self.server.stat("total-jobs"), "0")
        self.assertEqual(self.good("put", "--empty", stdin=b""), "1\n")
        self.assertEqual(self.good("put", "--empty", "-f", path), "2\n")
        self.refused(USAGE, "a body is empty, no job was put; --empty", "put", "x", "")
        self.assertEqual(self.good("put", "--empty", ""), "3\n")
        self.assertEqual([self.body(i) for i in (1, 2, 3)], [b"", b"", b""])
        self.assertEqual(self.good("put", "--empty", stdin=b"x"), "4\n")
        self.assertEqual(self.body(4), b"x")
        self.assertEqual(self.good("put", "--lines", stdin=b""), "")

    def test_it_has_the_properties_of_the_flags(self):
        self.good("put", "-t", "mail", "-p", "5", "-d", "100", "-r", "7", "x")
        job = self.good_json("stats", "1")
        self.assertEqual((job["tube"], job["pri"], job["ttr"]), ("mail", 5, 7))
        self.assertEqual((job["delay"], job["state"]), (100, "delayed"))
        self.good("put", "x")
        job = self.good_json("stats", "2")
        self.assertEqual((job["tube"], job["pri"], job["ttr"]), ("default", 1024, 60))

    def test_each_line_is_a_job(self):
        lines = [f"job number {i}".encode() for i in range(2000)] + [b"in between", b"last"]
        ids = self.good("put", "--lines", stdin=b"\n".join(lines)).split()
        self.assertEqual(ids, [str(i + 1) for i in range(len(lines))])
        self.assertEqual([self.body(i) for i in (1, 2000, 2001, 2002)],
                         [lines[0], lines[1999], b"in between", b"last"])

    def test_a_line_is_put_at_once(self):
        tool = subprocess.Popen([TOOL, "put", "-l", "-j", "-a", self.server.address],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for job in (1, 2):
            tool.stdin.write(b"x\n")
            tool.stdin.flush()
            self.assertEqual(json.loads(tool.stdout.readline()), {"id": job, "buried": False})
        tool.communicate()
        self.assertEqual(tool.returncode, DONE)

    def test_a_refused_job_is_reported_with_its_line(self):
        output = self.refused(REFUSED, "line 2: JOB_TOO_BIG", "put", "-l",
                              stdin=b"x\n" + b"y" * 70000 + b"\nz\n")
        self.assertEqual(len(output.split()), 2)
        self.refused(REFUSED, "exceeds the server's max-job-size", "put", stdin=b"y" * 70000)
        self.server.process.send_signal(10)
        wait_until(lambda: self.server.stat("draining") == "true")
        self.refused(REFUSED, "the server is in drain mode", "put", "x")

    def test_a_time_can_have_units(self):
        self.good("put", "-d", "1h30m", "-r", "2m", "x")
        job = self.good_json("stats", "1")
        self.assertEqual((job["delay"], job["ttr"]), (5400, 120))

    def test_quiet_prints_no_ids(self):
        self.assertEqual(self.good("put", "-q", "one", "two"), "")
        self.assertEqual(self.good("put", "-ql", "--json", stdin=b"three\n"), "")
        self.assertEqual(self.count("ready"), 3)
        self.assertEqual(self.good("bury", "-q", "1"), "")
        self.assertEqual(self.good("kick", "-q", "1"), "")
        self.assertEqual(self.good("bury", "-q", "1"), "")
        self.assertEqual(self.good("kick", "-q", "-t", "default", "--all"), "")
        self.assertEqual(self.good("delete", "-q", "1", "2"), "")
        self.assertEqual(self.good("delete", "-qy", "-t", "default", "--all"), "")
        self.assertEqual(self.refused(NO, "job 1 does not exist", "delete", "-q", "1"), "")

    def test_mistakes(self):
        self.refused(USAGE, "'-x' is not a tube name", "put", "--tube=-x", "b")
        self.refused(USAGE, "excludes --lines", "put", "--lines", "b")
        self.refused(USAGE, "is not a number", "put", "-p", "4294967296", "b")


class PutOfAPipe(OperatorTest):
    def test_a_word_beside_a_pipe_or_a_file_is_not_guessed(self):
        output = self.refused(USAGE, "is 'mail' a tube or a body?", "put", "mail", stdin=b"a\nb\n")
        self.assertEqual(output, "")
        path = pathlib.Path(self.server.folder.name) / "lines"
        path.write_bytes(b"a\nb\n")
        with path.open("rb") as file:
            ended = subprocess.run([TOOL, "put", "mail", "-a", self.server.address], stdin=file,
                                   capture_output=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, USAGE)
        self.assertIn(b"haricot put --tube mail puts stdin", ended.stderr)
        ours, theirs = socket.socketpair()  # sshd may use a socket as stdin.
        with ours, theirs:
            ended = subprocess.run([TOOL, "put", "mail", "-a", self.server.address], stdin=theirs,
                                   capture_output=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, USAGE)
        self.assertEqual(self.server.stat("total-jobs"), "0")

    def test_stdin_stands_alone(self):
        self.refused(USAGE, "- means stdin and excludes other bodies", "put", "mail", "-")
        self.refused(USAGE, "- means stdin and excludes other bodies", "put", "-t", "mail", "x", "-")
        self.assertEqual(self.server.stat("total-jobs"), "0")
        self.assertEqual(self.good("put", "-t", "mail", "-", stdin=b"x"), "1\n")

    def test_an_unambiguous_command_is_accepted(self):
        # Like in a shell's loop that reads a file.
        self.assertEqual(self.good("put", "--tube", "mail", "body", stdin=b"a\nb\n"), "1\n")
        self.assertEqual(self.good("put", "body"), "2\n")
        self.assertEqual(self.good("put", "--tube", "mail", stdin=b"a\nb\n"), "3\n")
        self.assertEqual(self.good("peek", "1"), "body")
        printed = output_on_terminal("put", "body", address=self.server.address)
        self.assertEqual(printed.strip(), b"4")


class Lines(OperatorTest):
    def bodies(self):
        count = int(self.server.stat("total-jobs"))
        return [self.haricot("peek", job + 1)[1] for job in range(count)]

    def test_put_takes_lines_of_any_system_and_leaves_blank_ones_out(self):
        self.assertEqual(self.good("put", "-l", stdin=b"\xef\xbb\xbfone\r\n\r\n \t\ntwo \r\n\nthree\r"),
                         "1\n2\n3\n")
        self.assertEqual(self.bodies(), [b"one", b"two ", b"three"])

    def test_empty_puts_blank_ones_too(self):
        self.assertEqual(self.good("put", "-ql", "--empty", stdin=b"one\n\n \nlast\n"), "")
        self.assertEqual(self.bodies(), [b"one", b"", b" ", b"last"])

    def test_the_number_of_a_refused_line_counts_blank_ones(self):
        self.refused(REFUSED, "line 4: JOB_TOO_BIG", "put", "-l", stdin=b"x\n\n\n" + b"y" * 70000)


if __name__ == "__main__":
    unittest.main()
