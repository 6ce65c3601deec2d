#!/usr/bin/env python3
"""Checks that the functions and files that docs/architecture.md and comments name exist in the sources."""

import re
import sys

sys.dont_write_bytecode = True
import documents

PAGE = "architecture.md"
WALKS = 5
# The most functions in a walk.
FUNCTIONS_MAX = 10
# The section with files of trials, which do not exist.
TRIED = "What comes next, and what it touches"
FUNCTION = re.compile(r"([A-Z]\w*)::([a-z_]\w*)(?:\(\))?")
# Classes that exist only in examples of comments.
EXAMPLES = {"TubeFields", "TubeState", "Worker"}


def sources(*folders):
    return [path for folder in folders for path in (documents.ROOT / folder).rglob("*")
            if path.suffix in (".hpp", ".cpp")]


def functions_of(text):
    """Returns class and name of each named function, without repetitions."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    found = (FUNCTION.fullmatch(code) for code in documents.codes(prose))
    return list(dict.fromkeys(match.groups() for match in found if match))


def exists(texts, owner, name):
    """Returns true if the class has this function, or the enumeration this value."""
    is_function = not re.match(r"k[A-Z]", name)
    of_class = rf"\b(?:class|struct)\s+{owner}\b[^;]*\{{.*\b{name}" + (r"\(" if is_function else "")
    declares = re.compile(rf"{of_class}|\benum class {owner}\b[^}}]*\b{name}\b", re.DOTALL)
    return any(declares.search(text) for text in texts)


def stale_comments():
    """Yields an error for each name in a comment that does not exist."""
    texts = {path: path.read_text(encoding="utf-8") for path in sources("include", "src", "tests")}
    comments = {path: " ".join(re.findall(r"//(.*)", text)) for path, text in texts.items()}
    code = [re.sub(r"//.*", "", text) for text in texts.values()]
    files = {path.name for folder in ("bench", "include", "scripts", "src", "tests")
             for path in (documents.ROOT / folder).rglob("*")}
    members = {member for text in comments.values() for member in FUNCTION.findall(text)
               if member[0] not in EXAMPLES}
    gone = {(owner, name) for owner, name in members
            if not any(re.search(rf"\b(?:class|struct)\s+{owner}\b[^;]*\{{.*\b{name}\b", text, re.DOTALL)
                       for text in code)}
    for path, text in comments.items():
        names = ["::".join(member) for member in FUNCTION.findall(text) if member in gone]
        names += set(re.findall(r"(?<![\w/<])[a-z]\w*\.(?:[ch]pp|py)\b", text)) - files
        yield from (f"{path.relative_to(documents.ROOT)}: a comment names {name}" for name in names)


def main():
    paths = sources("include", "src")
    texts = [path.read_text(encoding="utf-8") for path in paths]
    names = {path.name for path in paths}
    text = documents.read(PAGE)
    wrong = [f"no {owner}::{function}" for owner, function in functions_of(text)
             if not exists(texts, owner, function)]
    listed = text.replace(documents.section(PAGE, TRIED), "")
    wrong += [f"no file {name}" for name in sorted(set(re.findall(r"\b\w+\.[ch]pp\b", listed)))
              if name not in names]
    drawn = " ".join(re.findall(r"^```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    known = set(re.findall(r"\w+", " ".join(texts)))
    wrong += [f"no {name}" for name in sorted(set(re.findall(r"\b[A-Z]\w+", drawn)) - known)
              if not re.fullmatch(r"L\d", name)]
    wrong += stale_comments()
    walks = re.findall(r"^\*\*.*?(?=\n\n)", documents.section(PAGE, "Five walks"),
                       re.DOTALL | re.MULTILINE)
    for walk in walks[:WALKS]:
        count = len(functions_of(walk))
        if not 1 < count <= FUNCTIONS_MAX:
            wrong.append(f"{walk.splitlines()[0]}… names {count} functions")
    if len(walks) < WALKS or len(functions_of(text)) < 40:
        wrong.append(f"only {len(walks)} walks: the pattern may be outdated")
    print("\n".join(wrong) if wrong else f"{len(functions_of(text))} functions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
