#!/usr/bin/env python3
"""Holds the prose of the pages to the width of the code, and what leads to a page or a section to what exists.

    layout_test.py             says which lines are too long, and which links and names of sections lead nowhere
    layout_test.py --write     wraps the paragraphs with lines that are too long
"""

import re
import sys

sys.dont_write_bytecode = True
import documents

WIDTH = 100
# A paragraph ends in front of these: a table, a heading, a quotation, a comment, a picture.
ALONE = re.compile(r"\s*(\||#|>|<!--|!\[|```)|\s*$")
ITEM = re.compile(r"(\s*)([-*]|\d+\.) ")
# What must not be torn apart: code, with what stands right beside it.
WORD = re.compile(r"(?:`[^`]+`|[^\s`]|`)+")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
# In a page, and in a comment.
SECTION = re.compile(r"(?:\]\((?:[./\w]+/)?|docs/)([\w-]+\.md)\)?,\s+(?:(?://|#)\s+)?\"?([A-Z][^.;:)|\"\n]*)")


def pages():
    yield documents.ROOT / "README.md"
    yield documents.ROOT / "CHANGELOG.md"
    yield from sorted((documents.ROOT / "docs").glob("*.md"))
    # Not those of the client libraries.
    yield from sorted(path for path in (documents.ROOT / "tests").glob("**/README.md") if "node_modules" not in path.parts)


def paragraphs(lines):
    """(First line, line behind the last one) of each paragraph or item of a list."""
    start, indent, fenced = None, 0, False
    for i, line in enumerate([*lines, ""]):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        item = ITEM.match(line)
        own = len(line) - len(line.lstrip())
        apart = fenced or ALONE.match(line) or item
        if start is not None and (apart or own != indent):
            yield start, i
            start = None
        if start is None and not fenced and not ALONE.match(line):
            # What is indented like this after an empty line is code, except inside of an item.
            if item:
                start, indent = i, item.end()
            elif own < 4 and (own == 0 or i > 0):
                start, indent = i, own


def wrapped(lines):
    """The lines of a paragraph, filled anew."""
    item = ITEM.match(lines[0])
    first = item.group(0) if item else lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    words = WORD.findall(" ".join([lines[0][len(first):], *lines[1:]]))
    result, line = [], first
    for word in words:
        if line.strip() and line != first and len(line) + 1 + len(word) > WIDTH:
            # A line must not begin like an item or a heading.
            if not re.fullmatch(r"[-*+#>|]|\d+\.", word):
                result.append(line)
                line = " " * len(first)
        line += word if not line.strip() or line == first else " " + word
    return [*result, line]


def rewrap(text):
    lines = text.splitlines()
    for start, end in reversed(list(paragraphs(lines))):
        if any(len(line) > WIDTH for line in lines[start:end]):
            lines[start:end] = wrapped(lines[start:end])
    return "\n".join(lines) + "\n"


def troubles(path, text):
    name = path.relative_to(documents.ROOT)
    lines = text.splitlines()
    for start, end in paragraphs(lines):
        # A word alone in its line cannot be wrapped.
        for i in range(start, end):
            if len(lines[i]) > WIDTH and len(WORD.findall(lines[i].strip("-* "))) > 1:
                yield f"{name}:{i + 1}: {len(lines[i])} columns"
    for link in LINK.findall(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)):
        if "://" not in link and not (path.parent / link).exists():
            yield f"{name}: a link to {link}, which does not exist"


def missing_sections(path, text):
    """Which sections of pages it names that are not there."""
    for page, title in SECTION.findall(text):
        if not (documents.ROOT / "docs" / page).exists():
            continue
        there = re.findall(r"^#+ (.*)$|^(?:- )?\*\*(.+?)[.:]?\*\*", documents.read(page), re.MULTILINE)
        if not any(have.startswith(title.strip()) or title.startswith(have) for have in map("".join, there)):
            yield f"{path.relative_to(documents.ROOT)}: {page} has no section {title}"


def main(words):
    wrong = []
    for folder in ("include", "scripts", "src", "tests"):
        for path in (documents.ROOT / folder).rglob("*"):
            if path.suffix in (".hpp", ".cpp", ".py", ".txt") and "node_modules" not in path.parts:
                wrong += missing_sections(path, path.read_text(encoding="utf-8"))
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if words == ["--write"]:
            text = rewrap(text)
            path.write_text(text, encoding="utf-8")
        wrong += [*troubles(path, text), *missing_sections(path, text)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--write"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
