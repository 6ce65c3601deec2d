#!/usr/bin/env python3
"""Compares screens of haricot top with pictures in files.

    picture_test.py HARICOT             compares
    picture_test.py HARICOT --write     writes the pictures again; check the diff afterwards

The screens are on a pseudo-terminal. A server in this test returns fixed statistics that depend only on the number of
requests, so a picture does not depend on the time or the load of the machine. A picture has the lines of the screen,
and below them the tones of the lines that are not plain: R red and bold, y yellow, b bold, i inverse.
"""

import difflib
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_server import Scripted
from screen import Screen

TOOL = sys.argv[1]
WRITES = "--write" in sys.argv
del sys.argv[1:]
FOLDER = pathlib.Path(__file__).parent / "pictures"
WIDTHS = (60, 80, 120, 200)
SAMPLES = 6  # Enough to detect a growing backlog.

LONG = "app.production.eu-west-1.notifications.email.digest"
# The values of stats-tube that are not 0.
TUBES = {
    "default": {"watching": 1, "using": 1},
    "mail": {"jobs-ready": 59207, "jobs-urgent": 12, "jobs-reserved": 40, "jobs-delayed": 1290,
             "watching": 48, "waiting": 0, "using": 4, "total": 1290000},
    LONG: {"jobs-ready": 31, "jobs-reserved": 7, "watching": 8, "waiting": 1, "total": 9876},
    "billing": {"jobs-buried": 1234, "watching": 2, "waiting": 2, "total": 5_000_000_000},
    "reports": {"jobs-ready": 8, "watching": 1, "waiting": 1, "pause": 7200, "left": 6100},
    "webhooks": {"using": 3},
    "thumbnails": {"jobs-reserved": 3, "watching": 20, "waiting": 17, "total": 1290},
}


def text(lines):
    body = "---\n" + "".join(line + "\n" for line in lines)
    return f"OK {len(body)}\r\n{body}\r\n".encode()


def webhooks(samples):
    """Returns the number of jobs of a tube without a watcher."""
    return 1000 + 250 * samples


class Fake:
    """The answers of a server. With `extended` it has the extended commands."""

    def __init__(self, extended=True, **more):
        self.extended = extended
        self.more = {key.replace("_", "-"): value for key, value in more.items()}
        self.samples = 0

    def __call__(self, line):
        command, *words = line.split()
        name = command.replace("-", "_")
        if not self.extended and name in ("capabilities", "list_jobs"):
            return b"UNKNOWN_COMMAND\r\n"
        return getattr(self, name)(*words)

    def stats(self):
        self.samples += 1
        keys = {
            "current-jobs-urgent": 12, "current-jobs-ready": 59246 + webhooks(self.samples),
            "current-jobs-reserved": 50, "current-jobs-delayed": 1290,
            "current-jobs-buried": 1234, "cmd-put": 5_001_301_166, "cmd-delete": 5_001_239_000,
            "cmd-reserve": 0, "cmd-reserve-with-timeout": 5_001_239_050, "job-timeouts": 17,
            "total-jobs": 5_001_301_166, "max-job-size": 65535, "current-tubes": len(TUBES),
            "current-connections": 1290, "current-producers": 12, "current-workers": 79,
            "current-waiting": 21, "total-connections": 123456, "pid": 1, "version": '"1.13"',
            "rusage-utime": "12.5", "rusage-stime": "40.25", "uptime": 273906,
            "binlog-oldest-index": 4, "binlog-current-index": 6, "draining": "false",
            "id": "0123456789abcdef", "hostname": '"a-host-elsewhere"',
            **({"haricot-version": '"0.1.0"'} if self.extended else {}), **self.more}
        return text(f"{key}: {value}" for key, value in keys.items())

    def list_tubes(self):
        return text(f"- {name}" for name in TUBES)

    def stats_tube(self, name):
        tube = dict(TUBES[name])
        if name == "webhooks":
            tube["jobs-ready"] = webhooks(self.samples)
        keys = ("jobs-urgent", "jobs-ready", "jobs-reserved", "jobs-delayed", "jobs-buried")
        lines = [f"name: {name}", *(f"current-{key}: {tube.get(key, 0)}" for key in keys)]
        lines += [f"total-jobs: {tube.get('total', 0)}"]
        lines += [f"current-{key}: {tube.get(key, 0)}" for key in ("using", "watching", "waiting")]
        lines += [f"cmd-delete: {tube.get('total', 0) // 2}", f"pause: {tube.get('pause', 0)}",
                  f"pause-time-left: {tube.get('left', 0)}"]
        return text(lines)

    def capabilities(self):
        return text(["- flush-tube", "- list-jobs"])

    def job(self, number, state):
        return [f"id: {number}", 'tube: "mail"', f"state: {state}", f"pri: {number % 3 * 1024}",
                f"age: {number // 7}", "delay: 0", "ttr: 120", f"time-left: {number % 100}",
                f"bytes: {number % 4096}", f"reserves: {number % 2}", "timeouts: 0", "releases: 0",
                f"buries: {int(state == 'buried')}", "kicks: 0"]

    def list_jobs(self, tube, state, count):
        total = TUBES[tube].get("jobs-" + state, 0)
        if (tube, state) == ("webhooks", "ready"):
            total = webhooks(self.samples)
        lines = []
        for i in range(min(int(count), total)):
            first, *rest = self.job((1289990 if state == "ready" else 1302240) + 3 * i, state)
            lines += ["- " + first, *("  " + line for line in rest)]
        return text(["jobs:", *lines]) if lines else text(["jobs: []"])

    def use(self, tube):
        return f"USING {tube}\r\n".encode()

    def peek_ready(self):
        return b"FOUND 1289990 5\r\nhello\r\n"

    def peek_delayed(self):
        return b"FOUND 1290011 7\r\ngoodbye\r\n"

    def peek_buried(self):
        return b"NOT_FOUND\r\n"

    def stats_job(self, number):
        state = "ready" if number == "1289990" else "delayed"
        return text(line for line in self.job(int(number), state) if not line.startswith("bytes"))


