"""Disks that lose at a power loss what was not synced: each a file with an ext4 on it, which the kernel shuts down
without a last write. What was written and not synced is in memory only, and goes with it; what was synced is what the
next mount finds. What the disk itself has been told is durable: a cache in the disk is not played."""

import fcntl
import os
import pathlib
import struct
import subprocess

import stage

SHUT_DOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
WITHOUT_A_LAST_WRITE = 2  # EXT4_GOING_FLAGS_NOLOGFLUSH


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True).stdout.strip()


def can_be_made():
    """Requires: stage.isolate() has returned."""
    try:
        disk = Disk("/run/try-disk", 16)
        disk.remove()
    except (subprocess.CalledProcessError, OSError):
        return False
    return True


class Disk:
    """Mounted at `path` from its making to remove()."""

    def __init__(self, path, mib):
        self.path = pathlib.Path(path)
        self.file = self.path.with_name(self.path.name + ".disk")
        self.has_power = True
        self.path.mkdir(parents=True)
        with self.file.open("wb") as file:
            file.truncate(mib << 20)
        run("mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", self.file)
        self.mount()

    def mount(self):
        # The journal does not write by itself what nobody has synced.
        run("mount", "-t", "ext4", "-o", "loop,commit=600", self.file, self.path)

    def unmount(self):
        run("umount", self.path)
        # A node that has ended lets go of its mounts a moment later. Until then a mount would find what the memory has.
        stage.wait_for("the disk", lambda: not run("losetup", "--associated", self.file))

    def lose_power(self):
        """From now on nothing reaches the disk, and every call to it fails."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, SHUT_DOWN, struct.pack("I", WITHOUT_A_LAST_WRITE))
        finally:
            os.close(folder)
        self.has_power = False

    def come_back(self):
        """With what was synced, if it has lost its power. Requires: then nobody uses it."""
        if not self.has_power:
            self.unmount()
            self.mount()
            self.has_power = True

    def remove(self):
        self.unmount()
        self.path.rmdir()
        self.file.unlink()
