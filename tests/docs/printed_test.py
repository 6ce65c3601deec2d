#!/usr/bin/env python3
"""Runs commands of the pages as printed, in namespaces with a server.

    printed_test.py HARICOTD HARICOT Printed    all commands except `haricot bench`
    printed_test.py HARICOTD HARICOT Bench      `haricot bench`, which takes longer

Each test finds a block of a page by its first words, prepares the state that the page presumes, and runs the lines.
"""

import contextlib
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "failover"))

import documents
import stage

if len(sys.argv) < 3:
    sys.exit(__doc__)
PROGRAMS = pathlib.Path("/run/programs")
FOLDER = pathlib.Path("/var/lib/beanstalkd")
SOCKET = "/run/beanstalkd/socket"
PATIENCE_S = 120
HOSTS = "127.0.0.1 localhost queue1\n127.0.0.2 queue2\n"


def make_machine(binaries):
    """Makes folders that are empty and private, a PATH with the programs, and names of hosts."""
    stage.isolate("mount", "pidof")
    PROGRAMS.mkdir()
    for binary, name in zip(binaries, ("haricotd", "haricot")):
        shutil.copy(binary, PROGRAMS / name)
    hosts = pathlib.Path("/run/hosts")
    hosts.write_text(HOSTS, encoding="utf-8")
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
    for folder in ("/tmp", "/var/lib"):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    os.environ["PATH"] = f"{PROGRAMS}:{os.environ['PATH']}"


def printed(page, begin):
    """Returns the block of the page whose first line begins with these words."""
    path = documents.ROOT / page if page == "README.md" else documents.ROOT / "docs" / page
    found = [block for block in documents.blocks_of(page, path.read_text(encoding="utf-8"))
             if block.lines[0].strip().startswith(begin)]
    if len(found) != 1:
        raise AssertionError(f"{page} has {len(found)} blocks that begin with {begin!r}")
    return found[0]


def is_listening(port, host="127.0.0.1"):
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=10):
        return True
    return False


