#!/usr/bin/env python3
"""Tests completion in real shells on a terminal, with hostile names of tubes.

    completion_test.py ROOT HARICOT HARICOTD
"""

import os
import pathlib
import pty
import select
import shutil
import signal
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from operator_server import DEADLINE_S, Scripted, Server

ROOT, TOOL, DAEMON = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
del sys.argv[1:4]
sys.path.insert(0, str(ROOT / "scripts/lib"))

import ports

# The commands that start each shell without the user's files, and load the completion of haricot. `show` prints its
# arguments, one in each line.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             "bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; "
             "bind 'set completion-query-items 0'; bind 'set page-completions off'; "
             f"source {ROOT}/packaging/bash-completion/haricot; "
             "show() { printf '<%s>\\n' \"$@\"; }"),
    "zsh": (["zsh", "-f", "-i"],
            f"fpath=({ROOT}/packaging/zsh-completion $fpath); autoload -U compinit; compinit -u -D; "
            "unsetopt beep; bindkey -e; show() { printf '<%s>\\n' \"$@\" }"),
    "fish": (["fish", "--no-config", "-i"],
             f"source {ROOT}/packaging/fish-completion/haricot.fish; "
             "function fish_prompt; end; function show; printf '<%s>\\n' $argv; end"),
}


class Shell:
    """A shell on its own terminal, in the folder of the test."""

    def __init__(self, name, folder, address):
        command, prepared = SHELLS[name]
        os.makedirs(folder + "/bin", exist_ok=True)
        if not os.path.exists(folder + "/bin/haricot"):
            os.symlink(TOOL, folder + "/bin/haricot")
        settings = {"HOME": folder, "PATH": f"{folder}/bin:{os.environ['PATH']}", "TERM": "dumb",
                    "LC_ALL": "C.UTF-8", "PS1": "", **({"HARICOT_ADDR": address} if address else {})}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, settings)
        self.runs = 0
        self.answer_to(prepared)

    def answer_to(self, line, keys=b""):
        """Runs a line. Returns the output of the shell until it is ready for the next line."""
        self.runs += 1
        # Typed in two halves, so that the whole mark can only be output of the shell.
        os.write(self.terminal, line.encode() + keys + b"\n")
        mark = f"=={self.runs}=="
        os.write(self.terminal, f"echo '==''{self.runs}=='\n".encode())
        output = b""
        end = time.monotonic() + DEADLINE_S
        while mark.encode() not in output:
            if time.monotonic() > end:
                raise AssertionError(f"no answer to {line}: {output}")
            if select.select([self.terminal], [], [], 0.1)[0]:
                output += os.read(self.terminal, 65536)
        return output.decode("utf-8", "replace")

    def words_after(self, line, tabs=1):
        """Returns the words of a line after its completion."""
        output = self.answer_to(line + "\t" * tabs, b"\x01show \x05")  # Ctrl-A, Ctrl-E
        return [text[1:-1] for text in output.replace("\r", "\n").split("\n")
                if text.startswith("<") and text.endswith(">")]

    def close(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="haricot-complete-")
        self.addCleanup(shutil.rmtree, self.folder)

    def open(self, name, address):
        if not shutil.which(name):
            self.skipTest(f"there is no {name}")
        shell = Shell(name, self.folder, address)
        self.addCleanup(shell.close)
        return shell

    def nothing_was_run(self):
        self.assertEqual(sorted(set(os.listdir(self.folder)) & {"x", "y", "z"}), [])


