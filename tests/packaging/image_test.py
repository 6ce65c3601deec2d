#!/usr/bin/env python3
"""Tests the container image, run by its configuration in namespaces, without a container runtime.

    image_test.py FOLDER_WITH_ARCHIVES
"""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ARCHIVES = pathlib.Path(sys.argv[1])
HOME = "/var/lib/beanstalkd"
# Runs in the container's network namespace, so the port need not be free outside.
ASK = """
import socket, sys
with socket.create_connection(("127.0.0.1", 11300), timeout=60) as server:
    server.sendall(sys.stdin.buffer.read() + b"quit\\r\\n")
    answer = b""
    while piece := server.recv(65536): answer += piece
sys.stdout.buffer.write(answer)
"""
LOOK = """
import urllib.request
print(urllib.request.urlopen("http://127.0.0.1:11380/healthz", timeout=60).status)
"""
ENTER = """
mount --make-rprivate /
ip link set lo up
mount -t proc proc "$1/proc"
cd "$1"; shift
exec chroot "$@"
"""


def eventually(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


class OciImage:
    """An unpacked OCI archive: its configuration and the files of its layers."""

    def __init__(self, archive, folder):
        with tarfile.open(archive) as tar:
            def blob(digest):
                return tar.extractfile("blobs/" + digest.replace(":", "/"))

            index = json.load(tar.extractfile("index.json"))
            manifest = json.load(blob(index["manifests"][0]["digest"]))
            self.config = json.load(blob(manifest["config"]["digest"]))["config"]
            for layer in manifest["layers"]:
                with tarfile.open(fileobj=blob(layer["digest"])) as files:
                    options = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
                    files.extractall(folder, numeric_owner=True, **options)
        self.root = pathlib.Path(folder)

    def files(self):
        return {str(p.relative_to(self.root)) for p in self.root.rglob("*") if not p.is_dir() or p.is_symlink()}


def interpreter_of(program):
    """Returns the dynamic linker of an ELF program, or None if it has none."""
    data = program.read_bytes()
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
        if kind == 3:
            return data[start:start + length].rstrip(b"\0").decode()
    return None


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        cls.image = OciImage(next(ARCHIVES.glob("haricot_*.oci.tar")), folder)

    def test_its_configuration(self):
        config = self.image.config
        self.assertEqual(config["Entrypoint"], ["/usr/bin/haricotd"])
        self.assertEqual(config["Cmd"], ["-b", HOME])
        self.assertEqual(config["ExposedPorts"], {"11300/tcp": {}})
        self.assertEqual(config["Volumes"], {HOME: {}})
        self.assertEqual((config["User"], config["StopSignal"]), ("11300:11300", "SIGTERM"))

    def test_the_archive_for_docker_has_the_health_check(self):
        with tarfile.open(next(ARCHIVES.glob("haricot_*.docker.tar"))) as tar:
            manifest = json.load(tar.extractfile("manifest.json"))[0]
            config = json.load(tar.extractfile(manifest["Config"]))["config"]
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "/usr/bin/haricot", "ping"])
        self.assertEqual({key: config[key] for key in ("Entrypoint", "Cmd", "User", "Volumes", "ExposedPorts")},
                         {key: self.image.config[key] for key in ("Entrypoint", "Cmd", "User", "Volumes", "ExposedPorts")})

    def test_it_holds_the_programs_and_little_else(self):
        self.assertEqual(self.image.files(), {
            "usr/bin/haricotd", "usr/bin/haricot", "usr/bin/beanstalkd", "usr/share/doc/haricot/LICENSE",
            "etc/passwd", "etc/group", "etc/nsswitch.conf"})
        for name in ("haricotd", "haricot"):
            self.assertIsNone(interpreter_of(self.image.root / "usr/bin" / name), name)
        self.assertLess(sum((self.image.root / name).stat().st_size for name in self.image.files()), 8 << 20)
        home = (self.image.root / HOME[1:]).stat()
        self.assertEqual((home.st_uid, home.st_gid), (11300, 11300))

    def test_a_program_with_an_interpreter_is_detected(self):
        self.assertIn("ld-linux", interpreter_of(pathlib.Path(sys.executable).resolve()))


