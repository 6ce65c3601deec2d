"""Runs clang-tidy on the sources of the programs, with the checks of .clang-tidy.

    python3 scripts/lib/tidy.py ALONE FOLDERS

Both were configured by CMake for clang, FOLDERS with HARICOT_UNITY_LIBRARIES=ON. Most checks look at all that a
file includes, so most of their time goes into the standard library: they run on each folder as a whole. The
analyzer looks only at functions of the file that it is called for, and a warning of the compiler may depend on what
else is there: these run on each file alone. A file that is compiled alone in both is looked at once. Prints what
clang-tidy says; the exit status is 1 if it has found anything.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# What is added to the checks of .clang-tidy, whose exceptions hold for both. The analyzer, the warnings of the
# compiler, and a check that would report how the files of a folder become one run alone; the rest runs together.
ALONE = ("-bugprone-*,-misc-*,-modernize-*,-performance-*,-readability-*,"
         "clang-diagnostic-*,bugprone-suspicious-include")
TOGETHER = "-clang-analyzer-*,-clang-diagnostic-*,-bugprone-suspicious-include"
BOTH = "clang-diagnostic-*"


def files_of(build):
    """What the build compiles of the programs, the largest first: they take longest."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        files = {entry["file"] for entry in json.load(commands)}
    sources = os.path.join(os.getcwd(), "src", "")
    folders = os.path.join(os.path.abspath(build), "CMakeFiles", "")
    return sorted((file for file in files if file.startswith((sources, folders))), key=size, reverse=True)


def size(file):
    """Bytes of a source; where CMake has made a file of several, bytes of all of these."""
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
        sys.exit(f"{alone} and {folders} are not configured as they have to be")
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
