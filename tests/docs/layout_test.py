#!/usr/bin/env python3
"""Checks the width of the pages' prose, and their links and names of sections.

    layout_test.py             lists lines that are too long, broken links, and names of missing sections
    layout_test.py --write     wraps the paragraphs with lines that are too long
"""

import re
import sys

sys.dont_write_bytecode = True
import documents

WIDTH = 100
# The lines that end a paragraph: a table, a heading, a quotation, a comment, a picture.
ALONE = re.compile(r"\s*(\||#|>|<!--|!\[|```)|\s*$")
ITEM = re.compile(r"(\s*)([-*]|\d+\.) ")
# A unit that is not split: a word, or code with the adjacent characters.
WORD = re.compile(r"(?:`[^`]+`|[^\s`]|`)+")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
# The name of a section after a page, in a page or in a comment.
SECTION = re.compile(r"(?:\]\((?:[./\w]+/)?|docs/)([\w-]+\.md)\)?,\s+(?:(?://|#)\s+)?\"?([A-Z][^.;:)|\"\n]*)")


def pages():
    yield documents.ROOT / "README.md"
    yield documents.ROOT / "CHANGELOG.md"
    yield from sorted((documents.ROOT / "docs").glob("*.md"))
    # Without the READMEs of client libraries.
    yield from sorted(path for path in (documents.ROOT / "tests").glob("**/README.md") if "node_modules" not in path.parts)


def paragraphs(lines):
    """Yields the first line, and the line after the last one, of each paragraph or item of a list."""
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
            # Text with this indentation after an empty line is code, except in an item.
            if item:
                start, indent = i, item.end()
            elif own < 4 and (own == 0 or i > 0):
                start, indent = i, own


def wrapped(lines):
    """Returns the lines of a paragraph, wrapped again."""
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
        # A line of one word cannot be wrapped.
        for i in range(start, end):
            if len(lines[i]) > WIDTH and len(WORD.findall(lines[i].strip("-* "))) > 1:
                yield f"{name}:{i + 1}: {len(lines[i])} columns"
    for link in LINK.findall(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)):
        if "://" not in link and not (path.parent / link).exists():
            yield f"{name}: a link to {link}, which does not exist"


def missing_sections(path, text):
    """Yields an error for each named section that does not exist."""
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
