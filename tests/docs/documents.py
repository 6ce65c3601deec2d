"""Reads the documents for tests that compare them with the programs."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def blocks(name, language):
    """Returns the texts of a page's blocks of code in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", read(name), re.DOTALL | re.MULTILINE)


def section(name, title):
    """Returns the text below a heading, up to the next heading of its level or above."""
    text = read(name)
    match = re.search(rf"^(#+) {re.escape(title)}\n", text, re.MULTILINE)
    assert match, f"{name} has no section {title!r}"
    rest = text[match.end() :]
    level = len(match.group(1))
    end = re.search(rf"^#{{1,{level}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(text):
    """Returns the rows of the tables in a text, as lists of cells, without headings."""
    result = []
    for line in text.splitlines():
        if not line.startswith("|") or re.fullmatch(r"[|\s-]+", line):
            continue
        result.append([cell.strip() for cell in line.strip("|").split("|")])
    return result


def codes(cell):
    """Returns the words in a cell that are marked as code."""
    return re.findall(r"`([^`]+)`", cell)


class Block:
    def __init__(self, page, line, language, lines):
        self.page, self.line, self.language, self.lines = page, line, language, lines
        self.text = "".join(f"{text}\n" for text in lines)

    def __str__(self):
        return f"{self.page}:{self.line}: {self.lines[0]}"


def blocks_of(page, text):
    """Yields the blocks between fences, and those with an indentation of four blanks after an empty line."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        begin = at
        if lines[at].startswith("```"):
            while not lines[at + 1].startswith("```"):
                at += 1
            yield Block(page, begin + 1, lines[begin][3:], lines[begin + 1:at + 1])
            at += 2
        elif lines[at].startswith("    ") and not (at and lines[at - 1].strip()):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at]):
                at += 1
            found = [line[4:] for line in lines[begin:at]]
            while not found[-1]:
                found.pop()
            yield Block(page, begin + 1, "", found)
        else:
            at += 1
