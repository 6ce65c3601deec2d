#!/usr/bin/env python3
"""Tests that the service reads the settings of each distribution, or reports the line that it does not know.

    settings_test.py SETTINGS_SCRIPT HARICOTD OPENRC_SCRIPT

The files are those of distributions, Puppet, Chef and Ansible for beanstalkd's service.
"""

import getpass
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT, HARICOTD, OPENRC = (os.path.abspath(word) for word in sys.argv[1:4])
SHELLS = [words for words in (["sh"], ["bash", "--posix"], ["busybox", "sh"]) if shutil.which(words[0])]
USER = getpass.getuser()
USAGE = 5

EPEL = f"""\
# System configuration for the beanstalkd daemon

# Listening address for requests. Default is to bind to all addresses.
ADDR=-l 10.0.0.5

PORT=-p 11301
USER=-u {USER}

# Size of a job
#MAX_JOB_SIZE=-z 65535
MAX_JOB_SIZE=-z 100000

BINLOG_DIR=-b /srv/queue
BINLOG_FSYNC_PERIOD=-f 100
BINLOG_SIZE_LIMIT=-s 1000000
"""
EPEL_WORDS = "-l 10.0.0.5 -p 11301 -z 100000 -b /srv/queue -f 100 -s 1000000"

RHEL_6 = f"""\
# Used by the init script and by Puppet's template.
BEANSTALKD_ADDR=10.0.0.5
BEANSTALKD_PORT=11301
BEANSTALKD_USER={USER}
BEANSTALKD_MAX_JOB_SIZE=100000
BEANSTALKD_BINLOG_DIR=/srv/queue
BEANSTALKD_BINLOG_FSYNC_PERIOD=100
BEANSTALKD_BINLOG_SIZE=1000000
"""

GENTOO = f"""\
# conf.d of Gentoo and Alpine

BEANSTALKD_BINARY="/usr/bin/beanstalkd"
PIDFILE="/run/beanstalkd.pid"

# User to run as
USER="{USER}"

PORT="11301"
ADDR="10.0.0.5"

# Datadir (where to store queue)
DATADIR="/srv/queue"

# Max job size
JOB_SIZE="65536"
"""

DEBIAN = """\
## Defaults for the beanstalkd init script, /etc/init.d/beanstalkd on Debian systems.
BEANSTALKD_LISTEN_ADDR=10.0.0.5
BEANSTALKD_LISTEN_PORT=11301
# You can use BEANSTALKD_EXTRA to pass additional options.
BEANSTALKD_EXTRA="-b /srv/queue -V"
"""

PUPPET_DEBIAN = """\
BEANSTALKD_LISTEN_ADDR=10.0.0.5
BEANSTALKD_LISTEN_PORT=11301
BEANSTALKD_BINLOG_DIR=/srv/queue
BEANSTALKD_BINLOG_MAX_SIZE=1000000
BEANSTALKD_FSYNC_MAX=100
BEANSTALKD_JOB_MAX_SIZE=100000
"""

ANSIBLE_DEBIAN = """\
BEANSTALKD_LISTEN_ADDR=10.0.0.5
BEANSTALKD_LISTEN_PORT=11301
BEANSTALKD_STORAGE=/srv/queue
DAEMON_OPTS="-l $BEANSTALKD_LISTEN_ADDR -p $BEANSTALKD_LISTEN_PORT  -b $BEANSTALKD_STORAGE "
"""


