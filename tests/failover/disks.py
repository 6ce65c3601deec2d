"""Disks that lose unsynced data at a loss of power. Each is a file with an ext4, which the kernel shuts down without a
last write: unsynced data is only in memory and is lost, and the next mount finds the synced data. The cache of a disk
is not simulated."""

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
    """Returns true if the machine can make such disks. Requires: stage.isolate() has returned."""
    try:
        disk = Disk("/run/try-disk", 16)
        disk.remove()
    except (subprocess.CalledProcessError, OSError):
        return False
    return True


class Disk:
    """A disk, mounted at `path` from its construction to remove()."""

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
        # A long interval, so that the journal does not commit unsynced data.
        run("mount", "-t", "ext4", "-o", "loop,commit=600", self.file, self.path)

    def unmount(self):
        run("umount", self.path)
        # The kernel releases the mounts of an ended node a moment later. Until then a mount would find the data in
        # memory.
        stage.wait_for("the disk", lambda: not run("losetup", "--associated", self.file))

    def lose_power(self):
        """Ends all writes to the disk. Every later call fails."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, SHUT_DOWN, struct.pack("I", WITHOUT_A_LAST_WRITE))
        finally:
            os.close(folder)
        self.has_power = False

    def come_back(self):
        """Mounts the disk again with its synced data if it has lost power. Requires: then no process uses it."""
        if not self.has_power:
            self.unmount()
            self.mount()
            self.has_power = True

    def remove(self):
        self.unmount()
        self.path.rmdir()
        self.file.unlink()
