#!/usr/bin/env python3
"""Tests the archives of scripts/lib/image.py: they are reproducible, and other programs can read them.

    image_archives_test.py PROJECT
"""

import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

WRITER = pathlib.Path(sys.argv[1]) / "scripts/lib/image.py"
CREATED = 1_700_000_000


def make_tree(folder, names):
    """Creates the files in the order of the names."""
    folder.mkdir()
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o755)
        path.write_bytes(name.encode() * 100)
        path.chmod(0o755 if "bin" in name else 0o644)
    (folder / "usr/bin/link").symlink_to("one")
    (folder / "usr").chmod(0o755)


class Archives(unittest.TestCase):
    NAMES = ["usr/bin/one", "usr/bin/two", "etc/passwd"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, names, architecture="arm64", **variables):
        tree = self.folder / name
        make_tree(tree, names)
        archives = [self.folder / f"{name}.{kind}.tar" for kind in ("oci", "docker")]
        subprocess.run([sys.executable, WRITER, "--tree", tree, "--version", "1.2.3", "--architecture", architecture,
                        "--created", str(CREATED), "--oci", archives[0], "--docker", archives[1]],
                       check=True, env={**os.environ, **variables})
        return archives

    def test_are_the_same_for_the_same_files(self):
        first = self.write("first", self.NAMES)
        second = self.write("second", reversed(self.NAMES), TZ="Asia/Kathmandu")
        for one, other in zip(first, second):
            self.assertEqual(one.read_bytes(), other.read_bytes())

    def test_have_the_architecture_and_the_time(self):
        oci, docker = self.write("first", self.NAMES)
        with tarfile.open(oci) as tar:
            index = json.load(tar.extractfile("index.json"))
            self.assertEqual({info.mtime for info in tar}, {CREATED})
        self.assertEqual(index["manifests"][0]["platform"], {"architecture": "arm64", "os": "linux", "variant": "v8"})
        with tarfile.open(docker) as tar:
            manifest = json.load(tar.extractfile("manifest.json"))[0]
            config = json.load(tar.extractfile(manifest["Config"]))
            layer = tar.extractfile(manifest["Layers"][0]).read()
        self.assertEqual((config["architecture"], config["created"]), ("arm64", "2023-11-14T22:13:20Z"))
        self.assertEqual(manifest["RepoTags"], ["haricot:1.2.3"])
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            files = {info.name: (info.mode, info.uid, info.linkname) for info in tar}
        self.assertEqual(files["usr/bin/one"], (0o755, 0, ""))
        self.assertEqual(files["usr/bin/link"], (0o777, 0, "one"))
        self.assertEqual(files["etc/passwd"], (0o644, 0, ""))
        self.assertEqual(files["var/lib/beanstalkd"], (0o755, 11300, ""))

    def test_can_be_read_by_the_library_of_podman(self):
        if not shutil.which("buildah"):
            self.skipTest("buildah is missing")
        storage = ["buildah", "--storage-driver", "vfs", "--root", self.folder / "images", "--runroot", self.folder / "run"]
        if subprocess.run([*storage, "images"], capture_output=True).returncode != 0:
            self.skipTest("buildah cannot work here")
        for archive, kind in zip(self.write("first", self.NAMES, "amd64"), ("oci", "docker")):
            result = subprocess.run([*storage, "pull", "--quiet", f"{kind}-archive:{archive}"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            printed = subprocess.run([*storage, "inspect", "--type", "image", result.stdout.strip()], check=True,
                                  capture_output=True, text=True).stdout
            config = json.loads(printed)["OCIv1"]["config"]
            self.assertEqual((config["Entrypoint"], config["User"]), (["/usr/bin/haricotd"], "11300:11300"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
