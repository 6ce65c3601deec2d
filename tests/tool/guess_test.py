#!/usr/bin/env python3
"""Tests the first attempts of users: tubes in both forms, times, words of other tools; against any beanstalk server.

    guess_test.py HARICOT SERVER [FLAG...]
"""

import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_case import OperatorTest, TOOL, output_on_terminal
from operator_server import DEADLINE_S, DONE, LOCAL, NO, REFUSED, USAGE, run, wait_until


def without_ages(text):
    return re.sub(r'"age":\d+,', "", text)


class Tubes(OperatorTest):
    """Tests that each subcommand accepts a tube as an operand and as --tube."""

    def both(self, before, *words):
        """Runs the words in both forms, after `before`, and returns their common output.

        TUBE stands for the tube mail. Ages are ignored, because a second may end between the two.
        """
        printed = []
        for tube in (["mail"], ["--tube", "mail"]):
            before()
            at = words.index("TUBE")
            printed.append(without_ages(self.good(*words[:at], *tube, *words[at + 1:])))
        self.assertEqual(*printed)
        return printed[0]

    def put(self):
        self.server.put("x", "mail")

    def bury(self):
        self.good("bury", "-q", self.server.put("x", "mail"))

    def empty(self):
        self.haricot("delete", "-qy", "--tube", "mail", "--all")

    def test_of_deletes_and_kicks(self):
        self.assertEqual(self.both(self.put, "flush", "TUBE", "-y"), "deleted 1\n")
        self.assertEqual(self.both(self.put, "delete", "TUBE", "--ready", "-y"), "deleted 1\n")
        self.assertEqual(self.both(self.bury, "kick", "TUBE", "--all"), "kicked 1\n")
        self.empty()
        self.assertEqual(self.both(self.put, "bury", "TUBE", "--count", "1"), "buried 1\n")

    def test_of_read_only_subcommands(self):
        self.put()
        nothing = lambda: None
        self.assertEqual(self.both(nothing, "peek", "TUBE", "--ready"), "x")
        self.assertIn("name: mail\n", self.both(nothing, "stats", "TUBE"))
        self.assertEqual(self.both(nothing, "tubes", "TUBE", "--names"), "mail\n")
        self.assertEqual(self.good("tubes", "--names", "-t", "m*", "default"), "default\nmail\n")
        top = json.loads(self.good("top", "-jn1", "-i0.1", "--tube", "mail"))
        self.assertEqual([tube["name"] for tube in top["sum"]["tubes"]], ["mail"])
        if self.has("scan-jobs"):
            self.assertIn('"tube":"mail"', self.both(nothing, "jobs", "--json", "TUBE"))
            self.assertIn('"tube":"mail"', self.both(nothing, "export", "TUBE"))
            two = without_ages(self.good("export", "-t", "mail", "default"))
            self.assertEqual(two, without_ages(self.good("export", "mail", "--tube=default")))

    def test_of_subcommands_that_reserve_and_change(self):
        self.put()
        self.assertEqual(self.both(self.put, "reserve", "TUBE", "--then", "delete"), "x")
        self.assertEqual(self.both(self.put, "pause", "TUBE", "0"), "tube mail is resumed\n")
        self.both(self.empty, "drain", "TUBE")
        for words in (["mail", "news"], ["-t", "mail", "news"], ["-t", "mail", "-t", "news"]):
            self.put()
            self.assertEqual(self.good("move", *words), "moved 1\n")
        self.assertEqual(self.count("ready", "news"), 3)

    def test_reserve_takes_several(self):
        self.server.put("a", "a")
        self.server.put("b", "b")
        words = ("reserve", "a", "-t", "b", "-w0", "--then", "delete")
        self.assertEqual({self.good(*words), self.good(*words)}, {"a", "b"})

    def test_digits_are_an_id_where_there_are_ids(self):
        self.server.put("x", "17")
        self.assertEqual(self.good("peek", "--tube", "17", "--ready"), "x")
        self.refused(NO, "job 17 does not exist", "delete", "17")
        self.assertEqual(self.good("delete", "-yt", "17", "--all"), "deleted 1\n")

    def test_mistakes(self):
        for words in (["kick", "mail", "--tube", "news", "--all"], ["flush", "-t", "a", "b", "-y"],
                      ["drain", "a", "b"], ["put", "-t", "a", "-t", "b", "x"]):
            self.refused(USAGE, "more than one tube", *words)
        self.refused(USAGE, "more than 2 tubes", "move", "a", "b", "c")
        self.refused(USAGE, "tube a is given twice", "move", "a", "-t", "a")
        self.refused(USAGE, "neither a tube name nor a job id", "kick", "no name")
        self.refused(USAGE, "'mail' is not a job id", "release", "mail")
        self.refused(USAGE, "either ids or a tube", "delete", "mail", "5", "--all", "-y")
        self.refused(USAGE, "a tube requires", "kick", "mail")
        self.refused(USAGE, "requires a tube and a time", "pause", "10m")


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

    def test_import_takes_a_mark_of_utf8_and_lines_of_any_system(self):
        lines = b'\xef\xbb\xbf{"tube":"a","body":"one"}\r\n\r\n{"tube":"a","body":"two"}\r\n'
        self.assertEqual(self.good("import", stdin=lines), "imported 2\n")
        self.assertEqual(self.bodies(), [b"one", b"two"])
        self.refused(NO, "line 4: ", "import", stdin=lines[3:] + lines)

    def test_import_reports_the_line_of_an_interruption(self):
        line = b'{"tube":"a","body":"x"}\n'
        for number, sent in ((signal.SIGINT, 3), (signal.SIGTERM, 1200), (signal.SIGHUP, 1)):
            tool = subprocess.Popen([TOOL, "import", "-a", self.server.address],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
            self.addCleanup(tool.kill)
            before = int(self.server.stat("total-jobs"))
            tool.stdin.write(line * sent)
            tool.stdin.flush()
            wait_until(lambda: int(self.server.stat("total-jobs")) == before + sent)
            tool.send_signal(number)
            tool.wait(60)
            self.assertEqual(tool.returncode, -number)
            self.assertEqual(tool.stdout.read(), b"imported %d\n" % sent)
            self.assertIn(b"interrupted; continue with --from-line %d" % (sent + 1), tool.stderr.read())
            for pipe in (tool.stdin, tool.stdout, tool.stderr):
                pipe.close()


class Nothing(OperatorTest):
    """Tests empty words, which are usually unset variables of a script: they never mean everything."""

    def test_is_refused_as_an_operand(self):
        self.server.put("x")
        for words in (["put", ""], ["put", "x", ""], ["stats", ""], ["jobs", ""], ["flush", "", "-y"],
                      ["delete", "", "--all", "-y"], ["kick", "", "--all"], ["bury", "", "--all"],
                      ["move", "", "default"], ["move", "default", ""], ["pause", "", "0"],
                      ["pause", "default", ""], ["drain", ""], ["reserve", ""], ["peek", "", "--ready"],
                      ["export", ""], ["import", ""], ["release", ""], ["ping", ""]):
            with self.subTest(words):
                self.assertEqual(self.refused(USAGE, "", *words, stdin=b"x"), "")
        self.refused(NO, "there is no such tube", "tubes", "")
        self.refused(LOCAL, "", "binlog", "check", "")
        self.assertEqual(self.server.stat("total-jobs"), "1")
        self.assertEqual(self.count("ready"), 1)

    def test_is_refused_as_a_value(self):
        for words in (["put", "-t", "", "x"], ["put", "-f", ""], ["import", "-f", ""], ["import", "-t", ""],
                      ["put", "--unique", "", "x"], ["put", "--concurrency", "", "x"], ["jobs", "-m", ""],
                      ["jobs", "-s", ""], ["flush", "-y", "-t", ""], ["stats", "-k", ""], ["stats", "-i", ""],
                      ["work", "-t", "", "true"], ["work", "--joblog", "", "true"], ["tubes", "-s", ""],
                      ["reserve", "--then", ""], ["reserve", "--wait", ""], ["drain", "-w", ""],
                      ["put", "-d", "", "x"], ["put", "-r", "", "x"], ["put", "-p", "", "x"],
                      ["top", "-i", ""], ["ping", "-T", ""], ["work", "--bury-on", "", "true"],
                      ["work", "--max-time", "", "true"], ["bench", "-a", ""]):
            with self.subTest(words):
                self.assertEqual(self.refused(USAGE, "", *words, stdin=b"x"), "")
        self.assertEqual(self.server.stat("total-jobs"), "0")


class Times(OperatorTest):
    """Tests the times of --help: 2.5, 90s, 5m, 1h30m, 250ms."""

    def test_times_for_the_server_are_rounded_up(self):
        for words, key, value in ((["-d", "2.5"], "delay", 3), (["-r", "250ms"], "ttr", 1),
                                  (["-d", "0"], "delay", 0), (["-r", "1m0.5s"], "ttr", 61)):
            job = self.good("put", *words, "x").strip()
            self.assertEqual(self.good_json("stats", job)[key], value)
        self.assertEqual(self.good("pause", "default", "2.5"), "tube default is paused for 3 s\n")
        self.good("pause", "default", "0")
        self.refused(NO, "there is no ready job", "reserve", "nothing", "--wait", "250ms")
        self.assertEqual(self.good("release", "-d", "1.5", "1"), "released 1\n")
        self.assertEqual(self.good_json("stats", "1")["delay"], 2)
        status, _, error = self.haricot("work", "-t", "nothing", "--wait", "0.5", "--delay", "1.5",
                                        "--", "true")
        self.assertEqual(status, DONE, error)
        if self.has("idp"):
            self.good("put", "--unique", "key:1.5", "-t", "unique", "x")
            self.assertIn(" idp:key:2\n", self.good("jobs", "unique"))

    def test_an_invalid_time_is_reported_with_examples(self):
        for words in (["put", "-d", "soon", "x"], ["pause", "a", "soon"], ["drain", "-w", "soon"],
                      ["reserve", "--wait", "soon"], ["ping", "-T", "soon"], ["tubes", "-i", "soon"]):
            self.refused(USAGE, ", such as 90, 2.5, 250ms, 5m or 2d", *words)


class Statuses(OperatorTest):
    """Tests exit statuses: 0 if nothing had to be done, 1 for a negative answer, 6 for a local failure."""

    def test_a_tube_with_nothing_to_do_is_no_failure(self):
        self.assertEqual(self.good("kick", "default", "--all"), "kicked 0\n")
        self.assertEqual(self.good("delete", "default", "--all", "-y"), "deleted 0\n")
        self.assertEqual(self.good("delete", "default", "--ready", "-n5", "-y"), "deleted 0\n")
        self.assertEqual(self.good("flush", "default", "-y"), "deleted 0\n")
        self.assertEqual(self.good("flush", "default", "-ys", "buried"), "deleted 0\n")
        self.assertEqual(self.good("bury", "default", "--all"), "buried 0\n")
        self.assertEqual(self.good("move", "default", "mail"), "moved 0\n")

    def test_nor_is_one_that_is_not_there_as_a_tube_goes_with_its_last_job(self):
        for words, done in ((["kick", "mail", "--all"], "kicked"), (["bury", "mail", "--all"], "buried"),
                            (["delete", "mail", "--all", "-y"], "deleted"),
                            (["delete", "mail", "--ready", "-n5", "-y"], "deleted"),
                            (["flush", "mail", "-y"], "deleted"), (["move", "mail", "news"], "moved")):
            # A misspelt name is reported, too.
            self.assertEqual(self.refused(DONE, "there is no tube mail", *words), done + " 0\n")
            self.assertEqual(self.refused(DONE, "there is no tube mail", *words, "-q"), "")
        self.server.put("x", "mail")
        self.assertEqual(self.good("flush", "mail", "-y"), "deleted 1\n")
        self.assertEqual(self.haricot("flush", "mail", "-y")[:2], (DONE, b"deleted 0\n"))
        self.assertEqual(self.server.ask("list-tubes").count("- "), 1)

    def test_a_job_that_is_not_there_is_one(self):
        self.refused(NO, "job 5 does not exist", "kick", "5")
        self.refused(NO, "job 5 does not exist", "delete", "5")
        self.refused(NO, "there is no tube mail", "pause", "mail", "5")
        self.refused(NO, "there is no tube mail", "stats", "mail")

    def test_files_are_of_this_side(self):
        self.refused(LOCAL, "cannot open /nowhere", "put", "-f", "/nowhere")
        self.refused(LOCAL, "cannot open /nowhere", "import", "/nowhere")
        self.refused(LOCAL, "cannot read /", "import", "/")
        self.refused(LOCAL, "/nowhere", "binlog", "check", "/nowhere")
        self.refused(LOCAL, "/nowhere", "binlog", "dump", "/nowhere")

    def test_every_subcommand_reports_a_full_stdout(self):
        self.server.put("x", "mail")
        folder = self.server.folder.name + "/binlog"
        pathlib.Path(folder).mkdir()
        commands = [["ping"], ["stats"], ["tubes", "-i0"], ["top", "-bn1", "-i0.1"],
                    ["peek", "mail", "--ready"], ["put", "x"], ["reserve", "mail"],
                    ["kick", "mail", "--all"], ["pause", "mail", "0"], ["drain", "-w0", "other"],
                    ["bury", "mail", "--all"], ["delete", "mail", "--all", "-y"],
                    ["bench", "-n", "10", "--warm-up", "0", self.server.address],
                    ["bench", "--seconds", "0.3", "-i0.1", self.server.address],
                    ["binlog", "check", folder]]
        if self.has("scan-jobs"):
            commands[4:4] = [["jobs", "mail"], ["export"]]
        for words in commands:
            with open("/dev/full", "wb") as full:
                ended = subprocess.run(
                    [TOOL, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                    timeout=60, check=False, env={"HARICOT_ADDR": self.server.address})
            self.assertEqual(ended.returncode, LOCAL, (words, ended.stderr))
            self.assertEqual(ended.stderr.count(b"cannot write to stdout: No space"), 1, words)


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

    def test_a_key_may_be_short(self):
        self.server.put("x", "mail")
        self.assertEqual(self.good("stats", "mail", "-k", "ready"), "1\n")
        self.assertEqual(self.good("stats", "-k", "tubes"), self.good("stats", "-k", "current-tubes"))
        self.assertEqual(self.good_json("stats", "mail", "-k", "ready")["sum"],
                         {"current-jobs-ready": 1})
        self.assertEqual(self.good_json("stats", "1", "-k", "pri"), {"pri": 1024})
        self.refused(NO, "there is no verson in the statistics (did you mean version?)", "stats",
                     "-k", "verson")


class DrainMode(OperatorTest):
    def test_it_can_be_switched(self):
        self.refused(USAGE, "for drain mode use --start or --stop; for a tube with this name use --tube on",
                     "drain", "on")
        self.refused(USAGE, "for the whole server", "drain", "--start", "mail")
        self.refused(USAGE, "exclude each other", "drain", "--start", "--stop")
        self.refused(USAGE, "--stop excludes --wait", "drain", "--stop", "--wait", "5")
        if not self.has("undrain"):
            self.refused(REFUSED, "does not know drain", "drain", "--start")
            return
        self.server.put("x")
        self.assertEqual(self.good("drain", "--start"), "the server accepts no new jobs\n")
        self.refused(REFUSED, "until drain --stop or a restart", "put", "x")
        status, output, error = self.haricot("drain", "--start", "--wait", "0")
        self.assertEqual((status, output, error), (NO, b"ready 1, reserved 0, delayed 0, buried 0\n", ""))
        self.assertEqual(self.good_json("drain", "--stop"), {"draining": False})
        self.assertEqual(self.count("ready"), 1)
        self.good("put", "x")
        self.assertEqual(self.count("ready"), 2)

    def test_tubes_called_so_are_named_by_the_flag(self):
        self.assertEqual(self.good("drain", "--tube", "on"), "ready 0, reserved 0, delayed 0, buried 0\n")


class WithManyJobs(OperatorTest):
    def test_a_tube_is_deleted_with_one_command(self):
        if not self.has("flush-tube"):
            self.skipTest("the server cannot do it")
        self.good("put", "-qlt", "mail", stdin=b"x\n" * 600)
        self.good("bury", "-q", "mail", "-n", "200")
        before = int(self.server.stat("cmd-delete"))
        self.assertEqual(self.good("delete", "mail", "--ready", "--yes"), "deleted 400\n")
        self.assertEqual(self.good("delete", "mail", "--buried", "-n", "100", "-y"), "deleted 100\n")
        self.assertEqual(self.good("delete", "mail", "--buried", "--delayed", "-y"), "deleted 100\n")
        self.assertEqual(int(self.server.stat("cmd-delete")) - before, 100)

    def test_jobs_in_a_state_are_found_by_the_tubes_that_have_some(self):
        if not self.has("scan-jobs"):
            self.skipTest("the server cannot do it")
        self.good("put", "-qlt", "mail", stdin=b"x\n" * 3000)
        buried = [self.server.put("buried", tube, priority) for tube, priority in
                  (("a", 5), ("a", 3), ("z", 1), ("a", 4))]
        self.good("bury", "-q", buried[2], buried[1], buried[3], buried[0])
        by_tube = [buried[0], buried[1], buried[3], buried[2]]
        with Counting(self.server) as counting:
            status, output, error = run(TOOL, "jobs", "-js", "buried", address=counting.address)
            self.assertEqual((status, error), (DONE, ""))
        found = [json.loads(line) for line in output.splitlines()]
        self.assertEqual([job["id"] for job in found], by_tube)
        asked = [line for line in counting.lines if "-jobs" in line]
        self.assertEqual(asked, ["list-jobs a buried 1000", "list-jobs z buried 1000"])
        self.assertEqual(self.ids("-s", "buried", "-n", "2"), by_tube[:2])
        self.assertEqual(self.ids("-s", "buried", "-i", buried[1]), by_tube[1:])
        self.assertEqual(self.ids("-s", "ready"), list(range(1, 3001)))
        self.refused(NO, "there is no such job", "jobs", "-s", "delayed")

    def test_in_a_state_that_very_many_tubes_have(self):
        if not self.has("scan-jobs"):
            self.skipTest("the server cannot do it")
        for tube in range(20):
            self.server.put("x", f"tube-{tube}")
        holder = socket.socket(socket.AF_UNIX)
        holder.connect(self.server.path)
        self.addCleanup(holder.close)
        for tube in range(20):
            holder.sendall(f"watch tube-{tube}\r\nreserve\r\n".encode())
            answer = b""
            while b"RESERVED" not in answer or not answer.endswith(b"x\r\n"):
                answer += holder.recv(1000)
            if tube in (2, 19):
                self.assertEqual(self.ids("-s", "reserved"), list(range(1, tube + 2)))

    def ids(self, *words):
        return [json.loads(line)["id"] for line in self.good("jobs", "-j", *words).splitlines()]


class Messages(OperatorTest):
    def test_a_tag_that_the_server_lacks_is_called_as_it_was_typed(self):
        if self.has("idp"):
            self.skipTest("the server has it")
        for flag, value in (("--unique", "a"), ("--concurrency", "a"), ("--tries", "5")):
            self.refused(REFUSED, f"does not know {flag}: it is ", "put", flag, value, "x")


class Counting:
    """A unix socket in front of a server for one client, which records the commands."""

    def __init__(self, server):
        self.address = f"unix:{server.folder.name}/counting"
        self.server, self.lines = server, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.address[5:])
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        client, _ = self.listener.accept()
        with client, client.makefile("rb") as lines:
            for line in lines:
                self.lines.append(line.decode().strip())
                client.sendall(self.server.ask(self.lines[-1]).encode("latin-1"))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join(DEADLINE_S)
        self.listener.close()


if __name__ == "__main__":
    unittest.main()
