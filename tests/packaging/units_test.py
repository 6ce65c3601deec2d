#!/usr/bin/env python3
"""Checks that systemd accepts the units, and rates their sandbox.

    units_test.py HARICOTD HARICOT FOLDER_OF_UNITS
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HARICOTD, HARICOT = (os.path.abspath(word) for word in sys.argv[1:3])
UNITS = pathlib.Path(sys.argv[3])
EXPOSURE_MAX = 15  # In tenths: 1.5.


def analyze(*words):
    return subprocess.run(["systemd-analyze", "--no-pager", *words], capture_output=True, text=True)


class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The units, with the path of the built program.
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "beanstalkd").symlink_to(HARICOTD)
        for unit in ("beanstalkd.service", "beanstalkd.socket"):
            text = (UNITS / unit).read_text()
            text = re.sub(r"^ExecStart=\S+/beanstalkd ", f"ExecStart={cls.folder}/beanstalkd ", text, flags=re.MULTILINE)
            (cls.folder / unit).write_text(text)
        cls.service = (cls.folder / "beanstalkd.service").read_text()

    def values(self, key):
        return re.findall(rf"^{key}=(.*)$", self.service, re.MULTILINE)

    def test_verify_is_clean(self):
        result = analyze("verify", "--man=no", str(self.folder / "beanstalkd.service"), str(self.folder / "beanstalkd.socket"))
        ours = [line for line in (result.stdout + result.stderr).splitlines() if "beanstalkd" in line]
        self.assertEqual((result.returncode, ours), (0, []), result.stderr)

    def test_the_sandbox_is_tight(self):
        unit = str(self.folder / "beanstalkd.service")
        result = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", unit)
        if "unrecognized option" in result.stderr:
            self.skipTest("this systemd-analyze cannot judge a file")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        exposure = re.search(r"exposure level for beanstalkd.service: ([\d.]+)", result.stdout)
        self.assertLessEqual(float(exposure[1]), EXPOSURE_MAX / 10)

    def test_the_command_is_that_of_debians_unit(self):
        words = self.values("ExecStart")[0].split()[1:]
        self.assertEqual(words, ["-l", "${BEANSTALKD_LISTEN_ADDR}", "-p", "${BEANSTALKD_LISTEN_PORT}", "$BEANSTALKD_EXTRA"])
        self.assertEqual(self.values("EnvironmentFile"), ["-/etc/default/beanstalkd"])
        self.assertEqual((self.values("User"), self.values("Group")), (["beanstalkd"], ["beanstalkd"]))

    def test_settings_that_operators_rely_on(self):
        self.assertEqual(self.values("Type"), ["notify"])
        self.assertEqual(self.values("Restart"), ["on-failure"])
        self.assertGreaterEqual(int(self.values("LimitNOFILE")[0]), 65536)
        # The server reads its flags only at the start, so a reload would have to close connections.
        self.assertEqual(self.values("ExecReload"), [])

    def test_the_sandbox_permits_everything_that_flags_may_name(self):
        self.assertEqual(self.values("ProtectSystem"), ["full"])
        for key in ("PrivateTmp", "ProtectHome", "IPAddressDeny", "PrivateNetwork", "RootDirectory"):
            self.assertEqual(self.values(key), [], key)
        self.assertIn("AF_UNIX", self.values("RestrictAddressFamilies")[0])


class WebUnit(unittest.TestCase):
    """Tests of the console's unit."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.unit = pathlib.Path(folder.name, "haricot-web.service")
        text = (UNITS / "haricot-web.service").read_text()
        self.unit.write_text(re.sub(r"^ExecStart=\S+/haricot ", f"ExecStart={HARICOT} ", text, flags=re.MULTILINE))

    def test_verify_is_clean(self):
        result = analyze("verify", "--man=no", str(self.unit))
        ours = [line for line in (result.stdout + result.stderr).splitlines() if "haricot" in line]
        self.assertEqual((result.returncode, ours), (0, []), result.stderr)

    def test_it_is_as_tight_as_the_servers(self):
        result = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", str(self.unit))
        if "unrecognized option" in result.stderr:
            self.skipTest("this systemd-analyze cannot judge a file")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_it_runs_the_subcommand_with_a_dynamic_user(self):
        text = self.unit.read_text()
        self.assertIn(f"ExecStart={HARICOT} web $HARICOT_WEB_EXTRA $HARICOT_WEB_SERVERS\n", text)
        self.assertIn("DynamicUser=yes\n", text)
        self.assertIn("Type=notify\n", text)
        self.assertNotIn("User=root", text)


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze is missing")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
