"""Writes the bill of materials of a release: SPDX 2.3, as JSON.

    python3 scripts/lib/spdx.py --folder DIR --version V --commit ID --created EPOCH

The file is DIR/haricot-V.spdx.json. It lists all other files of DIR with their checksums, their source, the libraries
of this machine that are linked into them, and the compiler.
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import subprocess

NO_ASSERTION = "NOASSERTION"
# Debian packages with the static libraries, by architecture.
LIBRARIES = {
    "amd64": {"libstdc++": "libstdc++-12-dev", "libgcc": "libgcc-12-dev", "glibc": "libc6-dev"},
    "arm64": {"libstdc++": "libstdc++-12-dev-arm64-cross", "libgcc": "libgcc-12-dev-arm64-cross",
              "glibc": "libc6-dev-arm64-cross"},
}
COMPILERS = {"amd64": "g++-12", "arm64": "g++-12-aarch64-linux-gnu"}
LICENSES = {"libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1", "libgcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
            "glibc": "LGPL-2.1-or-later"}


def architecture_of(name):
    """Returns the architecture in the name of a file, or None if the file is for all architectures."""
    if name.endswith(".x86_64.rpm"):
        return "amd64"
    return next((each for each in LIBRARIES if each in name), None)


def linked_into(name):
    """Returns the libraries that are linked into a file of the release. Packages use the libraries of their machine."""
    return tuple(LICENSES) if name.endswith(".tar") or "-linux-" in name else ()


def version_of(package):
    query = ["dpkg-query", "-W", "-f", "${Version}", package]
    return subprocess.run(query, check=True, capture_output=True, text=True).stdout


def package(key, name, version, **more):
    return {"SPDXID": "SPDXRef-" + key, "name": name, "versionInfo": version, "downloadLocation": NO_ASSERTION,
            "filesAnalyzed": False, "licenseConcluded": NO_ASSERTION, "licenseDeclared": NO_ASSERTION,
            "copyrightText": NO_ASSERTION, **more}


def debian(key, name, **more):
    version = version_of(name)
    locator = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
               "referenceLocator": f"pkg:deb/debian/{name.replace('+', '%2B')}@{version.replace('+', '%2B')}"}
    return package(key, name, version, supplier="Organization: Debian", externalRefs=[locator], **more)


def key_of(*words):
    return "-".join("".join(c if c.isalnum() or c in ".-" else "-" for c in word) for word in words)


def checksums(path):
    data = path.read_bytes()
    return [{"algorithm": name.upper(), "checksumValue": hashlib.new(name, data).hexdigest()} for name in ("sha1", "sha256")]


class Bill:
    def __init__(self, version, commit):
        self.version = version
        self.packages = {}
        self.links = [("DOCUMENT", "DESCRIBES", "source")]
        self.add(package("source", "haricot", version, licenseConcluded="MIT", licenseDeclared="MIT",
                         copyrightText="2026 The haricot authors", sourceInfo=f"commit {commit}"))

    def add(self, entry):
        """Adds the entry unless it is present, and returns its key."""
        key = entry["SPDXID"].removeprefix("SPDXRef-")
        self.packages.setdefault(key, entry)
        return key

    def add_file(self, path):
        key = self.add(package(key_of("file", path.name), path.name, self.version, packageFileName=path.name,
                               licenseConcluded="MIT", licenseDeclared="MIT", checksums=checksums(path)))
        self.links += [("DOCUMENT", "DESCRIBES", key), (key, "GENERATED_FROM", "source")]
        architecture = architecture_of(path.name)
        if not architecture:
            return
        compiler = self.add(debian(key_of("compiler", architecture), COMPILERS[architecture]))
        self.links.append((compiler, "BUILD_TOOL_OF", key))
        for library in linked_into(path.name):
            name = LIBRARIES[architecture][library]
            inside = self.add(debian(key_of(library, architecture), name, licenseDeclared=LICENSES[library]))
            self.links.append((key, "STATIC_LINK", inside))

    def document(self, commit, created):
        moment = datetime.datetime.fromtimestamp(created, datetime.timezone.utc)
        return {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"haricot-{self.version}",
            "documentNamespace": f"https://haricot.invalid/spdx/haricot-{self.version}-{commit}",
            "creationInfo": {"created": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scripts/release"]},
            "packages": [self.packages[key] for key in sorted(self.packages)],
            "relationships": [{"spdxElementId": "SPDXRef-" + a, "relationshipType": kind, "relatedSpdxElement": "SPDXRef-" + b}
                              for a, kind, b in sorted(self.links)],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--created", type=int, required=True)
    options = parser.parse_args()
    bill = Bill(options.version, options.commit)
    for path in sorted(options.folder.iterdir()):
        bill.add_file(path)
    text = json.dumps(bill.document(options.commit, options.created), indent=2) + "\n"
    (options.folder / f"haricot-{options.version}.spdx.json").write_text(text)


if __name__ == "__main__":
    main()