def systemd_reads(text):
    """Returns the variables that EnvironmentFile= reads from a file: values may have blanks, and are not expanded."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.split("=", 1) for line in lines if line and line[0] not in "#;")
    return {name: value[1:-1] if value[:1] in ("'", '"') else value for name, value in pairs}


class Settings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "beanstalkd"
        self.program = self.folder / "program"
        self.program.write_text('#!/bin/sh\necho "$@"\n')
        self.program.chmod(0o755)

    def run_script(self, shell, text, **environment):
        self.file.write_text(text)
        return subprocess.run([*shell, SCRIPT, self.file, self.program], capture_output=True, text=True, timeout=60,
                              env={"PATH": os.environ["PATH"], **systemd_reads(text), **environment})

    def check_words(self, text, words, **environment):
        for shell in SHELLS:
            result = self.run_script(shell, text, **environment)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, words + "\n", ""), shell)
        # The server accepts all flags.
        result = subprocess.run([HARICOTD, *words.split(), "--version"], capture_output=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)

    def check_refused(self, text, *printed, **environment):
        for shell in SHELLS:
            result = self.run_script(shell, text, **environment)
            self.assertEqual((result.returncode, result.stdout), (USAGE, ""), shell)
            for words in printed:
                self.assertIn(words, result.stderr)

    def test_without_settings_only_this_machine_may_connect(self):
        self.check_words("", "-l 127.0.0.1 -p 11300")
        self.check_words("# Nothing is set.\n#PORT=1\n", "-l 127.0.0.1 -p 11300")

    def test_epel_names_have_their_flags_in_front(self):
        self.check_words(EPEL, EPEL_WORDS)
        self.check_words(EPEL.replace("-f 100", "-F"), EPEL_WORDS.replace("-f 100", "-F"))
        self.check_words(re.sub("=(.*)", r'="\1"', EPEL), EPEL_WORDS)

    def test_rhel_6_names_are_known(self):
        self.check_words(RHEL_6, EPEL_WORDS)

    def test_debian_names_are_known(self):
        self.check_words(DEBIAN, "-l 10.0.0.5 -p 11301 -b /srv/queue -V")
        self.check_words(PUPPET_DEBIAN, EPEL_WORDS)

    def test_an_address_may_end_with_a_colon(self):
        self.check_words("ADDR=::\n", "-l :: -p 11300")

    def test_a_drop_in_may_add_settings(self):
        self.check_words("PORT=1\n", "-l 127.0.0.1 -p 1 -b /srv/queue", BEANSTALKD_EXTRA="-b /srv/queue")

    def test_the_environment_is_no_settings_file(self):
        self.check_words("", "-l 127.0.0.1 -p 11300", PORT="1", ADDR="::", USER="nobody", DATADIR="/")

    def test_an_unknown_name_is_reported_with_its_line(self):
        self.check_refused("PORT=1\n# No.\nBINLOG_DRI=-b /srv\n", "line 3", "BINLOG_DRI=-b /srv")
        self.check_refused("  export FSYNC=0\n", "line 1", "export FSYNC=0")

    def test_variables_of_the_c_library_are_none_of_the_server(self):
        self.check_words("MALLOC_ARENA_MAX=1\nTZ=UTC\nLC_ALL=C\n", "-l 127.0.0.1 -p 11300")

    def test_a_variable_that_systemd_does_not_expand_is_refused(self):
        self.check_refused(ANSIBLE_DEBIAN, "line 4", "DAEMON_OPTS=")

    def test_another_user_than_that_of_the_unit_is_refused(self):
        self.check_refused("USER=-u nobody-else\n", "nobody-else", USER)

    def test_flags_are_no_patterns_of_file_names(self):
        self.check_words('BEANSTALKD_EXTRA="-b /*"\n', "-l 127.0.0.1 -p 11300 -b /*")

    def test_the_check_lists_settings_that_debians_service_ignores(self):
        for text, printed in ((DEBIAN, ""), (ANSIBLE_DEBIAN, "line 4"), ("START=yes\n", "line 1")):
            self.file.write_text(text)
            result = subprocess.run(["sh", SCRIPT, "--check", self.file], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 0)
            self.assertIn(printed, result.stderr)
            self.assertEqual(printed == "", result.stderr == "")

    def test_flags_after_the_program_are_added(self):
        self.file.write_text("PORT=-p 11301\n")
        # systemd has read the file.
        result = subprocess.run(["sh", SCRIPT, self.file, "/bin/echo", "--check"], capture_output=True, text=True,
                                timeout=60, env={"PATH": os.environ["PATH"], "PORT": "-p 11301"})
        self.assertEqual(result.stdout.split()[-3:], ["-p", "11301", "--check"], result.stderr)

    # OpenRC ------------------------------------------------------------------------------------

    def openrc(self, shell, text, then='echo "$command $command_args" && echo "$command_user $pidfile"'):
        """Sources the settings and the script like OpenRC, and runs `then`."""
        self.file.write_text(text)
        script = pathlib.Path(OPENRC).read_text().replace("/usr/lib/haricot/settings", SCRIPT)
        script = script.replace("/etc/conf.d/$RC_SVCNAME", str(self.file)).replace("/etc/default/", "/nowhere/")
        (self.folder / "script").write_text(script)
        words = f". {shlex.quote(str(self.file))}; . {self.folder}/script; checkpath() {{ :; }}; {then}"
        return subprocess.run([*shell, "-c", words, "openrc"], capture_output=True, text=True, timeout=60,
                              env={"PATH": os.environ["PATH"], "RC_SVCNAME": "beanstalkd"})

    def test_gentoos_and_alpines_names_are_known_to_openrc(self):
        for shell in SHELLS:
            result = self.openrc(shell, GENTOO)
            group = subprocess.run(["id", "-gn"], capture_output=True, text=True).stdout.strip()
            self.assertEqual(result.stdout.splitlines(), [
                "/usr/bin/beanstalkd -l 10.0.0.5 -p 11301 -z 65536 -b /srv/queue --take-over-socket=/run/beanstalkd/next",
                f"{USER}:{group} /run/beanstalkd.pid"], result.stderr)

    def test_openrc_hands_no_fenced_server_over(self):
        for shell in SHELLS:
            result = self.openrc(shell, 'DATADIR=/srv/queue\nBEANSTALKD_EXTRA="--fence-after 5"\n')
            self.assertIn("--fence-after 5", result.stdout, result.stderr)
            self.assertNotIn("--take-over-socket", result.stdout)
            result = self.openrc(shell, 'BEANSTALKD_EXTRA="--fence-after 5"\n',
                                 'eerror() { echo "$@"; }; ebegin() { :; }; reload || echo "status $?"')
            self.assertEqual(result.stdout, "A server with --fence-after cannot hand over; use restart.\nstatus 1\n")

    def test_openrc_expands_variables(self):
        for shell in SHELLS:
            result = self.openrc(shell, ANSIBLE_DEBIAN)
            self.assertIn("-l 10.0.0.5 -p 11301 -b /srv/queue ", result.stdout.replace("  ", " "), result.stderr)

    def test_openrc_does_not_start_with_an_unknown_name(self):
        for shell in SHELLS:
            result = self.openrc(shell, "QUEUE_DIR=/srv/queue\nrc_ulimit='-n 65536'\n", "start_pre && echo started")
            self.assertIn("line 1: unknown setting: QUEUE_DIR=/srv/queue", result.stderr)
            self.assertNotIn("rc_ulimit", result.stderr)
            self.assertEqual(result.stdout, "")
            self.assertEqual(self.openrc(shell, "rc_ulimit='-n 65536'\n", "start_pre && echo started").stdout, "started\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