class Pictures(unittest.TestCase):
    maxDiff = None

    def screen(self, fake, columns, *words, rows=24, **environment):
        """Returns a screen after SAMPLES samples."""
        server = Scripted(fake)
        self.addCleanup(server.__exit__)
        # A relative path, so that no picture has the name of a temporary folder.
        screen = Screen([TOOL, "top", "-a", "unix:socket", "-i", "1000", *words], rows, columns,
                        environment, server.folder.name)
        self.addCleanup(screen.close)
        for sample in range(1, SAMPLES + 1):
            screen.wait_for_text(f"{webhooks(sample):,}")
            if sample < SAMPLES:
                screen.type(b" ")
        return screen

    def compare(self, name, screen):
        path = FOLDER / f"{name}-{screen.columns}.txt"
        if WRITES:
            while screen.read(0.5):
                pass
            path.write_text(screen.picture(), encoding="utf-8")
            return
        wanted = path.read_text(encoding="utf-8")
        try:
            screen.wait_for(lambda: screen.picture() == wanted)
        except AssertionError:
            difference = difflib.unified_diff(wanted.splitlines(), screen.picture().splitlines(),
                                              str(path), "the screen", lineterm="")
            self.fail("\n".join(difference))

    def test_the_table(self):
        for columns in WIDTHS:
            self.compare("table", self.screen(Fake(binlog_errors=0), columns))

    def test_the_table_of_a_server_in_trouble(self):
        more = {"draining": "true", "binlog_errors": 3, "binlog_refusing": 1, "binlog_no_space": 1,
                "memory_max": 1 << 30, "memory_used": (1 << 30) - 5, "memory_full": 1}
        for columns in WIDTHS:
            self.compare("trouble", self.screen(Fake(**more), columns))

    def test_the_table_without_colours(self):
        screen = self.screen(Fake(), 80, NO_COLOR="1")
        self.compare("plain", screen)
        self.assertFalse(set("".join(screen.tones)) & set("Ry"))

    def test_the_filter_while_it_is_typed(self):
        screen = self.screen(Fake(), 80)
        screen.type(b"/il")
        self.compare("filter", screen)

    def test_a_question(self):
        for columns in WIDTHS:
            screen = self.screen(Fake(), columns, "--allow-changes", "--sort", "buried")
            screen.type(b"F")
            self.compare("question", screen)

    def test_the_screen_of_a_tube(self):
        for columns in WIDTHS:
            screen = self.screen(Fake(), columns)
            screen.type(b"\r")
            self.compare("mail", screen)

    def test_the_screen_of_a_tube_whose_backlog_grows(self):
        screen = self.screen(Fake(), 80)
        screen.type(b"j\r")
        self.compare("webhooks", screen)

    def test_the_screen_of_a_tube_of_an_old_server_without_utf8(self):
        screen = self.screen(Fake(extended=False), 80, LC_ALL="C")
        screen.type(b"\r")
        self.compare("old-server", screen)

    def test_the_help(self):
        screen = self.screen(Fake(), 80)
        screen.type(b"h")
        self.compare("help", screen)

    def test_there_is_no_other_picture(self):
        wanted = {f"{name}-{columns}.txt" for columns in WIDTHS
                  for name in ("table", "trouble", "question", "mail")}
        wanted |= {f"{name}-80.txt"
                   for name in ("plain", "filter", "webhooks", "old-server", "help")}
        self.assertEqual({path.name for path in FOLDER.iterdir()}, wanted)


if __name__ == "__main__":
    unittest.main()
