"""A terminal for a test: a pseudo-terminal with a process on it, and what its screen shows.

It knows only what every terminal knows. A sequence that is not among that is an error, as is a
character beyond the right margin.
"""

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time

from operator_server import DEADLINE_S

SEQUENCE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    def __init__(self, command, rows=24, columns=80, environment=None):
        self.master, self.slave = os.openpty()
        self.resize(rows, columns)
        self.modes_before = termios.tcgetattr(self.slave)
        self.has_second_screen = self.hides_cursor = False
        self.bytes = 0
        self.clears = 0
        self.rest = b""
        settings = {**os.environ, "TERM": "xterm", **(environment or {})}
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=self.slave, stdout=self.slave, stderr=self.slave,
            env=settings, preexec_fn=self.become_terminal)

    def become_terminal(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines = [" " * columns for _ in range(rows)]
        self.inverse = set()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys)

    def read(self, patience=0.02):
        """Takes what the process has written; False if there was nothing."""
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
                self.write(text.decode("ascii"))
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
            self.lines = [" " * self.columns for _ in range(self.rows)]
        elif letter == b"m":
            self.is_inverse = numbers == b"7"
        else:
            raise AssertionError(f"an odd sequence: {private}{numbers}{letter}")

    def write(self, text):
        if not self.has_second_screen:
            return
        assert text.isprintable(), repr(text)
        # While the window changes its size, a line may still be as long as the old one.
        if self.row >= len(self.lines):
            return
        line = self.lines[self.row]
        end = self.column + len(text)
        self.lines[self.row] = line[:self.column] + text + line[end:]
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
