#!/usr/bin/env python3
"""Checks that haricot --help, haricot(1) and the completions for bash, zsh and fish agree.

    manual_test.py ROOT HARICOT HARICOTD
"""

import itertools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_server import Server

ROOT, TOOL, DAEMON = (pathlib.Path(word) for word in sys.argv[1:4])
del sys.argv[1:4]
PAGE = ROOT / "packaging/man/haricot.1"
COMPLETION = ROOT / "packaging/bash-completion/haricot"
ZSH_COMPLETION = ROOT / "packaging/zsh-completion/_haricot"
FISH_COMPLETION = ROOT / "packaging/fish-completion/haricot.fish"

WITHOUT_COMMON_FLAGS = {"binlog", "web"}
WITHOUT_JSON = {"export", "work"}


def help_of(*words):
    return subprocess.run([TOOL, *words, "--help"], capture_output=True, text=True, check=True,
                          timeout=60).stdout


def subcommands():
    return re.findall(r"^  ([a-z]+)  ", help_of(), re.MULTILINE)


def flags_of_help(subcommand):
    """Returns a set of (letter or None, long name, value or None)."""
    line = re.compile(r"^  (?:-(\w), |    )--([\w-]+)(?: ([A-Z]+))?  ", re.MULTILINE)
    return {match.groups() for match in line.finditer(help_of(subcommand))}


def flags_of_page(text):
    """Returns a set like that of the flags in --help, from the .TP entries of the text."""
    found = set()
    for line in re.findall(r"^\.TP\n\.BR (.*--.*)$", text.replace(r"\-", "-"), re.MULTILINE):
        plain = re.sub(r"\\f[A-Z]", "", line).replace('"', "")
        match = re.fullmatch(r"(?:-(\w) *, +)?--([\w-]+)(?: +([A-Z]+))?", plain.strip())
        if not match:
            raise AssertionError(f"a flag that cannot be read: {line}")
        found.add(match.groups())
    return found


def parts_of_page():
    """Returns the page's text about each subcommand, and about all."""
    text = PAGE.read_text()
    common = re.search(r"^\.SH COMMON OPTIONS\n(.*?)^\.SH ", text, re.MULTILINE | re.DOTALL)[1]
    section = re.search(r"^\.SH SUBCOMMANDS\n(.*?)^\.SH ", text, re.MULTILINE | re.DOTALL)[1]
    parts = re.split(r"^\.SS ([a-z]+)\n", section, flags=re.MULTILINE)
    return common, dict(zip(parts[1::2], parts[2::2]))


def complete(*words, environment=None):
    """Returns the words that bash offers for the last of the words after `haricot`."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; ' \
             'COMP_POINT=${#COMP_LINE}; _haricot; printf "%s\\n" "${COMPREPLY[@]}"'
    output = subprocess.run(["bash", "-c", script, "bash", COMPLETION, TOOL, *words], check=True,
                            capture_output=True, text=True, timeout=60,
                            env={**os.environ, **(environment or {})})
    assert output.stderr == "", output.stderr
    return set(output.stdout.split())


def complete_by_zsh(*words, environment=None):
    """Returns the words that the function passes to zsh's completion system, which selects from them."""
    script = """
      file=$1; shift; words=("$@"); CURRENT=$#
      _describe() { local name=${@[-1]}; print -rl -- ${${(P)name}%%:*} }
      compadd() { [[ $1 == -a ]] && print -rl -- ${(P)2} || print -rl -- ${@:2} }
      compset() { }
      _files() { print -r -- "@files $*" }
      source $file; _haricot"""
    output = subprocess.run(["zsh", "-f", "-c", script, "zsh",
                             ZSH_COMPLETION, TOOL, *words], check=True, capture_output=True,
                            text=True, timeout=60, env={**os.environ, **(environment or {})})
    assert output.stderr == "", output.stderr
    return {word for word in output.stdout.splitlines() if word and word.startswith(words[-1])}


def complete_by_fish(*words, environment=None):
    line = " ".join(["haricot", *words])
    with tempfile.TemporaryDirectory() as home:
        os.symlink(TOOL.resolve(), home + "/haricot")
        settings = {**os.environ, "HOME": home, "PATH": home + ":" + os.environ["PATH"],
                    **(environment or {})}
        output = subprocess.run(
            ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", FISH_COMPLETION,
             line], check=True, capture_output=True, text=True, timeout=60, env=settings)
    assert output.stderr == "", output.stderr
    found = {line.split("\t")[0] for line in output.stdout.splitlines()}
    return {word for word in found if word.startswith(words[-1])}