class Names(CompletionTest):
    """Tests names of tubes that a shell has to quote."""

    def check(self, name, server, names):
        shell = self.open(name, server.address)
        shell.answer_to("")
        for line in ("haricot flush ", "haricot peek --tube ", "haricot flush $", "haricot flush `"):
            shell.answer_to(line + "\t\t", b"\x15")  # Ctrl-U discards the line after the list.
            self.nothing_was_run()
        for tube in names:
            with self.subTest(f"{name}: {tube}"):
                self.assertEqual(shell.words_after(f"haricot flush {tube[:2]}"),
                                 ["haricot", "flush", tube])
                self.nothing_was_run()
        return shell

    # Names of bytes that the protocol permits.
    NAMES = ("aa$(touch$IFS{}/x)", "bb;id", "cc$HOME", "dd.e_f", "ee(sub)", "ff+/-g")

    def of_the_protocol(self, name):
        with Server(DAEMON) as server:
            names = [tube.format(self.folder) for tube in self.NAMES]
            for tube in (*names, f"$(touch$IFS{self.folder}/y)", f"$(touch$IFS{self.folder}/z)"):
                server.put("body", tube)
            shell = self.check(name, server, names)
            # A quoted word, and a word after an equals sign.
            tube = names[0]
            self.assertEqual(shell.words_after("haricot flush 'aa"), ["haricot", "flush", tube])
            self.assertEqual(shell.words_after("haricot flush 'bb;"), ["haricot", "flush", "bb;id"])
            self.assertEqual(shell.words_after("haricot flush cc\\$"), ["haricot", "flush", "cc$HOME"])
            self.assertEqual(shell.words_after("haricot peek --tube=dd"),
                             ["haricot", "peek", "--tube=dd.e_f"])
            self.nothing_was_run()

    def of_another_server(self, name):
        """Tests names that no beanstalk server permits."""
        names = ["aa`touch$IFS{}/x`", "bb'quote", 'cc"quote', "dd*", "ee!sh", "ff&touch$IFS{}/y&",
                 "gg|id", "hh>{}/z", "ii#", "jj[a-z]", "kk{{a,b}}", "ll=:"]
        names = [tube.format(self.folder) for tube in names]
        text = "---\n" + "".join(f"- {tube}\n" for tube in names)

        def answer(line):
            if line == "list-tubes":
                return f"OK {len(text)}\r\n{text}\r\n".encode()
            body = "---\nversion: 1\nuptime: 1\ncurrent-jobs-ready: 1\n"
            return f"OK {len(body)}\r\n{body}\r\n".encode()

        with Scripted(answer) as server:
            self.check(name, server, names)

    def test_bash(self):
        self.of_the_protocol("bash")

    def test_zsh(self):
        self.of_the_protocol("zsh")

    def test_fish(self):
        self.of_the_protocol("fish")

    def test_bash_and_a_server_that_keeps_to_nothing(self):
        self.of_another_server("bash")

    def test_zsh_and_a_server_that_keeps_to_nothing(self):
        self.of_another_server("zsh")

    def test_fish_and_a_server_that_keeps_to_nothing(self):
        self.of_another_server("fish")

    def test_files_are_quoted_too(self):
        shell = self.open("bash", "unix:/nowhere")
        for file in ("jobs$(touch${IFS}x).json", "more;id"):
            pathlib.Path(self.folder, file).touch()
            self.assertEqual(shell.words_after(f"haricot import {file[:3]}"),
                             ["haricot", "import", file])
        os.mkdir(self.folder + "/dir $(touch y)")
        self.assertEqual(shell.words_after("haricot binlog check dir")[-1].rstrip("/"),
                         "dir $(touch y)")
        self.nothing_was_run()


class Addresses(CompletionTest):
    """Tests the server to which a completion connects."""

    def check(self, name):
        with Server(DAEMON) as wrong, Server(DAEMON) as right, Server(DAEMON) as second:
            wrong.put("x", "wrong")
            right.put("x", "wright")
            second.put("x", "second")
            shell = self.open(name, wrong.address)
            for address in (f"-a {right.address}", f"--address {right.address}",
                            f"--address={right.address}", f"-a{right.address}",
                            f"-a '{right.address}'", f"--address=\"{right.address}\"",
                            f"-ja {right.address}"):
                wanted = [*address.replace("'", "").replace('"', "").split(), "flush", "wright"]
                with self.subTest(f"{name}: {address.split('unix')[0]}"):
                    self.assertEqual(shell.words_after(f"haricot {address} flush w"),
                                     ["haricot", *wanted])
            self.assertEqual(shell.words_after(f"haricot flush -a {right.address} w")[-1], "wright")
            self.assertEqual(
                shell.words_after(f"haricot top -a {right.address},{second.address} s")[-1], "second")
            self.assertEqual(
                shell.words_after(f"haricot top -a {right.address} -a {second.address} s")[-1],
                "second")
            # An address that the shell would have to expand is not guessed, and the environment has another one.
            self.assertEqual(shell.words_after("haricot -a $HOME flush w")[-1], "w")
            self.assertEqual(shell.words_after("haricot flush w")[-1], "wrong")

    def test_bash(self):
        self.check("bash")

    def test_zsh(self):
        self.check("zsh")

    def test_fish(self):
        self.check("fish")

    def test_a_port_is_a_part_of_the_address(self):
        for name in SHELLS:
            port = ports.choose_port()
            flags = ("--listen-also", "127.0.0.1", "-p", str(port))
            with self.subTest(name), Server(DAEMON, *flags) as server, Server(DAEMON) as other:
                server.put("x", "mail")
                other.put("x", "mother")
                shell = self.open(name, other.address)
                self.assertEqual(shell.words_after(f"haricot -a 127.0.0.1:{port} flush m")[-1],
                                 "mail")


if __name__ == "__main__":
    unittest.main()
