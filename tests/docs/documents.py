"""What the documents say, for tests that hold them against the program."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def blocks(name, language):
    """The texts of the blocks of code of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", read(name), re.DOTALL | re.MULTILINE)


def section(name, title):
    """What stands under a heading, up to the next one of its level or above."""
    text = read(name)
    match = re.search(rf"^(#+) {re.escape(title)}\n", text, re.MULTILINE)
    assert match, f"{name} has no section {title!r}"
    rest = text[match.end() :]
    level = len(match.group(1))
    end = re.search(rf"^#{{1,{level}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(text):
    """The rows of the tables in a text, as lists of cells, without heads."""
    result = []
    for line in text.splitlines():
        if not line.startswith("|") or re.fullmatch(r"[|\s-]+", line):
            continue
        result.append([cell.strip() for cell in line.strip("|").split("|")])
    return result


def codes(cell):
    """The words in a cell that are set as code."""
    return re.findall(r"`([^`]+)`", cell)
