#!/usr/bin/env python3
"""Compares the events of the log in the sources with the table in docs/runbook.md."""

import re
import sys

sys.dont_write_bytecode = True
import documents

# Calls of event(), and of functions that pass the name on to it.
EVENT = re.compile(
    r'\b(?:event|append)\(\s*(?:os::)?Level::(\w+),\s*"([a-z-]+)"', re.DOTALL
)


def events_of_sources():
    found = {}
    paths = [documents.ROOT / "src" / "main.cpp"]
    paths += sorted((documents.ROOT / "src").glob("*/*.cpp"))
    paths += sorted((documents.ROOT / "src" / "web").glob("*/*.cpp"))
    calls = 0
    for path in paths:
        text = path.read_text(encoding="utf-8")
        calls += len(re.findall(r"\blog_?\.event\(", text))
        for level, name in EVENT.findall(text):
            found.setdefault(name, set()).add(level)
    return found, calls


def main():
    found, calls = events_of_sources()
    listed = {}
    wrong = []
    for cells in documents.rows(documents.section("runbook.md", "Log"))[1:]:
        (name,) = documents.codes(cells[0])
        if name in listed:
            wrong.append(f"{name} is documented twice")
        listed[name] = cells[1]
        if not cells[2]:
            wrong.append(f"{name} has no meaning")
    wrong += [f"{name} is not documented" for name in sorted(found.keys() - listed.keys())]
    wrong += [f"{name} is documented, but not an event" for name in sorted(listed.keys() - found.keys())]
    for name in sorted(found.keys() & listed.keys()):
        if found[name] != {listed[name]}:
            wrong.append(f"{name} is {'/'.join(found[name])}, but documented as {listed[name]}")
    if calls < 20 or len(found) < 20:
        wrong.append(f"only {calls} calls and {len(found)} names found: the pattern may be outdated")
    print("\n".join(wrong) if wrong else f"{len(found)} events")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