def handles_sigterm(pid):
    """Returns whether the process catches SIGTERM, or blocks it to read it from a descriptor."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigBlk", "SigCgt"))]
    return any(mask >> (signal.SIGTERM - 1) & 1 for mask in masks)


class Machine(unittest.TestCase):
    def setUp(self):
        self.started = []
        self.addCleanup(self.end_all)
        for folder in ("/tmp/here", "/run/beanstalkd", "/run/haricot", str(FOLDER), "/var/lib/jobs"):
            shutil.rmtree(folder, ignore_errors=True)
            pathlib.Path(folder).mkdir(parents=True)
        self.environment = dict(os.environ)

    def end_all(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()

    def start(self, command, until):
        """Starts a command that does not end by itself, and waits until the condition holds."""
        log = pathlib.Path(f"/run/log.{len(self.started)}")
        with log.open("wb") as output:
            process = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd="/tmp/here", env=self.environment,
                                       stdout=output, stderr=output)
        self.started.append(process)
        stage.wait_for(command, lambda: until() or process.poll() is not None)
        if process.poll() is not None:
            raise AssertionError(f"{command} has ended with {process.returncode}: {log.read_text(encoding='utf-8')}")
        return process

    def stop(self, process):
        # A server listens before it handles signals.
        stage.wait_for("a handler of SIGTERM", lambda: handles_sigterm(process.pid))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def serve(self, *flags):
        """Starts a server on 127.0.0.1:11300, queue2:11300 and the socket of the pages."""
        words = " ".join(flags)
        return self.start(f"haricotd -l 127.0.0.1 --listen-also queue2 --listen-also unix:{SOCKET} {words}",
                          lambda: is_listening(11300) and os.path.exists(SOCKET))

    def run_text(self, text):
        """Runs the text in a shell that ends at the first failure. Returns its output."""
        ended = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd="/tmp/here", env=self.environment,
                               capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(ended.returncode, 0, f"{text}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def run_block(self, page, begin):
        return self.run_text(printed(page, begin).text)

    def put(self, tube, *bodies):
        for body in bodies:
            self.run_text(f"haricot put --tube {tube} {body}")

    def bury(self, tube):
        self.run_text(f"haricot bury {tube} --count 1")


class Printed(Machine):
    def test_readme(self):
        self.serve()
        self.assertTrue(self.run_block("README.md", "haricot tubes").endswith("empty\n"))

    def test_statistics(self):
        self.serve()
        self.assertIn("current-jobs-ready: 0", self.run_block("statistics.md", "printf"))

    def test_drain(self):
        self.serve()
        self.run_block("operating.md", "haricot -a unix:")

    def test_tool(self):
        self.serve()
        self.put("mail", "a", "b")
        self.bury("mail")
        # The first line waits until the server is empty.
        first, *rest = printed("tool.md", "haricot -a unix:").lines
        drain = self.start(first.partition("#")[0], lambda: self.run_text("haricot stats --key draining") == "true\n")
        self.run_text("haricot kick mail --count 1; haricot delete mail --all --yes")
        self.assertEqual(drain.wait(PATIENCE_S), 0)
        self.run_text(f"haricot -a unix:{SOCKET} drain --stop")
        self.put("mail", "c")
        self.bury("mail")
        self.run_text("\n".join(rest))

    def test_tool_copies(self):
        self.serve()
        self.put("mail", "a", "b")
        export = printed("tool.md", "haricot export").lines
        self.run_text(export[0])
        self.assertEqual(self.run_text("haricot stats mail --key ready"), "4\n")
        folder = pathlib.Path("/tmp/here/DIR")
        folder.mkdir()
        server = self.start("haricotd -l 127.0.0.3 -b DIR", lambda: is_listening(11300, "127.0.0.3"))
        self.run_text("haricot -a 127.0.0.3 put --tube mail c")
        self.stop(server)
        self.run_text("\n".join(export[1:]))
        self.assertEqual(self.run_text("haricot stats mail --key ready"), "5\n")

    def test_tags(self):
        self.serve()
        self.run_block("tool.md", "haricot put --unique")
        self.assertEqual(self.run_text("haricot stats default --key ready"), "4\n")

    def test_work(self):
        self.serve()
        program = PROGRAMS / "send-mail"
        program.write_text('#!/bin/sh\necho "$@" >>/tmp/here/sent\n', encoding="utf-8")
        program.chmod(0o755)
        pathlib.Path("/tmp/here/names").write_text("ada\n", encoding="utf-8")
        mail, empty, grep = printed("tool.md", "haricot work --tube").lines
        self.put("mail", "ada")
        worker = self.start(mail, lambda: os.path.exists("/tmp/here/sent")
                            and self.run_text("haricot stats --key current-jobs-reserved") == "0\n")
        self.assertEqual(pathlib.Path("/tmp/here/sent").read_text(encoding="utf-8"), "--to ada\n")
        self.stop(worker)
        self.put("default", "ada")
        self.assertIn("job ", self.run_text(empty))
        self.put("default", "ada")
        worker = self.start(grep, lambda: self.run_text("haricot stats --key total-jobs") == "3\n"
                            and self.run_text("haricot stats --key cmd-delete") == "3\n")
        self.stop(worker)

    def make_binlog(self, path, files=1):
        server = self.start(f"haricotd -l 127.0.0.3 -b {path} -s 4096", lambda: is_listening(11300, "127.0.0.3"))
        name = f"{path}/binlog.{files}"
        for _ in range(200):
            self.run_text("head -c 2000 /dev/zero | tr '\\0' x | haricot -a 127.0.0.3 put --tube mail")
            if os.path.exists(name):
                break
        self.stop(server)

    def test_binlog(self):
        for name in ("DIR", "SRC"):
            path = pathlib.Path("/tmp/here") / name
            path.mkdir()
            self.make_binlog(path)
        text = printed("operating.md", "haricot binlog check").text.replace("[--json]", "--json")
        self.assertIn('"tube":"mail"', self.run_text(text).replace(" ", ""))
        self.assertIn("mail", self.run_text("haricot binlog check DST && haricot binlog check NEW"))
        shutil.rmtree("/tmp/here/NEW")
        self.run_block("tool.md", "haricot binlog repair")

    def test_folder_that_was_left_aside(self):
        self.make_binlog(FOLDER, files=7)
        os.rename(FOLDER / "binlog.7", FOLDER / "binlog.7.aside.1")
        # The status of a line reports that the folder lacks the files before this one.
        self.run_text("set +e\n" + printed("runbook.md", "mkdir /tmp/one").text + "true")
        self.assertIn("mail", self.run_text("haricot binlog check /tmp/two"))
        self.run_text("set +e\n" + printed("runbook.md", "haricot binlog repair /var/lib").text + "true")
        self.assertIn("mail", self.run_text("haricot binlog check /tmp/new"))

    def test_servers(self):
        [line] = printed("operating.md", "haricotd -b /var/lib/beanstalkd").lines
        self.stop(self.start(line, lambda: is_listening(11300)))
        umask, line = printed("security.md", "umask").lines
        self.stop(self.start(f"bash -c '{umask}; exec {line}'", lambda: os.path.exists(SOCKET)))

    def test_take_over(self):
        first, second = printed("operating.md", "haricotd -b /var/lib/jobs").lines
        old = self.start(first, lambda: is_listening(11300))
        self.run_text("haricot put a")
        new = self.start(second, lambda: old.poll() is not None)
        self.assertEqual(old.wait(PATIENCE_S), 0)
        self.assertEqual(self.run_text("haricot stats default --key ready"), "1\n")
        self.stop(new)

    def test_web(self):
        self.serve()
        self.start("haricotd -l queue2 -p 11301", lambda: is_listening(11301, "127.0.0.2"))
        for line in printed("web.md", "haricot web").lines:
            self.stop(self.start(line, lambda: is_listening(11380)))

    def test_request_to_web(self):
        self.serve()
        self.put("mail", "a")
        self.bury("mail")
        token = pathlib.Path("/run/token")
        token.write_text("0123456789abcdef\n", encoding="utf-8")
        token.chmod(0o600)
        self.environment["TOKEN"] = "0123456789abcdef"
        self.start("haricot web queue1:11300 --allow-changes --listen queue1:11380 --token-file /run/token", self.is_web_ready)
        self.assertIn('"done":1', self.run_block("web.md", "curl"))

    def is_web_ready(self):
        connection = http.client.HTTPConnection("127.0.0.1", 11380, timeout=10)
        with contextlib.suppress(OSError), contextlib.closing(connection):
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        return False


class Bench(Machine):
    def test_page_of_performance(self):
        self.serve()
        *lines, _ = printed("performance.md", "haricot bench").lines
        for line in lines:
            self.run_text(line)

    def test_page_of_the_tool(self):
        self.serve()
        for name in ("old", "new"):
            self.start(f"haricotd -l unix:/run/{name}.sock", lambda: os.path.exists(f"/run/{name}.sock"))
        for line in printed("tool.md", "haricot bench").lines:
            self.run_text(line)


if __name__ == "__main__":
    make_machine(sys.argv[1:3])
    del sys.argv[1:3]
    unittest.main()
