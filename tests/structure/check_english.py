#!/usr/bin/env python3
"""Checks the English of comments and pages by patterns of sentences that have to be read twice.

    check_english.py ROOT            prints each sentence that matches, with the rule, and exits with 1 if any does
    check_english.py --count ROOT    prints the number of sentences and of hits for each folder

docs/contributing.md, English, has the rules. The patterns find only a part of the violations.
"""

import collections
import os
import pathlib
import re
import sys

# Each rule, and the pattern of sentences that break it.
RULES = [
    ("begin with the subject", r"^(?:What|Whatever|Who|Whoever|Whom|Whose|Whether|Of|The same)\b(?!.*\?$)"),
    ("write except or unless", r"\bbut (?:for|with|of|in|where|when|if)\b|\b(?:nothing|nobody|none|anything) but\b"),
    ("write report, return or notify", r"(?i)\b(?:tells?|told|telling)\b"),
    ("write continue, resume or become", r"(?i)\b(?:go(?:es|ing)?|went) on\b|\b(?:comes?|came) to\b"),
    ("write release, free or drop", r"(?i)\blets? go\b"),
    ("name the client, holder, owner, caller or operator", r"(?i)\b(?:somebody|nobody|whoever|whom|who (?:has|have))\b"),
    ("name the thing instead of `what`",
     r"\b(?:of|for|to|from|with|by|as|than|beside|below|above|after|before|takes?|keeps?|writes?|reads?|sends?|gives?)"
     r" what\b"),
    ("write as long as, as many as or until", r"(?i)\bfor so long\b|\bso (?:many|much|long|often) (?:as|at once)\b"),
]
PATTERNS = [(rule, re.compile(pattern)) for rule, pattern in RULES]
# Parts of sentences that match a pattern and are correct.
EXCEPTIONS = []
# Names of folders without texts of the project.
SKIPPED = {".git", "build", "node_modules"}

# The mark of a comment, by the ending of the file's name. A file without an ending is a script.
MARKS = {"cpp": "//", "hpp": "//", "js": "//", "mjs": "//", "inc": "//", "py": "#", "sh": "#", "bash": "#", "": "#"}


def paragraphs_of_page(lines):
    """Returns pairs of line number and text: paragraphs, items of lists, and cells of tables. Skips code and
    headings."""
    found, is_code = [], False
    paragraph = None
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            is_code = not is_code
            paragraph = None
            continue
        text = re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", line)
        if is_code or not line.strip() or line.startswith(("    ", "#", "<")):
            paragraph = None
        elif line.startswith("|"):
            found += [[number, cell.strip()] for cell in line.strip("|").split("|")]
            paragraph = None
        elif paragraph is None or text != line:
            paragraph = [number, text.strip()]
            found.append(paragraph)
        else:
            paragraph[1] += " " + line.strip()
    return found


def comments_of_source(lines, mark):
    """Returns pairs of line number and text: each block of comment lines, and each comment after code."""
    found, block = [], None
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith(mark) and not text.startswith("#!"):
            text = text[len(mark):].strip()
            if block is None:
                block = [number, text]
                found.append(block)
            else:
                block[1] += " " + text
            continue
        block = None
        behind = re.search(r"\s" + mark + r"\s+([^\"]*)$", line) if mark == "//" else None
        if behind:
            found.append([number, behind[1]])
    return found


def texts_of(path):
    if path.suffix == ".md":
        return paragraphs_of_page(path.read_text(encoding="utf-8").split("\n"))
    mark = MARKS.get(path.suffix[1:])
    with path.open("rb") as file:
        is_script = file.read(2) == b"#!"
    if mark is None or (path.suffix == "" and not is_script):
        return []
    text = path.read_text(encoding="utf-8")
    found = comments_of_source(text.split("\n"), mark)
    if mark == "#":  # Python's docstrings.
        found += [[text.count("\n", 0, match.start(1)) + 1, " ".join(match[1].split())]
                  for match in re.finditer(r'^\s*"""(.*?)"""', text, re.DOTALL | re.MULTILINE)]
    return found


def files_below(root):
    """Returns the paths of all files with texts of the project, relative to the root."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith("build-")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def sentences_of(text):
    for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z`'\"(])", text):
        if len(sentence.split()) > 2:
            yield sentence.strip()


def rule_broken_by(sentence):
    """Returns the rule, or None."""
    for exception in EXCEPTIONS:
        sentence = sentence.replace(exception, "")
    return next((rule for rule, pattern in PATTERNS if pattern.search(sentence)), None)


def main(words):
    is_count = words[:1] == ["--count"]
    root = pathlib.Path(words[-1]).resolve()
    counts = collections.defaultdict(lambda: [0, 0])
    wrong = []
    for name in files_below(root):
        path = root / name
        if not path.is_file() or path.is_symlink():
            continue
        for number, text in texts_of(path):
            for sentence in sentences_of(text):
                count = counts[name.rpartition("/")[0] or "."]
                count[0] += 1
                rule = rule_broken_by(sentence)
                if rule:
                    count[1] += 1
                    wrong.append(f"{name}:{number}: {rule}: {sentence}")
    if is_count:
        for folder, (sentences, hits) in sorted(counts.items()):
            print(f"{hits:5} of {sentences:5}  {folder}")
        return 0
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
