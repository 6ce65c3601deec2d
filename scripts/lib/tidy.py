"""Runs clang-tidy on the sources of the programs, with the checks of .clang-tidy.

    python3 scripts/lib/tidy.py ALONE FOLDERS

Requires: CMake configured both for clang, FOLDERS with HARICOT_UNITY_LIBRARIES=ON. Most checks read all included
headers and spend most of their time in the standard library, so they run once on each folder as a whole. The analyzer
checks only functions of its own file, and a compiler warning may depend on other files, so these run on each file
alone. A file that both build alone is checked once. Prints the output of clang-tidy; the exit status is 1 if it
reports anything.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# Checks that are added to those of .clang-tidy, whose exceptions always apply. The analyzer, the compiler warnings,
# and bugprone-suspicious-include, which reports the includes of a unity build, run on files alone (ALONE). All other
# checks run on folders (TOGETHER).
ALONE = ("-bugprone-*,-misc-*,-modernize-*,-performance-*,-readability-*,"
         "clang-diagnostic-*,bugprone-suspicious-include")
TOGETHER = "-clang-analyzer-*,-clang-diagnostic-*,-bugprone-suspicious-include"
BOTH = "clang-diagnostic-*"


def files_of(build):
    """Returns the files of the programs that the build compiles, the largest first, because they take longest."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        files = {entry["file"] for entry in json.load(commands)}
    sources = os.path.join(os.getcwd(), "src", "")
    folders = os.path.join(os.path.abspath(build), "CMakeFiles", "")
    return sorted((file for file in files if file.startswith((sources, folders))), key=size, reverse=True)


def size(file):
    """Returns the size of a source in bytes. A unity file of CMake has the size of all its sources."""
    with open(file, encoding="utf-8") as source:
        text = source.read()
    included = [line.split('"')[1] for line in text.splitlines() if line.startswith('#include "/')]
    return len(text) + sum(os.path.getsize(each) for each in included)


def run(job):
    build, file, checks = job
    ended = subprocess.run(["clang-tidy", "--quiet", "-p", build, f"--checks={checks}", file],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return ended.returncode, ended.stdout


def main(alone, folders):
    files, parts = files_of(alone), files_of(folders)
    if not files or len(parts) >= len(files):
        sys.exit(f"{alone} and {folders} are not configured as required")
    jobs = [(alone, part, BOTH) if part in files else (folders, part, TOGETHER) for part in parts]
    jobs += [(alone, file, ALONE) for file in files if file not in parts]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(run, jobs))
    for _, text in results:
        sys.stdout.write(text)
    if any(status != 0 for status, _ in results):
        sys.exit(1)
    print(f"{len(files)} files")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
