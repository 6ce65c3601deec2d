#!/usr/bin/env python3
"""Checks that each block of code of the pages is run by a test, or read by the program that it is for.

    blocks_test.py HARICOTD

Each block of code of README.md and docs/*.md has a row below, which names the test that runs the block
or a check of this file. A block without a row fails the test, and so does a row without a block.
"""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import documents

ROOT = documents.ROOT
if len(sys.argv) < 2:
    sys.exit(__doc__)
DAEMON = sys.argv.pop(1)


# Checks ------------------------------------------------------------------------------------


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, **more)


def refusal(ended):
    return (ended.stdout + ended.stderr).strip() if ended.returncode else ""


def test(name):
    """Returns a check that the test `name` runs the block: its source names the page."""

    def check(block):
        path = ROOT / "tests" / name
        sources = [path, *(path.parent / module for module in ("cluster.py", "volume.py")
                           if (path.parent / module).exists())]
        named = any(f'"{block.page}"' in source.read_text() or f"/{block.page}" in source.read_text()
                    for source in sources)
        return "" if named else f"{name} does not name {block.page}"

    return check


# Placeholders for values of the reader's machine.
PLACEHOLDERS = r"\bX\.Y\.Z\b|<arch>|\[[-A-Z]+\]"
# Programs and builtins that may begin a line, in addition to the scripts of the repository.
KNOWN = set("""apt-get awk beanstalkd cmake cmp cp ctest curl docker echo git haricot haricotd kubectl mkdir nc pidof
    printf rpm systemctl tar test umask""".split())


def simple_commands(text):
    """Yields the words of each simple command of a text, as far as they are known without running it."""
    text = re.sub(r"\\\n", " ", text)
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;()")
        lexer.whitespace_split = True
        words = []
        for word in [*lexer, ";"]:
            if not set(word) <= set("|&;("):
                words += [word] if words or not re.match(r"\w+=", word) else []
                continue
            if words:
                yield words
            words = []


def commands(block):
    """Checks that bash can parse the block, that each command is a script of the repository or a known program, and
    that the server accepts its flags.

    docs.commands checks the flags of the tool, and docs.scripts those of scripts.
    """
    text = re.sub(PLACEHOLDERS, "", block.text)
    trouble = refusal(run("bash", "-n", "-c", text))
    for words in simple_commands(text):
        name = words[0]
        if not trouble and name not in KNOWN and not (ROOT / name).is_file() \
                and not name.startswith("build/release/tests/"):
            trouble = f"{name} is no command of the repository, and none of those that are known"
        if not trouble and name == "haricotd":
            trouble = refusal(run(DAEMON, *words[1:], "--help"))
    return trouble


def printed(block):
    """Checks that printed_test.py runs the block, which it names by page and first words."""
    source = (ROOT / "tests" / "docs" / "printed_test.py").read_text(encoding="utf-8")
    begins = re.findall(rf'\("{re.escape(block.page)}", "([^"]+)"\)', source)
    return "" if any(block.lines[0].strip().startswith(begin) for begin in begins) else "printed_test.py does not run it"


def settings(block):
    """Checks that a shell and systemd read the same values from a settings file."""
    names = [line.split("=")[0] for line in block.lines]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "settings"
        file.write_text(block.text)
        by_shell = [refusal(run("sh", "-c", f'. {file} && printf %s "${name}"'))
                    or run("sh", "-c", f'. {file} && printf %s "${name}"').stdout for name in names]
        for name, line, value in zip(names, block.lines, by_shell):
            # systemd's rules for EnvironmentFile=: one pair of quotes around the value, and no comment after it.
            quoted = re.fullmatch(r'\w+="([^"\\$`]*)"', line)
            plain = re.fullmatch(r"\w+=([^\"'\\#$`]*)", line)
            if not quoted and not plain:
                return f"systemd reads {line!r} differently"
            if value != (quoted or plain)[1]:
                # For a shell, unlike systemd, a value with blanks needs quotes.
                return f"a shell reads {name} as {value!r}"
    return ""


def environment_file(block):
    """Checks a settings file that only systemd reads, in which values with blanks need no quotes."""
    for line in block.lines:
        if not re.fullmatch(r'[A-Z_]+=("[^"\\]*"|[^"\'\\#]*)', line):
            return f"systemd reads {line!r} differently"
    return ""


def unit(block):
    """Checks that systemd accepts the block as a drop-in of the unit that the page names."""
    if not shutil.which("systemd-analyze"):
        raise unittest.SkipTest("systemd-analyze is missing")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "haricot-test.service"
        file.write_text("[Unit]\nDescription=t\n[Service]\nExecStart=/bin/true\n"
                        + block.text.replace("[Service]\n", ""))
        return refusal(run("systemd-analyze", "verify", "--man=no", str(file))) \
            or run("systemd-analyze", "verify", "--man=no", str(file)).stderr.strip()


def prometheus(block):
    if not shutil.which("promtool"):
        raise unittest.SkipTest("promtool is missing")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "prometheus.yml"
        file.write_text(block.text)
        return refusal(run("promtool", "check", "config", str(file)))


def shows(reason):
    """Returns a check for a block that is not run. The reason describes it."""
    return lambda block: "" if reason else "no reason"


