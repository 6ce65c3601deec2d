#!/usr/bin/env python3
"""Parses statistics in all the ways of monitors, and compares the results.

    parsers.py HARICOTD BEANSTALKD

The installed beanstalkd (1.12 or 1.13) and haricotd with --compat= and that version get the same jobs and tubes. Each
parser has to return the same for both, including types. If beanstalkd is 1.12, haricotd without the flag is compared as
well: like 1.13, it quotes names, so that they are always texts. Prints the number of comparisons; the exit status is 1
if one failed.
"""

import json
import re
import subprocess
import sys
import tempfile

from servers import Connection, Server

# Names that are not texts for YAML 1.1, 1.2, or both.
TUBES = ["mail", "12345", "yes", "no", "null", "0x1F", "1_000", "3.14", "012", "Off"]
TEXTS = {"name", "tube", "version", "hostname", "os", "platform", "haricot-version"}
# Keys whose values differ between servers or times.
CHANGING = {"pid", "id", "uptime", "rusage-utime", "rusage-stime", "age", "time-left",
            "haricot-version"}
BEHIND_BINLOG = ["binlog-errors: 0", "binlog-refusing: 0", "binlog-no-space: 0",
                 "binlog-refused-puts: 0", "binlog-sync-lag: 0"]


# Parsers: they convert the answers of a server to values ---------------------------------------


def body_of(answer):
    """Returns the YAML in an answer."""
    first, rest = answer.split("\r\n", 1)
    assert first.startswith("OK "), answer
    return rest[:-2]


def by_lines(answers):
    """Parses like scripts: from the third line to the last but one, split at colon and blank."""
    result = []
    for answer in answers:
        lines = answer.split("\n")[2:-2]
        pairs = [line.split(": ") for line in lines]
        is_list = all(line.startswith("- ") for line in lines)
        assert is_list or all(len(pair) == 2 for pair in pairs), answer
        result.append([line[2:] for line in lines] if is_list else dict(pairs))
    return result


def by_integers(answers):
    """Parses like typed languages: numbers have to be valid, and no key may occur twice."""
    result = []
    for answer in answers:
        found = {}
        for line in body_of(answer).splitlines()[1:]:
            match = re.fullmatch(r"([a-z-]+): (.+)", line)
            if match is None:
                continue  # An item of a list.
            key, value = match.groups()
            assert key not in found, f"{key} is there twice"
            is_text = key in TEXTS | {"draining", "state"} or (key == "id" and len(value) == 16)
            if is_text:
                found[key] = value
            elif key.startswith("rusage-"):
                found[key] = float(value)
            else:
                assert re.fullmatch(r"\d{1,20}", value), line
                found[key] = int(value)
        result.append(found)
    return result


