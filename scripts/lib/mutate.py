"""Puts mutations into a copy of the tree, one at a time, and reports which tests find each.

    mutate.py [--minutes N] [NAME...]
    mutate.py --list | --check

scripts/mutate --help explains the flags. A mutation is found by a test that passes without it, and now fails, ends by a
signal or needs far more processor time. The exit status is 1 if a mutation is found by no test or does not compile.
"""

import argparse
import collections
import hashlib
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = "tests/queue/mutations.txt"
FOLDERS = ("src/queue/", "include/haricot/queue/")
WORK = ROOT / "build" / "mutate"
PROGRAMS = ("CMakeLists.txt", "cmake/", "include/", "src/", "tests/")
TREE = WORK / "tree"
BUILD = WORK / "build"

# Arguments of the simulation with new seeds, one process for each.
NEW_SEEDS = ((), ("--groups", "1"), ("--hand-overs", "1", "--commands", "2000"))

# Bounds of a test. The first two end endless loops, even on a busy machine; the third one ends a test that waits.
TEST_CPU_SECONDS = 30
SIMULATION_CPU_SECONDS = 600
MEMORY_BYTES = 8 << 30
TEST_SECONDS = 7200

Mutation = collections.namedtuple("Mutation", "name file old new line")
# A failed test: its name without the prefix of its program, its seconds and its output.
Failure = collections.namedtuple("Failure", "name seconds output")


# The list of mutations --------------------------------------------------------------------------------------------

def read_list(path):
    """Returns the mutations of the list, and the errors in it."""
    mutations, errors = [], []
    name, file, texts, begin = None, None, {"-": [], "+": []}, 0

    def end():
        if name is not None:
            mutations.append(Mutation(name, file, "\n".join(texts["-"]), "\n".join(texts["+"]), begin))

    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        mark, text = line[:1], line[2:]
        if mark in texts and line[1:2] in ("", " ") and name is not None:
            texts[mark].append(text)
            continue
        end()
        name, file, texts, begin = None, None, {"-": [], "+": []}, number
        if re.fullmatch(r"[a-z0-9-]+ \S+", line):
            name, file = line.split()
        else:
            errors.append(f"{LIST}:{number}: expected a name and a file, or a text after `- ` or `+ `")
    end()
    return mutations, errors


def problem_of(mutation, names):
    """Returns the reason why a mutation does not apply, or None."""
    if names[mutation.name] > 1:
        return "the name occurs twice; choose another one"
    if not mutation.file.startswith(FOLDERS):
        return f"{mutation.file} is not in {' or '.join(FOLDERS)}; choose a file of the engine"
    if not (ROOT / mutation.file).is_file():
        return f"{mutation.file} does not exist; name the file that has the old text now"
    if not mutation.old or mutation.old == mutation.new:
        return "the old text is empty or equals the new one; write two different texts"
    times = (ROOT / mutation.file).read_text().count(mutation.old)
    if times == 0:
        return (f"{mutation.file} has no such text; put the same slip into the code as it is now, or remove the "
                "mutation if the code cannot have it any more")
    if times > 1:
        return f"{mutation.file} has the old text {times} times; add the lines around it"
    return None


def checked_list():
    """Returns the mutations. Ends the program if one does not apply."""
    mutations, errors = read_list(ROOT / LIST)
    names = collections.Counter(mutation.name for mutation in mutations)
    for mutation in mutations:
        problem = problem_of(mutation, names)
        if problem:
            errors.append(f"{LIST}:{mutation.line}: {mutation.name}: {problem}")
    if errors or not mutations:
        sys.exit("\n".join(errors) or f"{LIST} has no mutation")
    return mutations


# The copy of the tree ---------------------------------------------------------------------------------------------

