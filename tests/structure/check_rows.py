#!/usr/bin/env python3
"""Checks that each command, tag, flag and key of `stats` is in the lists outside the program that need it, and that
tests use each flag and check the value of each key.

    check_rows.py ROOT

Reads the rows of the tables in the sources. Prints each list that lacks a row, one finding a line, and exits with 1 if
there is any. Lists that are generated from the rows need no check; the compiler checks the rest.
"""

import pathlib
import re
import sys

COMMANDS = "include/haricot/protocol/command_rows.inc"
TAGS = "include/haricot/base/tag_rows.inc"
FLAGS = "src/os/options.cpp"
KEYS = "src/service/statistics.cpp"

# The rows of a table: a pattern with the name, and perhaps the set, of a row.
ROWS = {
    "command": (COMMANDS, re.compile(r'^HARICOT_COMMAND\(\w+, "([^"]+?) ?", \w+, "[^"]*", (\w+),', re.MULTILINE)),
    "tag": (TAGS, re.compile(r'^HARICOT_TAG\(\w+, "(\w+)",', re.MULTILINE)),
    "flag of a tag": (TAGS, re.compile(r'^HARICOT_TAG\(.*\n +"([\w-]+)",', re.MULTILINE)),
    "flag": (FLAGS, re.compile(r"^ {4}\{\{(?:0|'\w'), \"([\w-]+)\"", re.MULTILINE)),
    # The flags that beanstalkd lacks. Tests use the others by their letters.
    "flag without a letter": (FLAGS, re.compile(r'^ {4}\{\{0, "([\w-]+)"', re.MULTILINE)),
    "key": (KEYS, re.compile(r'^ {4}\w+::\w+\(\s*"([\w-]+)"', re.MULTILINE)),
}
ROWS["value of the key"] = ROWS["key"]
# The least number of rows: fewer mean that the pattern no longer fits the table.
ROWS_MIN = {"command": 40, "tag": 5, "flag of a tag": 5, "flag": 30, "flag without a letter": 15,
            "key": 40, "value of the key": 40}
# The tests that run a server.
SCRIPTS = "tests/conformance/scripts/*/*.script"
SERVER_TESTS = (SCRIPTS, "tests/os/daemon_*_test.cpp", "tests/persistence/*_test.cpp", "tests/service/*_test.cpp")


def word(text):
    """A pattern for a word that no other word contains."""
    return r"(?<![\w-])" + re.escape(text) + r"(?![\w-])"


def in_page(tag):
    return rf"`{tag}(?::[^`]*)?`|\*\*`{tag}:"


def in_put(tag):
    return rf"(?<!\w){tag}:"


def in_manual(flag):
    return re.escape("\\-\\-" + flag.replace("-", "\\-")) + r"(?![\w\\])"


def in_request(command):
    """A pattern for the verb of a command that the simulation sends."""
    verb = "delete_job" if command == "delete" else command.replace("-", "_")
    return rf"Verb::{verb}\b"


def with_value(key):
    """A pattern for the value of a key: in a script, unless it is *, or in an assertion."""
    return rf'(?m)^ +(?:@\w+ )*{key}: (?!\*$)|"{key}"\), '