def by_program(*words):
    """Returns a parser that runs a program of another language: it gets a JSON list of texts, and prints their
    values."""

    def parse(answers):
        texts = json.dumps([body_of(answer) for answer in answers])
        run = subprocess.run(words, input=texts, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    return parse


def by_python(loader):
    """Returns a parser by Debian's Python, which has Debian's libraries. This test may run in another Python."""
    return by_program(
        "/usr/bin/python3",
        "-c",
        f"import json, sys; {loader}\n"
        "print(json.dumps([load(text) for text in json.load(sys.stdin)]))",
    )


PARSERS = {
    "lines": by_lines,
    "integers": by_integers,
    "python3-yaml": by_python("import yaml; load = yaml.safe_load"),
    # Reads YAML 1.2; the other libraries read 1.1.
    "python3-ruamel.yaml": by_python(
        "from ruamel.yaml import YAML; load = YAML(typ='safe', pure=True).load"
    ),
    "ruby": by_program(
        "ruby",
        "-ryaml",
        "-rjson",
        "-e",
        "puts JSON.generate(JSON.parse(STDIN.read).map { |text| YAML.safe_load(text) })",
    ),
    "php-yaml": by_program(
        "php",
        "-r",
        "echo json_encode(array_map('yaml_parse', json_decode(file_get_contents('php://stdin'))),"
        " JSON_PRESERVE_ZERO_FRACTION);",
    ),
}


# Servers ---------------------------------------------------------------------------------------


def answers_of(path, options):
    """Returns the reports of a server with jobs in all states and in all tubes."""
    with Server(path, options) as server:
        with Connection(server.port) as client:
            for tube in TUBES:
                client.ask(f"use {tube}")
                client.ask("put 10 0 60 5", "ready")
            client.ask("use mail")
            client.ask("watch mail")
            client.ask("put 2000 3600 60 7", "delayed")
            for answer in ("bury {} 5", "touch {}"):
                job = client.ask("put 0 0 600 3", "job").split()[1]
                assert client.ask("reserve").startswith("RESERVED " + job)
                client.ask(answer.format(job))
            client.ask("pause-tube mail 3600")
            asked = ["stats", "list-tubes", "list-tubes-watched"]
            asked += [f"stats-tube {tube}" for tube in TUBES]
            asked += [f"stats-job {job}" for job in range(1, len(TUBES) + 4)]
            answers = [client.ask(command) for command in asked]
        server.stop()
    return asked, answers


def without_changing_values(printed):
    if not isinstance(printed, dict):
        return printed
    job_id = "ttr" in printed  # The id of a job is stable, that of a server is not.
    return {
        key: value
        for key, value in printed.items()
        if key not in CHANGING or (key == "id" and job_id)
    }


def quoted_value(printed, raw, keeps_quotes):
    """Returns the expected value in haricotd's own style, given the value of the answer without quotes."""
    if not isinstance(printed, dict):
        return printed
    texts = dict(re.findall("^([a-z-]+): (.*)$", body_of(raw), re.MULTILINE))
    texts["version"] = "1.13"
    quote = '"' if keeps_quotes else ""
    return {
        key: quote + texts[key] + quote if key in TEXTS else value for key, value in printed.items()
    }


def check_last_lines(path):
    """Checks the lines after the platform: the keys of the binlog, if there is one, and haricotd's version."""
    with tempfile.TemporaryDirectory() as folder:
        plain = ["--no-extensions"]
        for options, last in (plain, []), (["-b", folder, *plain], BEHIND_BINLOG):
            with Server(path, options) as server, Connection(server.port) as client:
                lines = client.ask("stats").split("\n")
                server.stop()
            assert lines[-1] == "" and lines[-2] == "\r", lines[-2:]
            found = lines[-2 - len(last) - 1 : -2]
            assert found[0].startswith("platform: ") and found[1:] == last, found
        with Server(path, []) as server, Connection(server.port) as client:
            lines = client.ask("stats").split("\n")
            server.stop()
        assert lines[-4].startswith("platform: "), lines[-4:]
        assert re.fullmatch(r'haricot-version: "\d+\.\d+\.\d+"', lines[-3]), lines[-4:]
    return 3


def version_of(beanstalkd):
    shown = subprocess.run([beanstalkd, "-v"], capture_output=True, text=True, check=True).stdout
    return re.match(r"beanstalkd (\d+\.\d+)", shown)[1]


def main(haricotd, beanstalkd):
    version = version_of(beanstalkd)
    asked, theirs = answers_of(beanstalkd, [])
    servers = {f"--compat={version}": answers_of(haricotd, [f"--compat={version}"])[1]}
    if version == "1.12":
        servers["default"] = answers_of(haricotd, [])[1]
    held = check_last_lines(haricotd)
    wrong = 0
    for name, parse in PARSERS.items():
        readings = {style: parse(answers) for style, answers in servers.items()}
        for i, (command, raw, of_theirs) in enumerate(zip(asked, theirs, parse(theirs))):
            expected = without_changing_values(of_theirs)
            for style, printed in readings.items():
                wanted = expected
                if style == "default":
                    wanted = quoted_value(expected, raw, name in ("lines", "integers"))
                found = without_changing_values(printed[i])
                # For Python, True == 1; JSON distinguishes them.
                if json.dumps(found, default=str) == json.dumps(wanted, default=str):
                    held += 1
                    continue
                wrong += 1
                print(f"{name}, {command}, {style}:\n  expected {wanted}\n  got      {found}")
    print(f"{wrong} comparisons failed" if wrong else f"{held} comparisons")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
