#!/usr/bin/env python3
"""Compares the numbers of operating.md, Limits, and of compatibility.md with the constants of the sources."""

import re
import sys

sys.dont_write_bytecode = True
import documents

HEADERS = ("base/turn_limits.hpp", "service/session.hpp", "protocol/command.hpp")
CONSTANT = re.compile(r"\bconstexpr [\w:]+ (k\w+) =\s*([^;]+);")


def constants():
    found = {}
    for header in HEADERS:
        text = (documents.ROOT / "include/haricot" / header).read_text(encoding="utf-8")
        for name, value in CONSTANT.findall(text):
            if re.fullmatch(r"[\w\s'+*/()]+", value):
                found[name] = eval(value.replace("'", ""), {}, found)
    return found


def size(count):
    unit = 1024 * 1024 if count % (1024 * 1024) == 0 else 1024
    return f"{count // unit} {'KiB' if unit == 1024 else 'MiB'}"


def main():
    has = constants()

    def commands(steps):
        return str(has[steps] // has["kStepsPerCommand"])

    at_a_time = str(has["kStepsOfTasks"] // has["kStepsPerJob"])
    listed = {
        "a command line": [has["kLineBytesMax"], has["kBatchLineBytesMax"]],
        "unread answers of a connection": [size(has["kOutputBytesMax"]), size(has["kOutputWithBodiesBytesMax"])],
        "commands of one connection in a turn": [commands("kStepsPerShare")],
        "commands of all connections in a turn": [commands("kStepsOfSessions"), commands("kStepsPerShareMin")],
        "answers that are sent in a turn": [
            size(has[name]) for name in ("kSentBytes", "kSentBytesOfAll", "kSentBytesMin")],
        "a kick, or the end of a connection that holds jobs, moves all jobs in one go": [at_a_time],
        "a closing connection leaves all its tubes in one go": [at_a_time],
    }
    pages = (documents.section("operating.md", "Limits"), documents.read("compatibility.md"))
    rows = {cells[0]: cells[1] for page in pages for cells in documents.rows(page)}
    wrong = []
    for what, numbers in listed.items():
        printed = re.findall(r"\d+(?: [KM]iB)?", rows[what])
        if printed[: len(numbers)] != [str(number) for number in numbers]:
            wrong.append(f"{what}: {', '.join(map(str, numbers))}, but the page has: {rows[what]}")
    print("\n".join(wrong) if wrong else f"{len(listed)} limits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
