#!/usr/bin/env python3
"""Compares the instructions per command with the recorded figures.

    check_instructions.py COMMAND_LOAD BUILD [--write]

COMMAND_LOAD is the program that runs the commands. start_load, in the same folder, starts a server with a binlog: its
"command" is a restored job. BUILD is the name of the build in instructions.txt. valgrind counts the instructions, so
the figures hardly depend on the machine, and not on its load. The check fails if a count is more than a tenth above its
figure. After a justified change --write records the new figures.

Exits with 77 (skipped) without valgrind, or without figures for the build.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LOADS = ("single", "batches", "unique", "unique-single", "start")
PROGRAMS = {"start": "start_load"}  # Programs of loads that command_load does not run.
RISE_MAX = 1.10
SKIPPED = 77
FIGURES = pathlib.Path(__file__).with_name("instructions.txt")
COUNTED = "counted_turns"


class Failed(Exception):
    pass


def read_figures(text):
    """Returns {(build, load): instructions}."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {(build, load): float(figure) for build, load, figure in rows}


def write_figures(text, figures):
    """Returns the text with new rows."""
    head = [line for line in text.splitlines() if line.startswith("#")]
    rows = [f"{build} {load} {figure:.0f}" for (build, load), figure in sorted(figures.items())]
    return "\n".join(head + rows) + "\n"


def callgrind(load_program, load, output):
    load_program = load_program.with_name(PROGRAMS.get(load, load_program.name))
    return ["valgrind", "--tool=callgrind", f"--toggle-collect={COUNTED}",
            f"--callgrind-out-file={output}", str(load_program), load]


def count(load_program, load, folder):
    """Returns the instructions per command."""
    output = folder / load
    words = callgrind(load_program, load, output)
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Failed(f"{' '.join(words)}\n{run.stdout}{run.stderr}")
    total = re.search(r"^(?:summary|totals): (\d+)", output.read_text(), re.MULTILINE)
    commands = int(run.stdout)
    # A command needs much more than a function call; a lower count means that nothing was counted.
    if total is None or int(total.group(1)) < 50 * commands:
        raise Failed(f"{COUNTED} was not counted: {total and total.group(0)}")
    return int(total.group(1)) / commands


def verdict(load_program, load, counted, figure):
    """Returns an error if the count is too high, or None."""
    if counted <= figure * RISE_MAX:
        return None
    shown = " ".join(callgrind(load_program, load, "/tmp/callgrind.out"))
    return (f"{load}: a command takes {counted:.0f} instructions, {counted / figure - 1:.0%} more than"
            f" the {figure:.0f} in {FIGURES.name}. To see where they go:\n"
            f"    {shown}\n"
            f"    callgrind_annotate --inclusive=yes /tmp/callgrind.out")


def main(words):
    if len(words) not in (2, 3) or (len(words) == 3 and words[2] != "--write"):
        print(__doc__, file=sys.stderr)
        return 2
    load_program, build = pathlib.Path(words[0]), words[1]
    figures = read_figures(FIGURES.read_text())
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return SKIPPED
    if len(words) == 2 and not all((build, load) in figures for load in LOADS):
        print(f"skipped: {FIGURES.name} has no figures for {build}")
        return SKIPPED
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        for load in LOADS:
            counted = count(load_program, load, pathlib.Path(folder))
            if len(words) == 3:
                figures[build, load] = counted
            print(f"{load}: {counted:.1f} instructions a command, {figures[build, load]:.0f} expected")
            findings.append(verdict(load_program, load, counted, figures[build, load]))
    if len(words) == 3:
        FIGURES.write_text(write_figures(FIGURES.read_text(), figures))
    for finding in filter(None, findings):
        print(finding)
    return 1 if any(findings) else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failed as failed:
        print(failed)
        sys.exit(1)
