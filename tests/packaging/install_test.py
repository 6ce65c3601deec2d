#!/usr/bin/env python3
"""Tests the files of `cmake --install`, and that the installed programs work.

    install_test.py CMAKE BUILD_FOLDER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD = sys.argv[1], pathlib.Path(sys.argv[2])
PROJECT = pathlib.Path(__file__).resolve().parents[2]


def cache_value(name):
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split("=", 1)[1]
    return None


class Install(unittest.TestCase):
    def install(self, *flags):
        """Configures the project without building it, and installs it with the programs of this build."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        build, root = pathlib.Path(folder.name, "build"), pathlib.Path(folder.name, "root")
        environment = {**os.environ, "DESTDIR": str(root)}
        for words in (
            ["-S", str(PROJECT), "-B", str(build), "-G", "Ninja", "-DHARICOT_TESTS=OFF", "-DHARICOT_LTO=OFF",
             f"-DCMAKE_CXX_COMPILER={cache_value('CMAKE_CXX_COMPILER')}", *flags],
            None,
            ["--install", str(build)],
        ):
            if words is None:
                for program in ("haricotd", "haricot"):
                    shutil.copy2(BUILD / program, build / program)
                continue
            result = subprocess.run([CMAKE, *words], capture_output=True, text=True, env=environment)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return root

    def files(self, root):
        return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}

    def test_by_default_no_name_of_beanstalkd_is_used(self):
        files = self.files(self.install())
        for name in ("bin/haricotd", "bin/haricot", "share/man/man8/haricotd.8", "share/doc/haricot/README.md",
                     "share/doc/haricot/examples/systemd/beanstalkd.service", "share/doc/haricot/examples/ocf/haricotd"):
            self.assertIn("usr/local/" + name, files)
        taken = [name for name in files if "beanstalkd" in name and "/doc/" not in name]
        self.assertEqual(taken, [])

    def test_as_beanstalkd_it_runs_under_that_name(self):
        root = self.install("-DHARICOT_REPLACE_BEANSTALKD=ON")
        files = self.files(root)
        for name in ("bin/beanstalkd", "share/man/man1/beanstalkd.1", "lib/systemd/system/beanstalkd.service",
                     "lib/systemd/system/beanstalkd.socket", "lib/systemd/system/haricot-web.service",
                     "lib/ocf/resource.d/haricot/haricotd"):
            self.assertIn("usr/local/" + name, files)
        self.assertTrue(os.access(root / "usr/local/lib/ocf/resource.d/haricot/haricotd", os.X_OK))
        link = root / "usr/local/bin/beanstalkd"
        self.assertEqual(os.readlink(link), "haricotd")
        printed = subprocess.run([link, "-v"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(printed.startswith("beanstalkd 1.13 (haricot "), printed)
        for name in ("beanstalkd", "haricotd"):
            result = subprocess.run([link.parent / name, "--help"], capture_output=True, text=True)
            self.assertIn(f"Use: {name} [OPTIONS]", result.stdout)
            result = subprocess.run([link.parent / name, "--nonsense"], capture_output=True, text=True)
            self.assertEqual(result.stderr, f"Try {name} --help.\n{name}: unknown flag: --nonsense\n")
        unit = (root / "usr/local/lib/systemd/system/beanstalkd.service").read_text()
        self.assertIn("\nExecStart=/usr/local/bin/beanstalkd ", unit)
        unit = (root / "usr/local/lib/systemd/system/haricot-web.service").read_text()
        self.assertIn("\nExecStart=/usr/local/bin/haricot web ", unit)
        self.assertNotIn("@", unit.replace("@system-service", "").replace("@privileged", "").replace("@resources", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
