#!/usr/bin/env python3
"""Tests that a compiler warning fails the builds of CI, but not those of users.

    warnings_test.py CMAKE PROJECT
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, PROJECT = sys.argv[1], pathlib.Path(sys.argv[2])
AS_IN_CI = "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON"


class Warnings(unittest.TestCase):
    def commands(self, preset, *flags):
        """Returns the compile commands of the sources."""
        with tempfile.TemporaryDirectory() as build:
            result = subprocess.run(
                [CMAKE, "--preset", preset, "-B", build, "-DHARICOT_TESTS=OFF", "-DHARICOT_LTO=OFF", *flags],
                cwd=PROJECT, capture_output=True, text=True, timeout=100)
            self.assertEqual(result.returncode, 0, result.stderr)
            return [entry["command"] for entry in
                    json.loads(pathlib.Path(build, "compile_commands.json").read_text())]

    def test_a_preset_warns_without_failing(self):
        for preset in ["release", "debug"] + (["clang"] if shutil.which("clang++") else []):
            with self.subTest(preset=preset):
                commands = self.commands(preset)
                self.assertGreater(len(commands), 10)
                for command in commands:
                    self.assertIn("-Wall", command)
                    self.assertNotIn("-Werror", command)

    def test_ci_asks_for_errors_in_each_build(self):
        for command in self.commands("release", AS_IN_CI):
            self.assertIn("-Werror", command)
        lines = [line.strip() for line in (PROJECT / ".ci/run").read_text().splitlines()]
        builds = [line for line in lines if line.startswith(("scripts/test", "cmake --preset"))]
        self.assertGreater(len(builds), 3)
        for line in builds:
            self.assertTrue("--no-warnings" in line or AS_IN_CI in line, line)
        self.assertIn(AS_IN_CI, (PROJECT / "scripts/test").read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
