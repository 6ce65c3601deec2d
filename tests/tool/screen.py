"""A terminal for tests: a pseudo-terminal with a process, and its screen.

It supports only the sequences of every terminal; another sequence is an error. In addition to the characters it stores
their tones: a letter for each column, as in TONES.
"""

import codecs
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time

from operator_server import DEADLINE_S

# The tones of characters by the numbers of a sequence for attributes.
TONES = {b"0": ".", b"1": "b", b"7": "i", b"33": "y", b"1;31": "R"}
SEQUENCE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    def __init__(self, command, rows=24, columns=80, environment=None, folder=None):
        self.master, self.slave = os.openpty()
        self.resize(rows, columns)
        self.modes_before = termios.tcgetattr(self.slave)
        self.has_second_screen = self.hides_cursor = False
        self.bytes = 0
        self.clears = 0
        self.rest = b""
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        settings = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(environment or {})}
        if "NO_COLOR" not in (environment or {}):
            settings.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=self.slave, stdout=self.slave, stderr=self.slave,
            cwd=folder, env=settings, preexec_fn=self.become_terminal)

    def become_terminal(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.clear()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def clear(self):
        self.tone = "."
        self.lines = [" " * self.columns for _ in range(self.rows)]
        self.tones = ["." * self.columns for _ in range(self.rows)]

    def type(self, keys):
        os.write(self.master, keys)

    def read(self, patience=0.02):
        """Reads output of the process. Returns false if there is none."""
        if not select.select([self.master], [], [], patience)[0]:
            return False
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            return False
        self.bytes += len(piece)
        self.rest += piece
        self.show()
        return True

    def show(self):
        while self.rest:
            if self.rest[:1] == b"\x1b":
                match = SEQUENCE.match(self.rest)
                if not match:
                    assert len(self.rest) < 20, self.rest[:40]
                    return
                self.obey(*match.groups())
                self.rest = self.rest[match.end():]
            else:
                text = re.match(rb"[^\x1b]+", self.rest)[0]
                self.write(self.decoder.decode(text))
                self.rest = self.rest[len(text):]

    def obey(self, private, numbers, letter):
        if private and numbers == b"1049":
            self.has_second_screen = letter == b"h"
        elif private and numbers == b"25":
            self.hides_cursor = letter == b"l"
        elif letter == b"H":
            row, column = (int(number) for number in numbers.split(b";"))
            self.row, self.column = row - 1, column - 1
        elif (numbers, letter) == (b"2", b"J"):
            self.clears += 1
            self.clear()
        elif letter == b"m":
            self.tone = TONES[numbers]
        else:
            raise AssertionError(f"an odd sequence: {private}{numbers}{letter}")

    def write(self, text):
        if not self.has_second_screen:
            return
        assert text.isprintable(), repr(text)
        # During a resize, output may still have the old size.
        if self.row >= len(self.lines):
            return
        line = self.lines[self.row]
        end = self.column + len(text)
        self.lines[self.row] = line[:self.column] + text + line[end:]
        tones = self.tones[self.row]
        self.tones[self.row] = tones[:self.column] + self.tone * len(text) + tones[end:]
        self.column = end

    def wait_for(self, is_true):
        end = time.monotonic() + DEADLINE_S
        while True:
            self.read()
            if is_true():
                return
            if time.monotonic() > end:
                raise AssertionError("never shown; the screen:\n" + "\n".join(self.lines))

    def wait_for_text(self, text):
        self.wait_for(lambda: any(text in line for line in self.lines))

    def picture(self):
        """Returns the screen as text: its lines, and below them the tones of those that are not plain."""
        lines = [line.rstrip() for line in self.lines]
        tones = [f"{row:2} {tones.rstrip('.')}" for row, tones in enumerate(self.tones, 1)
                 if tones.strip(".")]
        return "\n".join([*lines, "=" * self.columns, *tones]) + "\n"

    def is_put_back(self):
        return (not self.has_second_screen and not self.hides_cursor
                and termios.tcgetattr(self.slave) == self.modes_before)

    def end(self):
        """Waits for the end of the process and returns its status."""
        end = time.monotonic() + DEADLINE_S
        while self.process.poll() is None:
            self.read()
            assert time.monotonic() < end, "it does not end"
        while self.read(0):
            pass
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