def split_at(words, mark):
    """Yields the words between the marks, as lists."""
    part = []
    for word in [*words, mark]:
        if word == mark:
            yield part
            part = []
        else:
            part.append(word)


class Manual(unittest.TestCase):
    def test_the_help_has_flags_at_all(self):
        self.assertIn(("t", "tube", "TUBE"), flags_of_help("peek"))
        self.assertIn((None, "hide-idle", None), flags_of_help("top"))
        self.assertGreaterEqual(len(subcommands()), 13)

    def test_the_help_fits_a_screen_of_usual_size(self):
        for subcommand in subcommands():
            self.assertLessEqual(help_of(subcommand).count("\n"), 50, subcommand)
            for line in help_of(subcommand).splitlines():
                self.assertLessEqual(len(line), 96, f"{subcommand}: {line}")

    def test_a_paragraph_of_the_help_fills_its_lines(self):
        for subcommand in subcommands():
            prose = re.search(r"\n\n(.*?)\n\n\w[^\n]*:\n", help_of(subcommand), re.DOTALL)[1]
            for line, following in itertools.pairwise(prose.splitlines()):
                if line and following:
                    self.assertGreater(len(f"{line} {following.split()[0]}"), 76, f"{subcommand}: {line}")

    def test_the_tool_takes_its_own_examples(self):
        found = 0
        for subcommand in subcommands():
            _, _, examples = help_of(subcommand).partition("\nExamples:\n")
            for line in examples.splitlines():
                words = shlex.split(line, comments=True)
                self.assertIn(subcommand, words, line)
                for command in split_at(words, "|"):
                    self.assertEqual(command[0], "haricot", line)
                    # Redirections are for the shell. With --help the tool only parses the flags.
                    command = next(split_at([w for w in command if w != "<"], ">"))
                    at = next(i for i, word in enumerate(command) if word in subcommands()) + 1
                    ended = subprocess.run([TOOL, *command[1:at], "--help", *command[at:]],
                                           capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual((ended.returncode, ended.stderr), (0, ""), line)
                    found += 1
        self.assertGreaterEqual(found, 40)

    def test_the_page_has_the_subcommands_in_their_order(self):
        self.assertEqual(list(parts_of_page()[1]), subcommands())

    def test_the_page_has_the_flags_of_the_help_and_no_others(self):
        common, parts = parts_of_page()
        for subcommand in subcommands():
            with self.subTest(subcommand):
                wanted = flags_of_help(subcommand)
                found = flags_of_page(parts[subcommand])
                if subcommand not in WITHOUT_COMMON_FLAGS:
                    self.assertEqual(found & flags_of_page(common), set(), "documented twice")
                    found |= flags_of_page(common)
                if subcommand in WITHOUT_JSON:
                    found.remove(("j", "json", None))
                self.assertEqual(found, wanted)

    def test_the_page_has_the_defaults_of_the_help(self):
        common, parts = parts_of_page()
        count = 0
        for subcommand in subcommands():
            entries = (parts[subcommand] + common).replace(r"\-", "-").split(".TP\n")
            for name, value in re.findall(r"--([\w-]+).*\((\d[\d.]*)\)$", help_of(subcommand),
                                          re.MULTILINE):
                entry = next(e for e in entries if f"--{name}" in e.splitlines()[0])
                with self.subTest(f"{subcommand} --{name}"):
                    if value != "0":
                        self.assertRegex(entry, rf"\b{re.escape(value)}\b")
                    count += 1
        self.assertGreater(count, 10)

    def test_the_page_has_the_exit_statuses_of_the_help(self):
        page = PAGE.read_text()
        section = re.search(r"^\.SH EXIT STATUS\n(.*?)^\.SH ", page, re.MULTILINE | re.DOTALL)[1]
        in_help = re.findall(r"(\d): ", help_of("stats").split("The exit status is")[1])
        self.assertEqual(re.findall(r"^\.B (\d)$", section, re.MULTILINE), in_help)

    def test_man_accepts_the_page(self):
        if not shutil.which("groff"):
            self.skipTest("there is no groff")
        result = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", PAGE],
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


class Generated(unittest.TestCase):
    def test_the_files_are_those_of_the_generator(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, ROOT / "packaging/completion/generate", TOOL, folder],
                           check=True, timeout=120)
            for file in (COMPLETION, ZSH_COMPLETION, FISH_COMPLETION):
                made = pathlib.Path(folder) / file.relative_to(ROOT / "packaging")
                self.assertEqual(made.read_text(), file.read_text(),
                                 "packaging/completion/generate HARICOT packaging makes it anew")