# Rows: the page, the beginning of the block's first line or its language in brackets, and the check.
ROWS = [
    ("README.md", "haricot top: ", shows("a screen; tests/tool/picture_test.py has such ones")),
    ("README.md", "apt-get install ./haricot_", commands),
    ("README.md", "scripts/serve", commands),
    ("README.md", "PATH=", test("docs/readme_test.py")),
    ("README.md", "haricot tubes", printed),
    ("architecture.md", "[]", shows("drawings of layers, whose names docs.names checks")),
    ("availability.md", "[sh]", test("failover/silence_test.py")),
    ("availability.md", "BEANSTALKD_EXTRA=", settings),
    ("availability.md", "kubectl taint", commands),
    ("availability.md", "[haproxy]", test("failover/haproxy_test.py")),
    ("binlog-work.md", "haricot epoch", shows("the text of a file")),
    ("binlog-work.md", "first server", shows("a table of moments")),
    ("binlog.md", "haricot store", shows("the text of a file")),
    ("binlog.md", "file      =", shows("a grammar")),
    ("binlog.md", "0000  ", test("docs/binlog_test.py")),
    ("clients.md", "[text]", test("clients/page_test.py")),
    ("clients.md", "[php]", test("clients/page_test.py")),
    ("clients.md", "[ruby]", test("clients/page_test.py")),
    ("clients.md", "[js]", test("clients/page_test.py")),
    ("clients.md", "[python]", test("clients/page_test.py")),
    ("clients.md", "[go]", test("clients/page_test.py")),
    ("cluster.md", "[sh]", test("failover/gluster_test.py")),
    ("concepts.md", "put      ", shows("a drawing of states")),
    ("concepts.md", "[sh]", test("docs/concepts_test.py")),
    ("concepts.md", "[bash]", test("docs/concepts_test.py")),
    ("concepts.md", "[python]", test("docs/concepts_test.py")),
    ("concepts.md", "[php]", test("docs/concepts_test.py")),
    ("contributing.md", "cmake", commands),
    ("operating.md", "BEANSTALKD_EXTRA=", settings),
    ("operating.md", "haricotd [OPTIONS]", commands),
    ("operating.md", "haricotd -b /var", printed),
    ("operating.md", "haricot -a", printed),
    ("operating.md", "haricot binlog", printed),
    ("operating.md", "[]", commands),
    ("performance.md", "haricot bench", printed),
    ("releasing.md", "git checkout", commands),
    ("runbook.md", "mkdir", printed),
    ("runbook.md", "haricot binlog", printed),
    ("runbook.md", "[sh]", test("docs/backup_test.py")),
    ("security.md", "umask", printed),
    ("security.md", "[sh]", test("docs/tls_test.py")),
    ("security.md", "[ini]", test("docs/tls_test.py")),
    ("statistics.md", "printf", printed),
    ("statistics.md", "---", shows("a report, whose keys docs.statistics compares")),
    ("testing.md", "[]", commands),
    ("tool.md", "haricot tubes --sort", test("docs/tasks_test.py")),
    ("tool.md", "[]", printed),
    ("web.md", "haricot web", printed),
    ("web.md", "systemctl", commands),
    ("web.md", "HARICOT_WEB_SERVERS=", environment_file),
    ("web.md", "[Service]", unit),
    ("web.md", "event=", shows("a line of the log")),
    ("web.md", "curl", printed),
    ("web.md", "[nginx]", test("web/proxy_test.py")),
    ("web.md", "scrape_configs:", prometheus),
]


def row_of(block):
    """Returns the index of the first row that matches the block, or None."""
    for index, (page, begin, _) in enumerate(ROWS):
        language = re.fullmatch(r"\[([a-z]*)\]", begin)
        is_mine = language[1] == block.language if language else block.lines[0].strip().startswith(begin)
        if page == block.page and is_mine:
            return index
    return None


class Blocks(unittest.TestCase):
    def test_each_is_run_or_checked_by_its_program(self):
        used = set()
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            for block in documents.blocks_of(path.name, path.read_text(encoding="utf-8")):
                with self.subTest(str(block)):
                    row = row_of(block)
                    self.assertIsNotNone(row, "no test runs it: it needs a row in ROWS")
                    used.add(row)
                    self.assertEqual(ROWS[row][2](block), "")
        for index, (page, begin, _) in enumerate(ROWS):
            self.assertIn(index, used, f"{page} has no block {begin!r} any more")

    def test_the_checks_detect_errors(self):
        def trouble(check, *lines):
            return check(documents.Block("a.md", 1, "", list(lines)))

        self.assertEqual(trouble(settings, 'A="-b /x -f 0"'), "")
        self.assertNotEqual(trouble(settings, 'A="-b /x -f 0"   # comment'), "")
        self.assertNotEqual(trouble(settings, "A=-b /x"), "")
        self.assertNotEqual(trouble(environment_file, 'A="x" # comment'), "")
        self.assertNotEqual(trouble(commands, "if true"), "")
        self.assertNotEqual(trouble(commands, "scripts/no-such-script"), "")
        self.assertNotEqual(trouble(commands, "haricot x | brew y"), "")
        self.assertEqual(trouble(commands, "A=1 haricotd -b /x"), "")
        self.assertNotEqual(trouble(commands, "haricotd --brew"), "")
        for check, good, bad in ((unit, "[Service]\nType=simple", "[Service]\nTypo=simple"),
                                 (prometheus, "scrape_configs: []", "scrape_config: []")):
            try:
                self.assertEqual(trouble(check, *good.split("\n")), "")
                self.assertNotEqual(trouble(check, *bad.split("\n")), "")
            except unittest.SkipTest:
                continue


if __name__ == "__main__":
    unittest.main()
