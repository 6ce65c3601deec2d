#!/usr/bin/env python3
"""Tests scripts/test and scripts/serve during a build: scripts_test.py PROJECT

They run in a tree of their own, whose cmake builds nothing, and whose package managers install nothing.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROJECT = pathlib.Path(sys.argv[1]).resolve()
PATIENCE_S = 120

PROGRAMS = {
    "dpkg-query": "echo installed",
    "apt-get": "exit 1",
    "node": "exit 0",
    "npm": "echo the registry is away; exit 1",
    # The build of the tests never ends. The tool is built later than the server.
    "cmake": """
case "$*" in
  *" -n") echo "[1/2] Linking" ;;
  "--build --preset release --target haricotd") printf '#!/bin/sh\nexec sleep 600\n' >build/release/haricotd
    chmod 755 build/release/haricotd ;;
  "--build --preset release --target haricot")
    until [ -e tool-may-come ]; do sleep 0.1; done
    [ ! -e tool-fails ] || exit 1
    cp /bin/echo build/release/new && mv build/release/new build/release/haricot ;;
  --build*) exec sleep 600 ;;
esac
mkdir -p build/release""",
}


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copytree(PROJECT / "scripts", self.folder / "scripts")
        (self.folder / "tests/clients/node").mkdir(parents=True)
        (self.folder / "tests/clients/node/package-lock.json").write_text("{}")
        (self.folder / "bin").mkdir()
        for name, text in PROGRAMS.items():
            (self.folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.folder / "bin" / name).chmod(0o755)
        (self.folder / "build/release").mkdir(parents=True)
        self.shown = self.folder / "shown"
        self.tool = self.folder / "build/release/haricot"

    def start(self, name, *words):
        with open(self.shown, "wb") as shown:
            process = subprocess.Popen([self.folder / "scripts" / name, *words], stdin=subprocess.DEVNULL, stdout=shown,
                                       stderr=shown, start_new_session=True,
                                       env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"})
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def wait_for(self, is_so):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            self.assertLess(time.monotonic(), end, self.shown.read_text())
            time.sleep(0.05)

    def test_a_failed_installation_ends_the_build_at_once(self):
        process = self.start("test")
        self.assertNotEqual(process.wait(PATIENCE_S), 0)
        shown = self.shown.read_text()
        self.assertIn("npm cannot install the client libraries", shown)
        self.assertIn("the registry is away", shown)

    def test_a_command_of_the_tool_waits_until_it_is_built(self):
        self.start("serve")
        self.wait_for(lambda: "haricotd is starting" in self.shown.read_text())
        command = subprocess.Popen([self.tool, "put", "hello"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("waiting", command.stderr.readline())
        self.assertNotIn("is ready", self.shown.read_text())
        (self.folder / "tool-may-come").touch()
        output, _ = command.communicate(timeout=PATIENCE_S)
        self.assertEqual((command.returncode, output), (0, "put hello\n"))
        self.wait_for(lambda: "The tool is ready: build/release/haricot" in self.shown.read_text())

    def test_a_command_of_a_tool_that_cannot_be_built_fails(self):
        (self.folder / "tool-fails").touch()
        self.start("serve")
        self.wait_for(lambda: "haricotd is starting" in self.shown.read_text())
        command = subprocess.Popen([self.tool, "put"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("waiting", command.stderr.readline())
        (self.folder / "tool-may-come").touch()
        _, error = command.communicate(timeout=PATIENCE_S)
        self.assertEqual(command.returncode, 6)
        self.assertIn("haricot.log", error)
        self.wait_for(lambda: "cannot build the tool" in self.shown.read_text())
        self.assertFalse(self.tool.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
