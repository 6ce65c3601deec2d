#!/usr/bin/env python3
"""Checks that built binaries have the protections of cmake/Hardening.cmake.

    check_hardening.py BINARY...

Prints missing protections, one in each line, and exits with 1 if there are any. It uses readelf, except for the landing
marks of indirect jumps, which it counts in the code itself.
"""

import os
import pathlib
import re
import subprocess
import sys

# The machine code of instructions to which an indirect jump may lead (endbr64; bti and paciasp), and the alignment of
# instructions.
LANDING_MARKS = {
    "Advanced Micro Devices X86-64": ((b"\xf3\x0f\x1e\xfa",), 1),
    "AArch64": ((b"\x5f\x24\x03\xd5", b"\x9f\x24\x03\xd5", b"\xdf\x24\x03\xd5", b"\x3f\x23\x03\xd5"), 4),
}
# The start files of a C library have only a few; each of our functions has one.
MARKS_MIN = 100


class Binary:
    """A binary, which readelf reads."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def read(self, option):
        words = ["readelf", "--wide", option, str(self.path)]
        environment = os.environ | {"LC_ALL": "C"}
        return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout

    def code(self):
        """Returns the bytes of .text."""
        row = re.search(r"\s\.text\s+PROGBITS\s+\w+\s+(\w+)\s+(\w+)", self.read("--sections"))
        offset, size = (int(digits, 16) for digits in row.groups())
        return self.path.read_bytes()[offset:offset + size]


def check_position(header, dynamic):
    """Checks that the program can be loaded at any address."""
    good = re.search(r"Type:\s+DYN", header) and re.search(r"\(FLAGS_1\).*\bPIE\b", dynamic)
    return None if good else "is not a position independent executable"


def check_relocations(segments, dynamic):
    """Checks that the tables of addresses are filled at the start, and are read-only afterwards."""
    if "GNU_RELRO" not in segments:
        return "has writable tables of addresses (no RELRO)"
    if not re.search(r"\(FLAGS\).*\bBIND_NOW\b|\(FLAGS_1\).*\bNOW\b|\(BIND_NOW\)", dynamic):
        return "binds functions lazily (no BIND_NOW)"
    return None


def check_stack(segments):
    """Checks that the stack is not executable, and that no segment is both writable and executable."""
    row = re.search(r"GNU_STACK\s+(?:0x\w+\s+){5}([RWE ]+?)\s+0x", segments)
    if row is None or "E" in row.group(1):
        return "has an executable stack"
    for flags in re.findall(r"^\s+LOAD\s+(?:0x\w+\s+){5}([RWE ]+?)\s+0x", segments, re.MULTILINE):
        if "W" in flags and "E" in flags:
            return "has a segment that is writable and executable"
    return None


def check_canary(symbols):
    return None if "__stack_chk_fail" in symbols else "does not check its stack frames"


def check_fortified(symbols):
    checked = re.findall(r"\b__\w+_chk\b", symbols)
    return None if checked else "calls no checked function of the C library"


def check_landing_marks(machine, code):
    if machine not in LANDING_MARKS:
        return None
    marks, step = LANDING_MARKS[machine]
    count = sum(code[at:at + 4] in marks for at in range(0, len(code), step))
    if count < MARKS_MIN:
        return f"has only {count} landing marks of indirect jumps"
    return None


def check(binary):
    """Returns the missing protections."""
    header = binary.read("--file-header")
    segments = binary.read("--segments")
    dynamic = binary.read("--dynamic")
    symbols = binary.read("--dyn-syms")
    machine = re.search(r"Machine:\s+(.+?)\s*$", header, re.MULTILINE).group(1)
    findings = (
        check_position(header, dynamic),
        check_relocations(segments, dynamic),
        check_stack(segments),
        check_canary(symbols),
        check_fortified(symbols),
        check_landing_marks(machine, binary.code()),
    )
    return [finding for finding in findings if finding]


def main(paths):
    findings = [f"{path} {finding}" for path in paths for finding in check(Binary(path))]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
