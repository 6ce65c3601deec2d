"""Adds up the coverage that gcov reports for each folder of the core library, and fails if it is too low.

    coverage.py OBJECTS [--missing]

A line counts if the compiler has generated code for it. A branch is one outcome of a condition, as gcov counts
them in code that is not optimised, with two exceptions:

- A pair of branches does not count if one of them is an exception that passes through. Every call of the standard
  library has such a pair, whose other branch only means that the call returned. (gcov marks the branch of the
  exception, and the other one is beside it.) tests/faults tests each failing allocation.
- Conditions in a CHECK do not count: their other branch is a bug of ours and ends the program.

The headers that the library uses count for their folder. Counts of the same line in several objects are added.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("queue", "protocol", "binlog", "service")
LINES_MIN = 95.0
BRANCHES_MIN = 85.0


def folder_of(path):
    """Returns the folder that a file counts for, or None if it does not count."""
    for folder in FOLDERS:
        for home in (ROOT / "src" / folder, ROOT / "include" / "haricot" / folder):
            if home in path.parents:
                return folder
    return None


def counted_branches(branches):
    """Returns the counts of the branches, without pairs that have an exception."""
    counts = []
    at = 0
    while at < len(branches):
        pair = branches[at : at + 2]
        if len(pair) == 2 and any(branch["throw"] for branch in pair):
            at += 2
            continue
        if not branches[at]["throw"]:
            counts.append(branches[at]["count"])
        at += 1
    return counts


def read(objects):
    """Returns two dicts by file and line: the count of the line, and the counts of its branches."""
    lines, branches = {}, {}
    for data in sorted(pathlib.Path(objects).rglob("*.gcda")):
        output = subprocess.run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities", data.name],
            cwd=data.parent, check=True, capture_output=True, text=True).stdout
        for report in output.splitlines():
            add(json.loads(report), lines, branches)
    return lines, branches


def add(report, lines, branches):
    home = pathlib.Path(report["current_working_directory"])
    for file in report["files"]:
        path = (home / file["file"]).resolve()
        if folder_of(path) is None:
            continue
        source = path.read_text().splitlines()
        for line in file["lines"]:
            key = (path, line["line_number"])
            lines[key] = lines.get(key, 0) + line["count"]
            if "CHECK(" in source[line["line_number"] - 1]:
                continue
            counts = counted_branches(line["branches"])
            known = branches.get(key, [])
            if len(counts) == len(known):
                counts = [one + other for one, other in zip(counts, known)]
            branches[key] = max(counts, known, key=len) if len(counts) != len(known) else counts


def share(part, whole):
    return 100.0 * part / whole if whole else 100.0


def main(arguments):
    lines, branches = read(arguments[0])
    if not lines:
        print("no coverage data", file=sys.stderr)
        return 1
    good = True
    for folder in FOLDERS:
        own = {key: count for key, count in lines.items() if folder_of(key[0]) == folder}
        ways = [count for key in own for count in branches.get(key, [])]
        by_line = share(sum(count > 0 for count in own.values()), len(own))
        by_branch = share(sum(count > 0 for count in ways), len(ways))
        enough = by_line >= LINES_MIN and by_branch >= BRANCHES_MIN
        good = good and enough
        print(f"{folder:10} {by_line:5.1f} % of {len(own):4} lines, {by_branch:5.1f} % of "
              f"{len(ways):4} branches{'' if enough else '   TOO LOW'}")
    if "--missing" in arguments:
        for (path, number), count in sorted(lines.items()):
            untaken = sum(1 for ways in branches.get((path, number), []) if ways == 0)
            if count > 0 and untaken == 0:
                continue
            text = path.read_text().splitlines()[number - 1].strip()
            missing = "line" if count == 0 else f"{untaken} of its branches"
            print(f"{path.relative_to(ROOT)}:{number}: {missing}: {text}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
