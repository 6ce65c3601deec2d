#!/usr/bin/env python3
"""Compares the glossary of docs/contributing.md with the code: each word has one meaning, and each thing one word.

    words_test.py

The code has to use each word of the glossary, and none of the names in GONE, which had several meanings or were a
second name for a thing.
"""

import re
import sys

sys.dont_write_bytecode = True
import documents

PAGE = "contributing.md"
# Rows: a pattern of files, a pattern that their names must not match, and the word to use instead.
GONE = [
    (r".", r"[kK]ept_?([kK]ey|[rR]oom|[tT]ext|[rR]ecord)|(?:_|^)remains(?:_|$)|Remains", "tombstone"),
    (r".", r"^reserve_(put|update|promised|unburial)$", "take_room, because workers reserve jobs"),
    (r".", r"^reserve_(one|offers|descriptors)$|DescriptorReserve", "allocate, because workers reserve jobs"),
    (r".", r"KeyHolder|key_holder|holder_of_key", "owner, because workers hold jobs"),
    (r".", r"JournalNote|journal_note", "fields: a note is what stands in the file lock"),
    (r".", r"^note_(?!bytes|record_bytes)[a-z_]*[a-z]$(?<!note_in)",
     "mark, count, remember, set or write: a note is what stands in the file lock"),
    (r"(?<!timer_wheel)\.[ch]pp$", r"^Slot$|Slot$|^slots?_?$", "entry or element: a slot is in the timer wheel"),
    (r"tool/bench/|binlog/write/compaction", r"^[sS]tep$", "operation or result: a step is the unit of a turn's work"),
    (r"queue/", r"^Offers$|^offer_(one|first|each)$", "Serving, serve: an offer is what a tube has for its watchers"),
]
# Words of the glossary that the code uses only in another form.
FORMS = {
    "to hold": "held", "to promise": "promise", "held back": "held_back", "group commit": "sync", "put off": "put_off",
    "to delete": "delete", "to remove": "remove", "to log": "log", "to report": "report", "to announce": "announce",
    "to answer": "answer", "to serve": "serve", "to allocate": "allocate", "deferred": "deferred", "durable": "durable",
    "to hand over": "hand-over",
}


def names_of(text):
    """Returns the names in a source, without comments and strings."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.DOTALL)
    return set(re.findall(r"\b[A-Za-z_]\w*", text))


def main():
    wrong, texts = [], []
    for folder in ("include", "src"):
        for path in sorted((documents.ROOT / folder).rglob("*.[ch]pp")):
            text = path.read_text(encoding="utf-8")
            texts.append(text.lower())
            relative = path.relative_to(documents.ROOT).as_posix()
            for where, name, instead in GONE:
                if re.search(where, relative):
                    wrong += [f"{relative}: {found} (the word is: {instead})"
                              for found in sorted(names_of(text)) if re.search(name, found)]
    code = "\n".join(texts)
    words = [cells[0] for cells in documents.rows(documents.section(PAGE, "The words"))[1:]]
    for word in words:
        if FORMS.get(word, word).lower() not in code:
            wrong.append(f"{PAGE}: no code says {word!r}")
    for word in {word for word in words if words.count(word) > 1}:
        wrong.append(f"{PAGE}: {word!r} has more than one line")
    if len(words) < 30:
        wrong.append(f"{PAGE}: only {len(words)} words: the pattern may be outdated")
    print("\n".join(wrong) if wrong else f"{len(words)} words")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
