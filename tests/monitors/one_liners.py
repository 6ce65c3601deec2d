#!/usr/bin/env python3
"""Runs operators' one-liners (one_liners.sh) against beanstalkd and haricotd, and compares the output.

    one_liners.py HARICOTD BEANSTALKD

haricotd runs under the name of beanstalkd, by a link like that of the Debian package. If the outputs differ, prints the
differences and exits with 1.
"""

import ctypes
import difflib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1] / "scripts/lib"))

import ports

SECONDS_MAX = 90
ATTEMPTS_MAX = 5
LINES_MIN = 100
PORT_WAS_TAKEN = 3
PR_SET_CHILD_SUBREAPER = 36


def end_orphans():
    """Kills the servers that the script has left in the background: they become children of this process."""
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for child in map(int, children):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def run(server, make):
    """Returns the lines that the script prints for a server. `make` installs the server in a folder."""
    for _ in range(ATTEMPTS_MAX):
        with tempfile.TemporaryDirectory() as folder:
            make(os.path.abspath(server), os.path.join(folder, "beanstalkd"))
            words = ["bash", str(HERE / "one_liners.sh"), folder, str(ports.choose_port())]
            try:
                script = subprocess.run(
                    words,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=SECONDS_MAX,
                    check=False,
                )
            finally:
                end_orphans()
            if script.returncode == PORT_WAS_TAKEN:
                continue
            return (script.stdout + script.stderr).splitlines()
    raise SystemExit("no port stayed free")


def main(haricotd, beanstalkd):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    known = run(beanstalkd, shutil.copy)
    ours = run(haricotd, os.symlink)
    if known == ours and len(known) >= LINES_MIN and known[-1] == "end":
        print(f"{len(known)} lines")
        return 0
    if known == ours:
        print("\n".join(known))
        print(f"only {len(known)} lines, or no end")
        return 1
    print("\n".join(difflib.unified_diff(known, ours, "beanstalkd", "haricotd", lineterm="")))
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