class Container(unittest.TestCase):
    """Runs one server at a time, as process 1, with its own processes, mounts and network."""

    def setUp(self):
        if os.geteuid() != 0 or subprocess.run(
                ["unshare", "--pid", "--mount", "--net", "--fork", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("namespaces can only be made by root")
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        self.image = OciImage(next(ARCHIVES.glob("haricot_*.oci.tar")), folder)
        (self.image.root / "proc").mkdir(exist_ok=True)
        (self.image.root / "etc/hosts").write_text("127.0.0.1 localhost\n")  # Like container runtimes.
        self.outer = None

    def tearDown(self):
        if self.outer is not None and self.outer.poll() is None:
            # A process that has changed its user is not killed with its parent, so process 1 is killed here.
            children = pathlib.Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text().split()
            for child in children:
                os.kill(int(child), signal.SIGKILL)
            self.outer.kill()
            self.outer.wait()
        if self.outer is not None:
            self.outer.stderr.close()

    def run_image(self, *arguments):
        config = self.image.config
        words = config["Entrypoint"] + (list(arguments) or config["Cmd"])
        self.outer = subprocess.Popen(
            ["unshare", "--pid", "--mount", "--net", "--fork", "--kill-child", "bash", "-ec", ENTER, "enter",
             str(self.image.root), f"--userspec={config['User']}", ".", *words],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"]})
        self.assertTrue(eventually(self.is_served), "nobody answers")

    def inner(self):
        """Returns the id of the container's process 1 outside of the container, or None if it has not started."""
        children = pathlib.Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text().split()
        if not children:
            return None
        is_server = os.path.basename(os.readlink(f"/proc/{children[0]}/exe")) == "haricotd"
        return int(children[0]) if is_server else None

    def within(self, words, **more):
        return subprocess.run(["nsenter", f"--target={self.inner()}", "--net", "--pid", *words],
                              capture_output=True, timeout=60, **more)

    def tool(self, *words):
        return self.within(["chroot", f"--userspec={self.image.config['User']}", str(self.image.root),
                            "/usr/bin/haricot", *words])

    def ask(self, text):
        result = self.within([sys.executable, "-c", ASK], input=text.encode())
        return result.stdout.decode() if result.returncode == 0 else None

    def is_served(self):
        if self.outer.poll() is not None:
            self.fail(f"it ended: {self.outer.stderr.read().decode()}")
        return self.inner() is not None and self.ask("list-tube-used\r\n") == "USING default\r\n"

    def end(self, number):
        """Sends a signal to process 1. Returns its status as a container runtime sees it."""
        begin = time.monotonic()
        os.kill(self.inner(), number)
        status = self.outer.wait(timeout=60)
        self.outer.stderr.close()
        took = time.monotonic() - begin
        print(f"signal {number}: status {status} in {1000 * took:.0f} ms")
        self.assertLess(took, 10)
        return status

    def test_it_serves_as_process_one_and_as_its_user(self):
        self.run_image()
        status = pathlib.Path(f"/proc/{self.inner()}/status").read_text()
        self.assertRegex(status, r"NSpid:\s+\d+\s+1\n")
        self.assertRegex(status, r"Uid:\s+11300\s+11300\s+11300\s+11300\n")
        self.assertEqual(self.ask("put 0 0 60 2\r\nhi\r\nreserve\r\n"), "INSERTED 1\r\nRESERVED 1 2\r\nhi\r\n")

    def test_sigterm_and_sigint_end_it_with_status_0_and_jobs_are_kept(self):
        self.run_image()
        self.assertEqual(self.ask("put 0 0 60 4\r\nkept\r\n"), "INSERTED 1\r\n")
        self.assertEqual(self.end(signal.SIGTERM), 0)
        self.run_image()
        self.assertEqual(self.ask("peek 1\r\n"), "FOUND 1 4\r\nkept\r\n")
        self.assertEqual(self.end(signal.SIGINT), 0)

    def test_sigusr1_drains_it(self):
        self.run_image()
        os.kill(self.inner(), signal.SIGUSR1)
        self.assertTrue(eventually(lambda: self.ask("put 0 0 60 2\r\nhi\r\n") == "DRAINING\r\n"))
        self.assertEqual(self.end(signal.SIGTERM), 0)

    def test_its_health_check_is_in_it(self):
        self.run_image()
        result = self.tool("ping")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.tool("ping", "127.0.0.1:11399")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(self.end(signal.SIGTERM), 0)

    def test_the_console_is_in_it(self):
        self.run_image()
        words = ["nsenter", f"--target={self.inner()}", "--net", "--pid", "chroot",
                 f"--userspec={self.image.config['User']}", str(self.image.root), "/usr/bin/haricot", "web"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as console:
            self.assertTrue(eventually(lambda: self.within([sys.executable, "-c", LOOK]).stdout == b"200\n"))
            self.assertIsNone(console.poll())
            # The console ends with the container.
            self.assertEqual(self.end(signal.SIGTERM), 0)

    def test_orphaned_processes_are_reaped(self):
        self.run_image()
        # A process whose parent has ended becomes a child of process 1.
        self.within(["sh", "-c", "(sleep 0.3 & exec true)"])
        tasks = pathlib.Path(f"/proc/{self.inner()}/task/{self.inner()}/children")
        self.assertTrue(eventually(lambda: tasks.read_text().strip() == ""), tasks.read_text())

    def test_names_are_resolved_without_a_library(self):
        self.run_image("-l", "localhost")
        self.assertEqual(self.ask("put 0 0 60 2\r\nhi\r\n"), "INSERTED 1\r\n")
        self.assertEqual(self.tool("bench", "-n", "100", "localhost:11300").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