class OtherShells(unittest.TestCase):
    """Tests that apply to every shell. bash has more tests."""

    def check(self, shell, complete_by):
        if not shutil.which(shell):
            self.skipTest(f"there is no {shell}")
        self.assertEqual(complete_by(""), {*subcommands(), "help"})
        self.assertEqual(complete_by("mo"), {"move"})
        self.assertEqual(complete_by("help", "dr"), {"drain"})
        self.assertEqual(complete_by("-a", "host", "--timeout", "5", "dr"), {"drain"})
        self.assertEqual(complete_by("--v"), {"--version"})
        for subcommand in subcommands():
            with self.subTest(subcommand):
                flags = {f"--{name}" for _, name, _ in flags_of_help(subcommand)}
                self.assertEqual(complete_by(subcommand, "--"), flags)
        self.assertEqual(complete_by("jobs", "-s", ""), {"ready", "reserved", "delayed", "buried"})
        self.assertEqual(complete_by("move", "--state", ""), {"ready", "delayed", "buried"})
        self.assertEqual(complete_by("reserve", "--then", "r"), {"release"})
        self.assertEqual(complete_by("bench", "--workload", "t"), {"take"})
        self.assertEqual(complete_by("binlog", "c"), {"check", "copy"})
        self.assertEqual(complete_by("stats", "", environment={"HARICOT_ADDR": "unix:/nowhere"}),
                         set())
        with Server(DAEMON) as server:
            server.put("x", "mail")
            address = {"HARICOT_ADDR": server.address}
            self.assertEqual(complete_by("move", "m", environment=address), {"mail"})
            self.assertEqual(complete_by("peek", "--tube", "", environment=address),
                             {"default", "mail"})
            self.assertEqual(complete_by("-a", server.address, "flush", "m"), {"mail"})

    def test_bash(self):
        self.check("bash", complete)

    def test_zsh(self):
        self.check("zsh", complete_by_zsh)

    def test_fish(self):
        self.check("fish", complete_by_fish)


class Completion(unittest.TestCase):
    def test_it_has_all_subcommands(self):
        self.assertEqual(complete(""), {*subcommands(), "help"})
        self.assertEqual(complete("dr"), {"drain"})
        self.assertEqual(complete("--"), {"--address", "--timeout", "--json", "--help", "--version"})
        self.assertEqual(complete("help", "dr"), {"drain"})

    def test_flags_can_stand_before_the_subcommand(self):
        self.assertEqual(complete("-j", "dr"), {"drain"})
        self.assertEqual(complete("-a", "dr"), set())
        self.assertEqual(complete("-a", "host", "--timeout", "5", "dr"), {"drain"})
        self.assertEqual(complete("-a", "host", "drain", "--w"), {"--wait"})

    def test_it_has_all_flags_of_each(self):
        for subcommand in subcommands():
            with self.subTest(subcommand):
                flags = {f"--{name}" for _, name, _ in flags_of_help(subcommand)}
                self.assertEqual(complete(subcommand, "--"), flags)

    def test_it_has_the_columns_of_the_table(self):
        usual = "ready urgent reserved delayed buried waiting put/s delete/s paused tube"
        for subcommand, titles in (("tubes", usual + " oldest wait work"), ("top", usual)):
            self.assertEqual(complete(subcommand, "--sort", ""), set(titles.split()))
            for title in titles.split():
                refused = subprocess.run([TOOL, subcommand, "--sort", title, "-a", "unix:/nowhere"],
                                         capture_output=True, timeout=60, check=False)
                self.assertEqual(refused.returncode, 3, title)

    def test_it_offers_files_where_a_flag_takes_one(self):
        for text in (COMPLETION.read_text(), ZSH_COMPLETION.read_text()):
            files = re.search(r'([^;]*)\n *echo "@files"', text)[1]
            for words in ("work --joblog", "put --file", "import -f", "web --token-file"):
                self.assertIn(f'"{words}"', files)

    def test_it_has_the_states_of_jobs(self):
        self.assertEqual(complete("jobs", "-s", ""), {"ready", "reserved", "delayed", "buried"})
        self.assertEqual(complete("flush", "--state", ""), {"ready", "delayed", "buried"})

    def test_it_has_the_fates_of_a_job(self):
        self.assertEqual(complete("reserve", "--then", "r"), {"release"})

    def test_without_a_server_there_are_no_tubes(self):
        self.assertEqual(complete("stats", "", environment={"HARICOT_ADDR": "unix:/nowhere"}),
                         set())


if __name__ == "__main__":
    unittest.main()
