#!/usr/bin/env python3
"""Tests that scripts report a build on stderr, and print only their result on stdout.

    build_output_test.py PROJECT

The cmake of this test compiles nothing: it prints output of a compiler and fails.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(sys.argv[1])
CMAKE = """#!/bin/sh
case "$1" in
  --build)
    echo "the compiler speaks"
    echo "/usr/bin/ld: a.o: in function \`look_up':" >&2
    echo "a.cpp:(.text+0x1): warning: Using 'getaddrinfo' in statically linked applications requires at runtime" \
      "the shared libraries from the glibc version used for linking" >&2
    echo "/usr/bin/ld: a.o: in function \`other':" >&2
    echo "a.cpp:(.text+0x2): undefined reference to \`nothing'" >&2
    exit 3
    ;;
esac
"""


class BuildOutput(unittest.TestCase):
    def run_script(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            cmake = pathlib.Path(folder) / "cmake"
            cmake.write_text(CMAKE)
            cmake.chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            return subprocess.run([PROJECT / "scripts" / words[0], "--into", folder, *words[1:]], env=environment,
                                  capture_output=True, text=True, timeout=600)

    def check(self, targets, *words):
        result = self.run_script(*words)
        self.assertNotEqual(result.returncode, 0)
        reported = result.stderr.find("== building " + targets)
        self.assertNotEqual(reported, -1, result.stderr)
        self.assertGreater(result.stderr.find("the compiler speaks"), reported, result.stderr)
        self.assertNotIn("the compiler speaks", result.stdout)

    def test_image_hides_known_warnings(self):
        for words in ((), ("-DHARICOT_LTO=OFF",)):
            shown = self.run_script("image", *words).stderr
            self.assertNotIn("getaddrinfo", shown)
            self.assertNotIn("look_up", shown)
            self.assertIn("in function `other':\na.cpp:(.text+0x2): undefined reference to `nothing'", shown)

    def test_image(self):
        self.check("haricotd_static haricot_static", "image")

    def test_image_with_words_for_cmake(self):
        self.check("haricotd and haricot", "image", "-DHARICOT_LTO=OFF")

    def test_package_with_words_for_cmake(self):
        self.check("haricotd and haricot", "package", "-DHARICOT_LTO=OFF")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
