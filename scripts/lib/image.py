"""Writes reproducible archives of the container image.

    python3 scripts/lib/image.py --tree DIR --version V --architecture A --created EPOCH --oci FILE --docker FILE

DIR has the files of the image. Root owns all of them except the home folder. All times in the archives are EPOCH
(seconds since 1970). The usual builders of images write the current time and random names, so this program writes
both formats itself: the OCI image layout, and the format of `docker save`.
"""

import argparse
import datetime
import gzip
import hashlib
import io
import json
import pathlib
import tarfile

HOME = "var/lib/beanstalkd"
USER = 11300  # The user of packaging/image/etc/passwd.
SECOND = 10**9  # Docker counts in nanoseconds.
OCI = "application/vnd.oci.image."


def digest_of(data):
    return hashlib.sha256(data).hexdigest()


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def archive_of(entries, created):
    """Returns a tar archive of pairs (TarInfo, bytes or None), sorted by name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, data in sorted(entries, key=lambda entry: entry[0].name):
            info.mtime = created
            info.size = len(data or b"")
            tar.addfile(info, io.BytesIO(data or b""))
    return out.getvalue()


def entry(name, kind, mode, data=None, owner=0):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.uid, info.gid = kind, mode, owner, owner
    return info, data


def layer_of(tree, created):
    """Returns a tar archive with the files of the tree, and with the home folder and its parents."""
    entries = {}
    for path in tree.rglob("*"):
        name = path.relative_to(tree).as_posix()
        mode = path.lstat().st_mode & 0o7777
        if path.is_symlink():
            entries[name] = entry(name, tarfile.SYMTYPE, 0o777)
            entries[name][0].linkname = str(path.readlink())
        elif path.is_dir():
            entries[name] = entry(name, tarfile.DIRTYPE, mode)
        else:
            entries[name] = entry(name, tarfile.REGTYPE, mode, path.read_bytes())
    for parent in reversed(pathlib.PurePosixPath(HOME).parents):
        if parent.name:
            entries.setdefault(str(parent), entry(str(parent), tarfile.DIRTYPE, 0o755))
    entries[HOME] = entry(HOME, tarfile.DIRTYPE, 0o755, owner=USER)
    return archive_of(entries.values(), created)


def settings(version):
    """Returns the runtime settings of the image. Without arguments, the server keeps its jobs in the volume; arguments
    replace the whole `Cmd`."""
    return {
        "Entrypoint": ["/usr/bin/haricotd"],
        "Cmd": ["-b", f"/{HOME}"],
        "User": f"{USER}:{USER}",
        "WorkingDir": f"/{HOME}",
        "Volumes": {f"/{HOME}": {}},
        "ExposedPorts": {"11300/tcp": {}},
        "StopSignal": "SIGTERM",
        "Env": ["PATH=/usr/bin"],
        "Labels": {
            "org.opencontainers.image.title": "haricot",
            "org.opencontainers.image.version": version,
            "org.opencontainers.image.licenses": "MIT",
            "org.opencontainers.image.description": "work queue that speaks the beanstalk protocol",
        },
    }


HEALTH_CHECK = {
    "Test": ["CMD", "/usr/bin/haricot", "ping"],
    "Interval": 10 * SECOND,
    "Timeout": 5 * SECOND,
    "StartPeriod": 60 * SECOND,
    "Retries": 3,
}


def platform_of(architecture):
    platform = {"os": "linux", "architecture": architecture}
    if architecture == "arm64":
        platform["variant"] = "v8"
    return platform


def configuration(config, layer, options):
    moment = datetime.datetime.fromtimestamp(options.created, datetime.timezone.utc)
    created = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return as_json({
        **platform_of(options.architecture),
        "created": created,
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest_of(layer)]},
        "history": [{"created": created, "created_by": "scripts/image"}],
    })


def as_archive(files, created):
    folders = {str(parent) for name in files for parent in pathlib.PurePosixPath(name).parents if parent.name}
    entries = [entry(name, tarfile.DIRTYPE, 0o755) for name in folders]
    entries += [entry(name, tarfile.REGTYPE, 0o644, data) for name, data in files.items()]
    return archive_of(entries, created)


def oci_archive(layer, name, options):
    """Returns the archive in OCI's format, which has no health check."""
    blobs = {}

    def descriptor(kind, data):
        blobs["blobs/sha256/" + digest_of(data)] = data
        return {"mediaType": OCI + kind, "digest": "sha256:" + digest_of(data), "size": len(data)}

    manifest = as_json({
        "schemaVersion": 2,
        "mediaType": OCI + "manifest.v1+json",
        "config": descriptor("config.v1+json", configuration(settings(options.version), layer, options)),
        "layers": [descriptor("layer.v1.tar+gzip", gzip.compress(layer, 9, mtime=0))],
    })
    row = descriptor("manifest.v1+json", manifest) | {
        "platform": platform_of(options.architecture),
        "annotations": {"org.opencontainers.image.ref.name": name},
    }
    index = {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [row]}
    return as_archive(blobs | {"index.json": as_json(index), "oci-layout": as_json({"imageLayoutVersion": "1.0.0"})},
                      options.created)


def docker_archive(layer, name, options):
    config = configuration(settings(options.version) | {"Healthcheck": HEALTH_CHECK}, layer, options)
    config_name, layer_name = digest_of(config) + ".json", digest_of(layer) + ".tar"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [layer_name]}]
    return as_archive({config_name: config, layer_name: layer, "manifest.json": as_json(manifest)}, options.created)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--architecture", required=True)
    parser.add_argument("--created", type=int, required=True)
    parser.add_argument("--oci", type=pathlib.Path, required=True)
    parser.add_argument("--docker", type=pathlib.Path, required=True)
    options = parser.parse_args()
    layer = layer_of(options.tree, options.created)
    name = f"haricot:{options.version}"
    options.oci.write_bytes(oci_archive(layer, name, options))
    options.docker.write_bytes(docker_archive(layer, name, options))


if __name__ == "__main__":
    main()
