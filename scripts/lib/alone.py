"""Compiles each file of the tests alone, and each public header that has no source, without making code of it.

    python3 scripts/lib/alone.py BUILD

BUILD was configured by CMake for clang, with the tests and with HARICOT_UNITY=OFF. A build compiles the
files of a test program as one: this shows an include that a file lacks, and a name that shadows another
one of the same file. GoogleTest is read once for all files that include it themselves. A header with a source
is the first that the source includes (tests/structure), and clang-tidy looks at each source alone. Prints what
the compiler says; the exit status is 1 if any file has an error.
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
    """The words of a compiler's command without its source and its output."""
    words = shlex.split(command)
    end = words.index("-o")
    return words[:end]


def headers_without_source():
    """The headers below include/haricot that no file below src is named after."""
    root = os.getcwd()
    public = pathlib.Path(root, "include", "haricot")
    return [str(header) for header in sorted(public.rglob("*.hpp"))
            if not pathlib.Path(root, "src", header.relative_to(public)).with_suffix(".cpp").exists()]


def library_flags(entries):
    """What the files of the library are compiled with."""
    base = os.path.join(os.getcwd(), "src", "base", "")
    return next(flags_of(entry["command"]) for entry in entries if entry["file"].startswith(base))


def main(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        entries = json.load(commands)
    tests = os.path.join(os.getcwd(), "tests", "")
    jobs = {}  # By the command itself: several programs share a file.
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

    # What decides whether a header that was read before can be used: all but our definitions and the
    # folders of includes.
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
