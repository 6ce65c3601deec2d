#!/usr/bin/env python3
"""Tests a release that scripts/release makes in a new repository with the files of the project.

    release_test.py PROJECT

The release is made twice, in two folders, with different times, user settings and umasks. Exits with 77 if tools of
scripts/release are missing.
"""

import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

PROJECT = pathlib.Path(sys.argv[1])
COMMITTED = 1_700_000_000
WHO = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "somebody"), ("EMAIL", "somebody@example.invalid"), ("DATE", f"{COMMITTED} +0000"))}
VERSION = re.search(r"^project\(haricot VERSION (\S+) ", (PROJECT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)


def git(folder, *words):
    environment = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=environment)


def make_repository(folder):
    """Makes a repository of the project with one commit, which is a release."""
    skip = shutil.ignore_patterns("build", "build-*", "node_modules", ".git", ".cache", "__pycache__", "*.log",
                                  "compile_commands.json")
    shutil.copytree(PROJECT, folder, ignore=skip, symlinks=True)
    changelog = folder / "CHANGELOG.md"
    changelog.write_text(re.sub(r"^## .*$", f"## {VERSION}, 2026-01-01", changelog.read_text(), count=1, flags=re.MULTILINE))
    git(folder, "init", "--quiet")
    commit_all(folder)
    git(folder, "tag", "v" + VERSION)


def commit_all(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "A commit")


def run_release(repository, *words, umask=0o022, **variables):
    return subprocess.run([repository / "scripts/release", *words], capture_output=True, text=True, umask=umask,
                          env={**os.environ, **variables})


