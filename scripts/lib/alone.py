"""Compiles each test file alone, and each public header without a source, and generates no code.

    python3 scripts/lib/alone.py BUILD

Requires: CMake configured BUILD for clang, with the tests and with HARICOT_UNITY=OFF. A build compiles the files of a
test program as one, which hides missing includes and shadowed names. The headers that have a source need no check: the
source includes its header first (tests/structure), and clang-tidy compiles each source alone. GoogleTest is compiled
once, as a precompiled header. Prints the output of the compiler; the exit status is 1 if a file has an error.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

GOOGLE_TEST = "#include <gtest/gtest.h>"


def flags_of(command):
    """Returns the words of a compiler command without the output and the source."""
    words = shlex.split(command)
    end = words.index("-o")
    return words[:end]


def headers_without_source():
    """Returns the headers below include/haricot that have no source of the same name below src."""
    root = os.getcwd()
    public = pathlib.Path(root, "include", "haricot")
    return [str(header) for header in sorted(public.rglob("*.hpp"))
            if not pathlib.Path(root, "src", header.relative_to(public)).with_suffix(".cpp").exists()]


def library_flags(entries):
    """Returns the flags for the files of the library."""
    base = os.path.join(os.getcwd(), "src", "base", "")
    return next(flags_of(entry["command"]) for entry in entries if entry["file"].startswith(base))


def main(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        entries = json.load(commands)
    tests = os.path.join(os.getcwd(), "tests", "")
    jobs = {}  # The command is part of the key, because several programs share a file.
    for entry in entries:
        if entry["file"].startswith(tests):
            with open(entry["file"], encoding="utf-8") as source:
                has_google_test = GOOGLE_TEST in source.read()
            flags = flags_of(entry["command"])
            jobs[(entry["file"], *flags)] = (flags, has_google_test)
    if not jobs:
        sys.exit(f"{build} has no tests")
    for header in headers_without_source():
        jobs[(header, *library_flags(entries))] = ([*library_flags(entries), "-x", "c++-header"], False)

    # Files can share a precompiled header if their flags differ only in our definitions and the include folders.
    header = os.path.abspath(os.path.join(build, "alone.hpp"))
    with open(header, "w", encoding="utf-8") as out:
        out.write(GOOGLE_TEST + "\n")

    def same_language(flags):
        return tuple(word for word in flags if not word.startswith(("-DHARICOT", "-I")))

    read_before = {}
    for flags, has_google_test in jobs.values():
        key = same_language(flags)
        if has_google_test and key not in read_before:
            read_before[key] = f"{header}.{len(read_before)}.pch"
            subprocess.run([*key, "-x", "c++-header", header, "-o", read_before[key]], check=True)

    def compile_alone(job):
        file, flags, has_google_test = job
        words = [*flags, "-fsyntax-only", file]
        if has_google_test:
            words[1:1] = ["-include-pch", read_before[same_language(flags)]]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(compile_alone, [(key[0], *job) for key, job in jobs.items()]))
    for result in results:
        sys.stdout.write(result.stdout)
    if any(result.returncode != 0 for result in results):
        sys.exit(1)
    print(f"{len(results)} files")


if __name__ == "__main__":
    main(sys.argv[1])
