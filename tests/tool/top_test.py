#!/usr/bin/env python3
"""Tests haricot top on a pseudo-terminal and without one.

    top_test.py HARICOT SERVER [FLAG...]
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import termios
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from key_relay import FullRelay
from operator_case import TOOL, OperatorTest
from operator_server import LOCAL, run
from screen import Screen


class TopTest(OperatorTest):
    def top(self, *words, address=None, rows=24, columns=80, **environment):
        screen = Screen([TOOL, "top", "-a", address or self.server.address, *words], rows, columns,
                        environment)
        self.addCleanup(screen.close)
        return screen

    def fill(self, **jobs):
        for tube, count in jobs.items():
            for _ in range(count):
                self.server.put("x", tube)

    def tubes_on(self, screen):
        """Returns the names of the tubes, in the order of the table."""
        titles = next((i for i, line in enumerate(screen.lines) if line.startswith(" tube ")), None)
        rows = screen.lines[titles + 1:] if titles is not None else []
        return [line[1:].split()[0] for line in rows if line.strip()]


class Live(TopTest):
    def test_it_shows_the_server_and_its_tubes(self):
        self.fill(mail=3, news=1)
        screen = self.top()
        screen.wait_for(lambda: "default" in screen.lines[9])
        stats = self.server.ask("stats")
        key, word = (("haricot-version", "haricotd") if "\nharicot-version: " in stats
                     else ("version", "version"))
        self.assertIn(f"haricot top: {self.server.address}, {word} {self.server.stat(key)}, up 0:",
                      screen.lines[0])
        self.assertIn("jobs: 4 ready, 0 buried, 0 reserved", screen.lines[1])
        self.assertEqual(self.tubes_on(screen), ["mail", "news", "default"])
        self.assertTrue(screen.hides_cursor)

    def test_it_keeps_polling(self):
        screen = self.top("-i", "0.1")
        screen.wait_for_text("default")
        self.fill(mail=1)
        screen.wait_for_text("mail")
        screen.wait_for(lambda: "a second: 0 put" in screen.lines[2])
        clears = screen.clears
        self.fill(mail=2)
        screen.wait_for_text("jobs: 3 ready")
        # The screen is not cleared, because only changes are written.
        self.assertEqual(screen.clears, clears)

    def test_keys_sort(self):
        self.fill(b=3, a=1, c=2)
        screen = self.top("-i", "1000")
        screen.wait_for_text("4 tubes by ready")
        screen.wait_for(lambda: self.tubes_on(screen) == ["b", "c", "a", "default"])
        screen.type(b"n")
        screen.wait_for_text("4 tubes by tube")
        screen.wait_for(lambda: self.tubes_on(screen) == ["a", "b", "c", "default"])
        screen.type(b"r")
        screen.wait_for_text("reversed")
        screen.wait_for(lambda: self.tubes_on(screen) == ["default", "c", "b", "a"])
        screen.type(b"\x1b[C")  # Arrow right. The first column follows the last.
        screen.wait_for_text("by ready, reversed")
        screen.type(b"i")
        screen.wait_for_text("3 tubes by ready, reversed, idle tubes hidden")
        screen.wait_for(lambda: "default" not in self.tubes_on(screen))

    def selected_on(self, screen):
        return [line[1:].split()[0] for line in screen.lines if line.startswith(">")]

    def test_keys_choose_a_line_and_scroll(self):
        self.fill(**{f"tube{i:02}": 1 for i in range(30)})
        screen = self.top("--sort", "tube", "-i", "1000", rows=16)
        screen.wait_for(lambda: "tube07" in screen.lines[15])
        screen.wait_for(lambda: self.selected_on(screen) == ["default"])
        screen.type(b"j")
        screen.wait_for(lambda: self.selected_on(screen) == ["tube00"])
        screen.type(b"\x1b[6~")
        screen.wait_for(lambda: "tube09" in screen.lines[15])
        screen.wait_for(lambda: self.selected_on(screen) == ["tube09"])
        screen.type(b"G")
        screen.wait_for(lambda: "tube29" in screen.lines[15])
        screen.type(b"g")
        screen.wait_for(lambda: "default" in screen.lines[7])
        screen.wait_for(lambda: self.selected_on(screen) == ["default"])

    def test_the_selected_tube_stays_selected(self):
        self.fill(b=3, a=1)
        screen = self.top("-i", "0.1")
        screen.wait_for(lambda: self.tubes_on(screen) == ["b", "a", "default"])
        screen.type(b"j")
        screen.wait_for(lambda: self.selected_on(screen) == ["a"])
        self.fill(a=5)
        screen.wait_for(lambda: self.tubes_on(screen) == ["a", "b", "default"])
        screen.wait_for(lambda: self.selected_on(screen) == ["a"])

    def test_a_filter_is_typed_kept_and_ended(self):
        self.fill(mail=3, email=2, news=1)
        screen = self.top("-i", "1000")
        screen.wait_for(lambda: self.tubes_on(screen) == ["mail", "email", "news", "default"])
        screen.type(b"/mailx\x7f")
        screen.wait_for(lambda: self.tubes_on(screen) == ["mail", "email"])
        screen.wait_for_text("/mail_")
        screen.type(b"\r")
        screen.wait_for_text("2 tubes by ready, filter mail")
        screen.type(b"/\x15e*")
        screen.wait_for(lambda: self.tubes_on(screen) == ["email"])
        screen.type(b"\x1b")
        screen.wait_for(lambda: len(self.tubes_on(screen)) == 4)
        screen.wait_for_text("4 tubes by ready, h: help")
        screen.type(b"q")
        self.assertEqual(screen.end(), 0)

    def test_a_tube_has_a_screen_of_its_own(self):
        self.fill(mail=3, news=1)
        self.server.put("later", "mail", delay=1000)
        screen = self.top("-i", "0.1")
        screen.wait_for_text("default")
        screen.type(b"\r")
        screen.wait_for_text("haricot top: tube mail, no worker")
        screen.wait_for_text("jobs: 3 ready, 0 buried, 0 reserved, 1 delayed")
        screen.wait_for(lambda: any(line.startswith("delayed ") for line in screen.lines))
        screen.wait_for(lambda: any(line.startswith("ready  ") for line in screen.lines))
        screen.wait_for_text("ready in the last minute, highest 3")
        # The program continues to sample, and does not keep the tube alive.
        self.fill(mail=1)
        screen.wait_for_text("jobs: 4 ready")
        self.server.ask(*(f"delete {number}" for number in range(1, 7)))
        screen.wait_for_text("the tube no longer exists")
        screen.type(b"\x1b")
        screen.wait_for(lambda: self.tubes_on(screen) == ["default"])

    @staticmethod
    def is_falling(screen, column):
        """Returns true if the rows of the connections, at least two, are in descending order."""
        rows = [line.split() for line in screen.lines[7:]]
        numbers = [int(row[column]) for row in rows if len(row) == 9]
        return len(numbers) > 1 and numbers == sorted(numbers, reverse=True)

    def change(self, screen, keys, question, answer, wanted):
        screen.type(keys)
        screen.wait_for_text(question)
        screen.type(answer)
        screen.wait_for_text(wanted)

    def test_connections_have_a_screen_of_their_own(self):
        self.fill(default=1)
        self.hold()
        can_list = self.has("list-clients")
        screen = self.top("-i", "0.1")
        screen.wait_for_text("1 tube by ready")
        screen.type(b"c")
        if can_list:
            screen.wait_for(lambda: "connections by jobs" in screen.lines[5])
            self.assertEqual(screen.lines[6].split(), ["id", "state", "jobs", "age", "idle",
                                                       "commands", "watching", "address", "used"])
            screen.wait_for(lambda: screen.lines[7].split()[2:3] == ["1"])
            link = socket.socket(socket.AF_UNIX)
            self.addCleanup(link.close)
            link.connect(self.server.path)
            link.sendall(b"use afar\r\n")
            screen.wait_for_text(" afar")  # The program continues to sample.
            screen.type(b"nr")
            screen.wait_for_text("connections by id, reversed")
            # A new connection may reuse the id of a closed one.
            screen.wait_for(lambda: self.is_falling(screen, column=0))
        else:
            screen.wait_for_text("the server does not know list-clients")
        screen.type(b"c")
        screen.wait_for(lambda: "default" in self.tubes_on(screen))

    def test_acts_are_done_after_a_question(self):
        self.fill(mail=2)
        self.server.ask("watch mail", "reserve", "bury 1 5", "reserve", "bury 2 5")
        self.server.put("later", "mail", delay=1000)
        screen = self.top("-i", "0.1", "--allow-changes", "--sort", "buried")
        screen.wait_for(lambda: self.tubes_on(screen) == ["mail", "default"])
        question = "Make 2 buried jobs of tube mail ready? [y/N]"
        self.change(screen, b"K", question, b"n", "nothing was changed")
        self.assertEqual(self.count("buried", "mail"), 2)
        self.change(screen, b"K", question, b"y", "kicked 2 jobs of tube mail")
        self.assertEqual(self.count("ready", "mail"), 2)
        screen.wait_for_text("jobs: 2 ready")
        screen.type(b"\r")
        screen.wait_for_text("haricot top: tube mail")
        self.change(screen, b"p", "Pause tube mail for how long", b"10m\r",
                    "tube mail is paused for 600 s")
        self.assertEqual(self.server.stat("pause", "stats-tube mail"), "600")
        screen.wait_for_text("paused for ")
        if "- flush-tube" in self.server.ask("capabilities"):
            self.change(screen, b"F", "DELETE all ready, delayed and buried jobs of tube mail (3)?",
                        b"y", "deleted 3 jobs of tube mail")
        else:
            screen.type(b"F")
            screen.wait_for_text("the server does not know flush-tube")
            self.assertEqual(self.count("ready", "mail"), 2)

    def test_the_message_of_a_pause_ends_with_the_pause(self):
        self.fill(mail=2)
        screen = self.top("-i", "0.1", "--allow-changes")
        screen.wait_for(lambda: self.tubes_on(screen) == ["mail", "default"])
        # The first pause ends by itself, and another client ends the second.
        self.change(screen, b"p", "Pause tube mail for how long", b"1\r", "tube mail is paused for 1 s")
        screen.wait_for_text("2 tubes by ready")
        self.assertEqual(self.server.stat("pause", "stats-tube mail"), "0")
        self.change(screen, b"p", "Pause tube mail for how long", b"1h\r",
                    "tube mail is paused for 3600 s")
        self.server.ask("pause-tube mail 0")
        screen.wait_for_text("2 tubes by ready")

    def test_a_tube_that_the_server_refuses_has_no_other_changed(self):
        for tube, count in (("full", 2), ("default", 1)):
            for _ in range(count):
                self.server.put("x", tube)
                self.server.ask(f"watch {tube}", "ignore default", "reserve-with-timeout 0",
                                f"bury {self.server.stat('total-jobs')} 5")
        relay = FullRelay(self.server)
        self.addCleanup(relay.close)
        screen = self.top("-i", "0.1", "--allow-changes", "--sort", "buried",
                          address=relay.address)
        screen.wait_for(lambda: self.tubes_on(screen) == ["full", "default"])
        self.change(screen, b"K", "Make 2 buried jobs of tube full ready? [y/N]", b"y",
                    "OUT_OF_MEMORY")
        self.assertEqual((self.count("buried", "full"), self.count("buried", "default")), (2, 1))

    def test_nothing_is_changed_unless_that_is_allowed(self):
        self.fill(mail=1)
        self.server.ask("watch mail", "reserve", "bury 1 5")
        screen = self.top("-i", "1000", "--sort", "buried")
        screen.wait_for(lambda: self.tubes_on(screen) == ["mail", "default"])
        for key in (b"K", b"p", b"F"):
            screen.type(key)
            screen.wait_for_text("start top with --allow-changes")
            screen.type(b"y")  # Not an answer, so the usual line returns.
            screen.wait_for_text("2 tubes by buried")
        self.assertEqual(self.count("buried", "mail"), 1)
        self.assertEqual(self.server.stat("cmd-pause-tube"), "0")

    def test_help_lists_the_keys(self):
        screen = self.top()
        screen.type(b"?")
        screen.wait_for_text("haricot top: keys")
        screen.type(b" ")
        screen.wait_for_text("1 tube by ready")

    def test_it_fits_every_window(self):
        self.fill(**{"a" * 190: 1})
        screen = self.top("-i", "1000")
        screen.wait_for_text("haricot top")
        for rows, columns in ((40, 200), (5, 30), (1, 1), (24, 80), (24, 79)):
            while screen.read():
                pass
            clears = screen.clears
            screen.resize(rows, columns)
            screen.wait_for(lambda: screen.clears > clears)
            while screen.read():
                pass
            self.assertEqual([len(line) for line in screen.lines], [columns] * rows)
        self.assertEqual(screen.lines[-1].strip(), "")

    def test_it_outlives_the_server(self):
        self.fill(mail=1)
        screen = self.top("-i", "0.1")
        screen.wait_for_text("mail")
        self.server.stop()
        screen.wait_for_text("cannot connect to unix:")
        self.assertIn("mail", self.tubes_on(screen))
        if os.path.exists(self.server.path):
            os.unlink(self.server.path)
        self.server.start()
        self.fill(news=1)
        screen.wait_for_text("news")
        screen.wait_for(lambda: self.tubes_on(screen) == ["news", "default"])

    def test_it_can_be_left_while_the_server_hangs(self):
        screen = self.top("-i", "0.1", "--timeout", "60")
        screen.wait_for_text("default")
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            screen.type(b"?")
            screen.wait_for_text("haricot top: keys")
            screen.type(b"q")
            self.assertEqual(screen.end(), 0)
        finally:
            self.server.process.send_signal(signal.SIGCONT)
        self.assertTrue(screen.is_put_back())

    def test_count_ends_it(self):
        screen = self.top("-n", "2", "-i", "0.1")
        self.assertEqual(screen.end(), 0)
        self.assertTrue(screen.is_put_back())


class Ends(TopTest):
    """Tests that the terminal is restored, however the program ends."""

    def end_by(self, action):
        screen = self.top()
        screen.wait_for_text("default")
        self.assertFalse(screen.is_put_back())
        action(screen)
        status = screen.end()
        self.assertTrue(screen.is_put_back())
        return status

    def test_by_a_key(self):
        self.assertEqual(self.end_by(lambda screen: screen.type(b"q")), 0)

    def test_by_control_c(self):
        self.assertEqual(self.end_by(lambda screen: screen.type(b"\x03")), 0)

    def test_by_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            self.assertEqual(self.end_by(lambda screen: screen.process.send_signal(number)), 0)

    def test_by_a_signal_while_its_output_is_stopped(self):
        def stop_and_end(screen):
            termios.tcflow(screen.slave, termios.TCOOFF)
            screen.process.send_signal(signal.SIGTERM)

        self.assertEqual(self.end_by(stop_and_end), 0)

    def test_by_a_terminal_that_goes(self):
        screen = self.top()
        screen.wait_for_text("default")
        os.close(screen.master)
        self.assertEqual(screen.process.wait(20), 0)
        screen.master = os.dup(screen.slave)  # For close().

    def test_by_a_crash(self):
        status = self.end_by(lambda screen: screen.process.send_signal(signal.SIGABRT))
        self.assertEqual(status, -signal.SIGABRT)

    def test_it_can_be_stopped_and_continued(self):
        screen = self.top()
        screen.wait_for_text("default")
        screen.type(b"\x1a")
        screen.wait_for(lambda: state_of(screen.process.pid) == "T")
        while screen.read():
            pass
        self.assertTrue(screen.is_put_back())
        screen.lines = [""] * screen.rows
        screen.process.send_signal(signal.SIGCONT)
        screen.wait_for_text("default")
        self.assertTrue(screen.has_second_screen)
        screen.type(b"q")
        self.assertEqual(screen.end(), 0)
        self.assertTrue(screen.is_put_back())


class Batch(TopTest):
    def batch(self, *words, **more):
        status, output, error = run(TOOL, "top", *words, address=self.server.address, **more)
        self.assertEqual((status, error), (0, ""))
        return output.decode()

    def test_without_a_terminal_it_writes_screens(self):
        self.fill(mail=3)
        output = self.batch("-n", "2", "-i", "0.1")
        self.assertEqual(output.count("haricot top: "), 2)
        self.assertEqual(output.count("a second: 0 put, 0 reserve, 0 delete"), 2)
        self.assertNotIn("\x1b", output)
        rows = [line.split() for line in output.splitlines() if line.endswith(" mail")]
        self.assertEqual([row[0] for row in rows], ["3", "3"])

    def test_json_is_one_object_a_line(self):
        self.fill(mail=3)
        lines = self.batch("-n", "3", "-i", "0.1", "--json", "mail").splitlines()
        self.assertEqual(len(lines), 3)
        for line in lines:
            sample = json.loads(line)
            (server,) = sample["servers"]
            self.assertEqual(server["rates"]["put"], 0)
            self.assertEqual(server["server"]["current-jobs-ready"], 3)
            self.assertEqual([tube["name"] for tube in server["tubes"]], ["mail"])
            self.assertEqual(server["tubes"][0]["put-rate"], 0)

    def test_a_dumb_terminal_is_none(self):
        screen = self.top("-n", "1", "-i", "0.1", TERM="dumb")
        self.assertEqual(screen.end(), 0)
        self.assertEqual(screen.clears, 0)

    def test_a_closed_output_ends_it(self):
        tool = subprocess.Popen([TOOL, "top", "-i", "0.1", "-a", self.server.address],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        tool.stdout.readline()
        tool.stdout.close()
        self.assertEqual(tool.stderr.read(), b"")
        self.assertEqual(tool.wait(), LOCAL)
        tool.stderr.close()

    def test_a_server_that_goes_ends_it(self):
        tool = subprocess.Popen([TOOL, "top", "-i", "0.1", "-a", self.server.address],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        tool.stdout.readline()
        self.server.stop()
        tool.communicate()
        self.assertEqual(tool.returncode, 3)


def state_of(process):
    return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]


if __name__ == "__main__":
    unittest.main()