# The lists: the kind of their rows, the file (or patterns of files, which are read as one), a pattern of a row in it,
# and the sets of commands (None: all).
LISTS = [
    ("command", "tests/conformance/tails.cpp", word, None),
    ("command", "tests/faults/scenario.cpp", word, None),
    ("command", "tests/fuzz/session.dict", word, None),
    ("command", "tests/protocol/command_test.cpp", word, None),
    ("command", "tests/differential/command_stream.cpp", word, {"standard"}),
    ("command", "docs/protocol.md", word, {"standard"}),
    ("command", "docs/beyond.md", word, {"extended", "operators"}),
    ("command", "docs/clients.md", word, {"extended"}),
    ("command", "tests/conformance/scripts/extended/capabilities.script", word, {"extended"}),
    ("command", "tests/conformance/scripts/extended/capabilities_of_an_operator.script", word,
     {"extended", "operators"}),
    ("command", "tests/simulation/model_extended.cpp", word, {"extended", "operators"}),
    ("command", ("tests/simulation/requests*.cpp",), in_request, None),
    ("command", (SCRIPTS,), lambda command: rf"(?m)^\w+>>? {command}(?![\w-])", None),
    ("tag", (SCRIPTS,), lambda tag: rf"(?m)^\w+>>? put .* {tag}:", None),
    ("tag", "tests/conformance/scripts/extended/capabilities.script", word, None),
    ("tag", "tests/conformance/scripts/extended/capabilities_of_an_operator.script", word, None),
    ("tag", "tests/faults/scenario.cpp", in_put, None),
    ("tag", "tests/fuzz/session.dict", in_put, None),
    ("tag", "tests/fuzz/session_seeds.cpp", in_put, None),
    ("tag", "tests/fuzz/state_play.cpp", in_put, None),
    ("tag", "tests/queue/engine_serializer_test.cpp", in_put, None),
    ("tag", "tests/simulation/model_tries.cpp", in_put, None),
    ("tag", "tests/simulation/model_extended.cpp", word, None),
    ("tag", "tests/simulation/model_reports.cpp", lambda tag: rf'"  {tag}"', None),
    ("tag", ("tests/simulation/requests*.cpp",), lambda tag: rf'line \+= " {tag}:', None),
    ("tag", "tests/tool/tags_test.py", word, None),
    ("tag", "docs/beyond.md", in_page, None),
    ("tag", "docs/clients.md", word, None),
    ("tag", "docs/statistics.md", lambda tag: rf"(?m)^ +{tag}: ", None),
    ("tag", "packaging/man/haricot.1", lambda tag: rf"the tag {tag}\)", None),
    ("flag of a tag", "packaging/man/haricot.1", in_manual, None),
    ("flag of a tag", "packaging/bash-completion/haricot", lambda flag: word("--" + flag), None),
    ("flag of a tag", "packaging/fish-completion/haricot.fish", lambda flag: rf" -l {flag} ", None),
    ("flag of a tag", "packaging/zsh-completion/_haricot", lambda flag: word("--" + flag), None),
    ("flag", "docs/operating.md", lambda flag: word("--" + flag), None),
    ("flag", "packaging/man/haricotd.8", in_manual, None),
    ("flag", "tests/os/options_test.cpp", lambda flag: rf'"(?:--)?{flag}[="]', None),
    ("flag without a letter", SERVER_TESTS, lambda flag: word("--" + flag), None),
    ("key", "docs/statistics.md", lambda key: rf"`{key}[`:]", None),
    ("value of the key", SERVER_TESTS, with_value, None),
]


def rows_of(kind, text):
    """The (name, set) of each row of a table; the set is None if the table has none."""
    return [(match[1], match[2] if match.re.groups > 1 else None) for match in ROWS[kind][1].finditer(text)]


def name_of(path):
    """The name of a list in findings."""
    return path if isinstance(path, str) else " or ".join(path)


def read(root, path):
    """The text of a file, or of all files that match patterns."""
    files = [root / path] if isinstance(path, str) else [file for one in path for file in sorted(root.glob(one))]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def check(texts):
    """Findings, of a function that returns the text of a file or of patterns."""
    findings = []
    rows = {kind: rows_of(kind, texts(table)) for kind, (table, _) in ROWS.items()}
    for kind, found in rows.items():
        if len(found) < ROWS_MIN[kind]:
            findings.append(f"{ROWS[kind][0]}: only {len(found)} rows can be read ({kind})")
    for kind, path, pattern, sets in LISTS:
        text = texts(path)
        for name, own_set in rows[kind]:
            if sets is not None and own_set not in sets:
                continue
            if not re.search(pattern(name), text):
                findings.append(f"{name_of(path)}: lacks the {kind} {name}, which has a row in {ROWS[kind][0]}")
    return findings


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[1])
    findings = check(lambda path: read(root, path))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
