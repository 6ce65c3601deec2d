#!/usr/bin/env python3
"""Checks that --help of each script prints its comment, and installs and builds nothing."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import documents

SCRIPTS = sorted(path for path in (documents.ROOT / "scripts").iterdir() if path.is_file())
# Programs that install or build.
BUSY = ("apt-get", "dpkg-query", "sudo", "cmake", "ninja", "npm", "docker", "python3", "git")


class Help(unittest.TestCase):
    def test_is_the_comment_at_the_top_and_does_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in BUSY:
                program = pathlib.Path(folder, name)
                program.write_text(f'#!/bin/sh\necho {name} >>"{folder}/was-run"\n', encoding="utf-8")
                program.chmod(0o755)
            settings = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
            self.assertGreater(len(SCRIPTS), 10)
            for script in SCRIPTS:
                first = script.read_text(encoding="utf-8").splitlines()[1].removeprefix("# ")
                for word in ("--help", "-h"):
                    with self.subTest(script=script.name, word=word):
                        ended = subprocess.run([script, word], capture_output=True, text=True, cwd=folder,
                                               env=settings, timeout=60, check=False)
                        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                        self.assertEqual(ended.stdout.splitlines()[0], first)
                        self.assertFalse(pathlib.Path(folder, "was-run").exists())


if __name__ == "__main__":
    unittest.main()
