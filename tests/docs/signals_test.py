#!/usr/bin/env python3
"""Sends each signal to a server, and compares the effect with docs/operating.md, Signals.

    signals_test.py HARICOTD
"""

import os
import pathlib
import resource
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "monitors"))

import documents
from servers import Connection, Server

DEADLINE_S = 60
ENDS, CONTINUES, STOPS, KILLS = "ends the server with status 0", "continues", "stops the server", "kills"


def documented():
    """Returns the documented effect of each signal by name."""
    found = {}
    for cells in documents.rows(documents.section("operating.md", "Signals"))[1:]:
        (does,) = [words for words in (ENDS, CONTINUES, STOPS, KILLS) if cells[1].startswith(words)]
        for name in documents.codes(cells[0]):
            assert name not in found, f"{name} has two rows"
            found[name] = does
    return found


def is_stopped(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return stat.rpartition(") ")[2].startswith("T")


def serves(server):
    with Connection(server.port) as client:
        return client.ask("list-tube-used") == "USING default\r\n"


def try_signal(haricotd, options, number):
    """Sends the signal to a server with these options. Returns its effect."""
    with Server(haricotd, options) as server:
        assert serves(server)
        process = server.process
        process.send_signal(number)
        if number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            # The kernel ignores a terminal's stop signal if no shell controls the process.
            end = time.monotonic() + 1
            while not is_stopped(process.pid) and time.monotonic() < end:
                time.sleep(0.01)
            process.send_signal(signal.SIGCONT)
            assert serves(server)
            return STOPS
        # A fatal signal takes effect before the server can handle another command, so answers show that it continues.
        try:
            if serves(server) and serves(server):
                return CONTINUES
        except (OSError, AssertionError, ValueError):
            pass
        status = process.wait(DEADLINE_S)
        if status == 0:
            return ENDS
        assert status == -number, f"status {status}"
        return KILLS


# Keeps the sanitizer of a sanitized server from handling these signals itself.
OWN_HANDLERS = "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0"


def main(haricotd):
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":" + OWN_HANDLERS
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    listed = documented()
    wrong = []
    signals = [each for each in signal.Signals if each < signal.SIGRTMIN]
    with tempfile.TemporaryDirectory() as folder:
        for each in signals:
            for options in [], ["-b", folder, "--sandbox"]:
                does = try_signal(haricotd, options, each)
                if listed.get(each.name) != does:
                    wrong.append(f"{each.name} {options}: {does}; the table: {listed.get(each.name)}")
    does = try_signal(haricotd, [], signal.SIGRTMIN)
    if does != KILLS:
        wrong.append(f"real-time signals: {does}")
    wrong += [f"{name} is no signal" for name in listed if name not in signal.Signals.__members__]
    print("\n".join(wrong) if wrong else f"{len(signals)} signals")
    return 1 if wrong or len(signals) < 25 else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1])))