def copy_tree():
    """Makes the copy equal to the tracked files. Unchanged files keep their time, so they are not compiled again.
    Returns a digest of the files of the programs and the tests."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    tracked = {path for path in listed.split("\0") if path and (ROOT / path).exists()}
    for old in [path for path in TREE.rglob("*") if path.is_symlink() or path.is_file()]:
        if str(old.relative_to(TREE)) not in tracked:
            old.unlink()
    digest = hashlib.sha256()
    for path in sorted(tracked):
        source, copy = ROOT / path, TREE / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            copy.unlink(missing_ok=True)
            copy.symlink_to(os.readlink(source))
        elif not copy.is_file() or copy.read_bytes() != source.read_bytes():
            shutil.copyfile(source, copy)
            shutil.copymode(source, copy)
        if path.startswith(PROGRAMS) and path != LIST:
            digest.update(path.encode() + b"\0" + copy.read_bytes())
    return digest.hexdigest()


def configure():
    subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DHARICOT_TESTS=ON",
                    "-DHARICOT_LTO=OFF", "-DHARICOT_MUTATE=ON"], check=True, stdout=subprocess.DEVNULL)
    # ctest writes records of a run into its folder, so each kind of tests has its own.
    for kind in ("queue", "simulation"):
        (WORK / kind).mkdir(exist_ok=True)
        (WORK / kind / "CTestTestfile.cmake").write_text(f'subdirs("{BUILD}/tests/{kind}")\n')


def build():
    """Returns the output of a failed build, or None."""
    built = subprocess.run(["cmake", "--build", BUILD, "--target", "queue_test", "simulate"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return built.stdout if built.returncode != 0 else None


# Running tests ----------------------------------------------------------------------------------------------------

def limits(cpu_seconds):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


def start_tests(kind, cpu_seconds):
    """Starts ctest on the short tests of a folder of tests."""
    (WORK / kind / "junit.xml").unlink(missing_ok=True)
    return subprocess.Popen(
        ["ctest", "--test-dir", WORK / kind, "-R", rf"^{kind}\.", "-LE", "^long$", "-j", str(os.cpu_count()),
         "--timeout", str(TEST_SECONDS), "--output-junit", WORK / kind / "junit.xml"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limits(cpu_seconds))


def failures_of(kind):
    """Returns the failed tests, and the number of all tests."""
    suite = xml.etree.ElementTree.parse(WORK / kind / "junit.xml").getroot()
    failures = []
    for case in suite.iter("testcase"):
        if case.get("status") == "fail":
            name = case.get("name").removeprefix(f"{kind}.")
            failures.append(Failure(name, float(case.get("time")), case.findtext("system-out", "")))
    return failures, len(list(suite.iter("testcase")))


def run_tests():
    """Returns the failed tests of both kinds, and the number of tests of the engine."""
    running = [start_tests("queue", TEST_CPU_SECONDS), start_tests("simulation", SIMULATION_CPU_SECONDS)]
    for one in running:
        one.wait()
    failed, tests = failures_of("queue")
    failed_simulations, simulations = failures_of("simulation")
    if tests == 0 or simulations == 0:
        sys.exit("ctest has run no tests")
    return failed, failed_simulations, tests


def run_new_seeds(seconds):
    """Runs the simulation with new seeds until the time is over. Returns the first failed run, or None."""
    program = BUILD / "tests" / "simulation" / "simulate"
    began = time.monotonic()
    running = {}
    for index, words in enumerate(NEW_SEEDS):
        log = open(WORK / f"new-seeds-{index}", "w+", encoding="utf-8", errors="replace")  # Bodies are any bytes.
        running[log] = subprocess.Popen([program, "--seconds", str(seconds), *words], stdout=log, stderr=log,
                                        preexec_fn=limits(seconds + SIMULATION_CPU_SECONDS))
    found = None
    while running and found is None:
        time.sleep(0.2)
        for log, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[log]
            log.seek(0)
            if process.returncode != 0:
                found = Failure("new seeds", time.monotonic() - began, log.read())
                break
    for process in running.values():
        process.kill()
        process.wait()
    return found


# The report -------------------------------------------------------------------------------------------------------

def seed_in(output):
    seed = re.search(r"seed (\d+), step", output)
    return f"seed {seed[1]}" if seed else "crash or hang"


Result = collections.namedtuple("Result", "mutation problem simulations failed")


def try_mutation(mutation, minutes):
    path = TREE / mutation.file
    original = path.read_text()
    path.write_text(original.replace(mutation.old, mutation.new))
    try:
        output = build()
        if output is not None:
            return Result(mutation, "does not compile:\n" + output, [], [])
        failed, simulations, _ = run_tests()
        if not simulations and minutes > 0:
            found = run_new_seeds(minutes * 60)
            simulations = [found] if found else []
        return Result(mutation, None, simulations, failed)
    finally:
        path.write_text(original)


def row_of(result):
    first = min(result.simulations, key=lambda failure: failure.seconds, default=None)
    simulation = f"{first.name} {seed_in(first.output)} {first.seconds:.1f} s" if first else "-"
    names = [failure.name for failure in result.failed]
    return [result.mutation.name, simulation, f"{len(names)} {names[0] if len(names) == 1 else ''}"]


HEAD = ["mutation", "simulation", "tests of the engine"]


def print_row(cells):
    print(f"{cells[0]:36} {cells[1]:52} {cells[2]}", flush=True)


def finders_of(result):
    return (["simulation"] if result.simulations else []) + [failure.name for failure in result.failed]


def report(results):
    """Prints who found mutations alone. Returns the exit status."""
    with open(WORK / "found", "w", encoding="utf-8") as file:
        for result in results:
            file.write(f"{result.mutation.name}: {' '.join(finders_of(result)) or 'no test'}\n")
    alone = collections.defaultdict(list)
    for result in results:
        if len(finders_of(result)) == 1:
            alone[finders_of(result)[0]].append(result.mutation.name)
    print("\nfound by one test alone:" if alone else "\nno test found a mutation alone")
    for finder, names in sorted(alone.items()):
        print(f"  {finder}: {' '.join(names)}")
    missed = [result for result in results if not finders_of(result)]
    for result in missed:
        print(f"FOUND BY NO TEST: {result.mutation.name}" + (f": {result.problem}" if result.problem else ""))
    print(f"{len(results) - len(missed)} of {len(results)} mutations found")
    return 1 if missed else 0


def check_unmutated(digest):
    """Ends the program if a test fails without a mutation. Runs no test if all have passed with these files before."""
    print("== building without a mutation", flush=True)
    output = build()
    if output is not None:
        sys.exit(output)
    passed = WORK / "passed"
    if passed.is_file() and passed.read_text() == digest:
        return
    failed, simulations, tests = run_tests()
    if failed or simulations:
        sys.exit("\n".join(f"fails without a mutation: {failure.name}\n{failure.output}"
                           for failure in simulations + failed))
    passed.write_text(digest)
    print(f"== {tests} tests and the simulation pass", flush=True)


def run(mutations, minutes):
    WORK.mkdir(parents=True, exist_ok=True)
    digest = copy_tree()
    configure()
    check_unmutated(digest)
    print_row(HEAD)
    results = []
    for mutation in mutations:
        results.append(try_mutation(mutation, minutes))
        print_row(row_of(results[-1]))
    return report(results)


def main():
    parser = argparse.ArgumentParser(prog="scripts/mutate")
    parser.add_argument("--minutes", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    mutations = checked_list()
    if asked.list:
        for mutation in mutations:
            print(f"{mutation.name:36} {mutation.file}")
    if asked.list or asked.check:
        return 0
    unknown = set(asked.names) - {mutation.name for mutation in mutations}
    if unknown:
        sys.exit(f"unknown mutation: {' '.join(sorted(unknown))}; scripts/mutate --list lists them")
    return run([mutation for mutation in mutations if not asked.names or mutation.name in asked.names], asked.minutes)


if __name__ == "__main__":
    sys.exit(main())