def has_interpreter(program):
    offset, size, count = struct.unpack_from("<Q", program, 32)[0], *struct.unpack_from("<HH", program, 54)
    return any(struct.unpack_from("<I", program, offset + i * size)[0] == 3 for i in range(count))


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.folder = folder
        first, second = folder / "first", folder / "a longer name" / "second"
        make_repository(first)
        second.parent.mkdir()
        git(folder, "clone", "--quiet", str(first), str(second))
        for path in second.rglob("*"):
            if ".git" not in path.parts:
                os.utime(path, (1, 1), follow_symlinks=False)
        home = folder / "home"
        home.mkdir()
        (home / ".rpmmacros").write_text("%_binary_payload w1.gzdio\n%packager somebody\n")
        cls.made = [
            cls.make(first, folder / "made-first"),
            cls.make(second, folder / "made-second", umask=0o077, TZ="Asia/Kathmandu", LC_ALL="C", HOME=str(home),
                     TMPDIR=str(home), CXXFLAGS="-O0 -g", SOURCE_DATE_EPOCH="1", HARICOT_MAINTAINER="Somebody <s@invalid>",
                     XZ_OPT="-0", GZIP="-1"),
        ]

    @classmethod
    def make(cls, repository, into, **more):
        result = run_release(repository, "v" + VERSION, "--only", "deb,tar,rpm", "--architecture", "amd64",
                             "--into", str(into), **more)
        if result.returncode != 0:
            raise AssertionError(result.stdout + result.stderr)
        return into

    def one(self, pattern):
        return next(self.made[0].glob(pattern))

    def output_of(self, *words):
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def test_is_the_same_bit_for_bit(self):
        sums = [{path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()} for folder in self.made]
        self.assertEqual(sums[0], sums[1])
        self.assertEqual(set(sums[0]), {
            f"haricot_{VERSION}_amd64.deb", f"haricot-{VERSION}-linux-amd64.tar.gz", f"haricot-{VERSION}-1.x86_64.rpm",
            f"haricot-{VERSION}.spdx.json", "haricot.1", "haricotd.8", "SHA256SUMS"})

    def test_the_sums_are_those_of_the_files(self):
        self.output_of("sh", "-c", f"cd '{self.made[0]}' && sha256sum --strict --check SHA256SUMS")
        listed = {line.split("  ")[1] for line in self.one("SHA256SUMS").read_text().splitlines()}
        self.assertEqual(listed | {"SHA256SUMS"}, {path.name for path in self.made[0].iterdir()})

    def test_the_tarball_has_static_programs_and_nothing_of_this_machine(self):
        top = f"haricot-{VERSION}-linux-amd64"
        with tarfile.open(self.one("*.tar.gz")) as tar:
            names = tar.getnames()
            self.assertEqual(names, sorted(names))
            for info in tar:
                self.assertEqual((info.uid, info.gid, info.uname, info.gname, info.mtime), (0, 0, "", "", COMMITTED))
                self.assertIn(info.mode, (0o644, 0o755))
            programs = [tar.extractfile(f"{top}/bin/{name}").read() for name in ("haricotd", "haricot")]
        for name in ("share/man/man8/haricotd.8", "share/man/man1/haricot.1", "share/doc/haricot/LICENSE",
                     "share/doc/haricot/examples/systemd/beanstalkd.service"):
            self.assertIn(f"{top}/{name}", names)
        for program in programs:
            self.assertFalse(has_interpreter(program))
            for place in (str(self.folder), str(PROJECT), tempfile.gettempdir() + "/haricot-release"):
                self.assertNotIn(place.encode(), program)
        self.assertIn(b"src/queue/", programs[0])  # The path of a CHECK, relative to the project.

    def test_the_package_for_debian_depends_on_the_libraries(self):
        package = self.one("*.deb")
        self.assertEqual(self.output_of("dpkg-deb", "-f", package, "Version", "Architecture"), f"Version: {VERSION}\nArchitecture: amd64\n")
        self.assertRegex(self.output_of("dpkg-deb", "-f", package, "Depends"), r"libc6 \(>= .*libstdc\+\+6 \(>= ")
        self.assertIn("The haricot authors", self.output_of("dpkg-deb", "-f", package, "Maintainer"))
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            self.assertEqual({info.mtime for info in tar}, {COMMITTED})
            self.assertTrue(has_interpreter(tar.extractfile("./usr/bin/haricotd").read()))

    def rpm(self, *words):
        return self.output_of("rpm", "--dbpath", str(self.folder / "rpmdb"), "-qp", *words, str(self.one("*.rpm")))

    def test_the_rpm_has_the_files_of_the_service(self):
        files = self.rpm("-l").splitlines()
        for name in ("/usr/bin/haricotd", "/usr/bin/haricot", "/usr/bin/beanstalkd", "/etc/sysconfig/beanstalkd",
                     "/usr/lib/systemd/system/beanstalkd.service", "/usr/lib/ocf/resource.d/haricot/haricotd", "/usr/share/man/man8/haricotd.8.gz", "/var/lib/beanstalkd"):
            self.assertIn(name, files)
        self.assertEqual([name for name in files if "/build-id" in name or "/tmp/" in name], [])
        self.assertEqual(self.rpm("-c").split(), ["/etc/sysconfig/beanstalkd"])
        owners = set(self.rpm("--qf", "[%{FILEUSERNAME}:%{FILEGROUPNAME} %{FILENAMES}\n]").splitlines())
        self.assertEqual({row for row in owners if not row.startswith("root:root ")}, {"beanstalkd:beanstalkd /var/lib/beanstalkd"})

    def test_the_rpm_requires_the_libraries_and_the_programs_of_its_scripts(self):
        needs = self.rpm("--requires").splitlines()
        self.assertIn("libc.so.6(GLIBC_2.34)(64bit)", needs)
        self.assertTrue([each for each in needs if each.startswith("libstdc++.so.6(GLIBCXX_3.4.")], needs)
        newer = [each for each in needs if (found := re.match(r"libc\.so\.6\(GLIBC_2\.(\d+)", each)) and int(found.group(1)) > 34]
        self.assertEqual(newer, [])  # docs/releasing.md names this version.
        self.assertIn("/usr/sbin/useradd", needs)
        self.assertIn("systemd", needs)
        self.assertIn("beanstalkd", self.rpm("--conflicts").split())
        self.assertIn("beanstalkd = 1.13", self.rpm("--provides").splitlines())

    def test_the_scripts_of_the_rpm_are_shell(self):
        printed = self.rpm("--scripts")
        scripts = re.split(r"^(\w+) scriptlet \(using /bin/sh\):$", printed, flags=re.MULTILINE)
        found = dict(zip(scripts[1::2], scripts[2::2]))
        self.assertEqual(set(found), {"preinstall", "postinstall", "preuninstall", "postuninstall"}, printed)
        for name, text in found.items():
            result = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)
        self.assertIn("useradd -r", found["preinstall"])
        self.assertIn("disable --now", found["preuninstall"])
        self.assertIn("try-restart", found["postuninstall"])

    def test_the_rpm_can_be_installed_used_updated_and_removed(self):
        script = PROJECT / "tests/packaging/rpm_on_machine"
        result = subprocess.run([script, self.one("*.rpm")], capture_output=True, text=True, timeout=300)
        if result.returncode == 77:
            self.skipTest(result.stdout.strip())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("installed, used, updated and removed: haricot-", result.stdout)

    def test_the_rpm_has_nothing_of_this_machine(self):
        query = "%{BUILDHOST} %{BUILDTIME} %{PACKAGER} %{PAYLOADCOMPRESSOR} %{ARCH} %{VERSION}"
        self.assertEqual(self.rpm("--qf", query), f"haricot.invalid {COMMITTED} (none) xz x86_64 {VERSION}")
        self.assertEqual(set(self.rpm("--qf", "[%{FILEMTIMES}\n]").split()), {str(COMMITTED)})

    def test_the_bill_of_materials_has_every_file_and_its_sum(self):
        bill = json.loads(self.one("*.spdx.json").read_text())
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        self.assertEqual(bill["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        packages = {each["SPDXID"]: each for each in bill["packages"]}
        self.assertEqual(len(packages), len(bill["packages"]))
        files = {each["packageFileName"]: {row["algorithm"]: row["checksumValue"] for row in each["checksums"]}
                 for each in packages.values() if "packageFileName" in each}
        expected = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.made[0].iterdir()
                    if path.name != "SHA256SUMS" and not path.name.endswith(".spdx.json")}
        self.assertEqual({name: sums["SHA256"] for name, sums in files.items()}, expected)
        for row in bill["relationships"]:
            for end in (row["spdxElementId"], row["relatedSpdxElement"]):
                self.assertTrue(end in packages or end == "SPDXRef-DOCUMENT", end)
        names = {key: each["name"] for key, each in packages.items()}
        links = {(names[row["spdxElementId"]], names[row["relatedSpdxElement"]]) for row in bill["relationships"]
                 if row["relationshipType"] == "STATIC_LINK"}
        inside = {kind: {library for name, library in links if name.endswith(kind)} for kind in (".deb", ".rpm", ".tar.gz")}
        self.assertEqual((inside[".deb"], inside[".rpm"]), (set(), set()))
        self.assertEqual(len(inside[".tar.gz"]), 3, inside)
        self.assertIn("libc6-dev", inside[".tar.gz"])


class Refusals(unittest.TestCase):
    """Tests the checks before a release, without a build."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.into = pathlib.Path(folder.name, "made")
        self.repository = pathlib.Path(folder.name, "repository")
        make_repository(self.repository)

    def edit(self, name, old, new):
        path = self.repository / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def check_refused(self, reason, *words):
        result = run_release(self.repository, *words, "--into", str(self.into))
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(reason, result.stderr)
        self.assertFalse(self.into.exists() and any(path.name != "kept" for path in self.into.iterdir()))

    def retag(self, tag="v" + VERSION):
        commit_all(self.repository)
        git(self.repository, "tag", "--force", tag)

    def test_a_missing_tag(self):
        self.check_refused("there is no tag", "v9.9.9")

    def test_a_tag_of_another_version(self):
        git(self.repository, "tag", "v9.9.9")
        self.check_refused(f"the tag is v9.9.9, but CMakeLists.txt has version {VERSION}", "v9.9.9")

    def test_a_changelog_of_another_version(self):
        self.edit("CHANGELOG.md", f"## {VERSION}", "## 9.9.9")
        self.retag()
        self.check_refused("CHANGELOG.md begins with: ## 9.9.9", "v" + VERSION)
        self.check_refused("CHANGELOG.md begins with: ## 9.9.9", "--commit", "HEAD")

    def test_a_version_that_is_unreleased(self):
        self.edit("CHANGELOG.md", f"## {VERSION}, 2026-01-01", f"## {VERSION}, unreleased")
        self.retag()
        self.check_refused("is unreleased", "v" + VERSION)

    def test_a_changed_or_added_file(self):
        self.edit("README.md", "haricot", "Haricot")
        (self.repository / "src/new.cpp").write_text("int x;\n")
        self.check_refused("README.md, src/new.cpp", "v" + VERSION)

    def test_a_commit_after_the_tag(self):
        self.edit("README.md", "haricot", "Haricot")
        commit_all(self.repository)
        self.check_refused("these files differ from", "v" + VERSION)

    def test_a_folder_with_files(self):
        self.into.mkdir()
        (self.into / "kept").write_text("")
        self.check_refused("is not empty", "v" + VERSION)

    def test_unknown_arguments(self):
        self.check_refused("--only takes", "v" + VERSION, "--only", "deb,zip")
        self.check_refused("--architecture takes", "v" + VERSION, "--architecture", "mips")
        self.check_refused("unknown flag", "--fast", "v" + VERSION)
        self.check_refused("needs a tag")
        self.check_refused("needs a tag", "v" + VERSION, "--commit", "HEAD")


if __name__ == "__main__":
    missing = [name for name in ("git", "rpmbuild", "aarch64-linux-gnu-g++", "dpkg-shlibdeps") if not shutil.which(name)]
    if missing:
        print("skipped: missing", *missing)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
