"""Measures the use of the machine by other programs, and of its processors by other virtual machines."""

import os
import pathlib
import resource

# If a larger share of a virtual machine's time is stolen, its programs wait for long and have cold caches, which is not
# their fault.
STOLEN_SHARE_MAX = 0.01


def _seconds():
    """Returns the seconds of all cores by kind: user, nice, system, idle, iowait, irq, softirq, steal."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    return [int(word) / os.sysconf("SC_CLK_TCK") for word in words]


class Others:
    """Shares of the machine that were used by others than this program and its children, since the construction."""

    def __init__(self):
        self.start = self._read()

    @staticmethod
    def _read():
        """Returns the seconds of all cores: all, used, used by this program and its ended children, stolen."""
        seconds = _seconds()
        own = sum(usage.ru_utime + usage.ru_stime for usage in
                  map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
        return sum(seconds), sum(seconds) - seconds[3] - seconds[4], own, seconds[7]

    def shares(self):
        """Returns the share of all other users, and the stolen share. Stolen time counts as others', unless the kernel
        counts it as this program's."""
        passed, used, own, stolen = (now - then for now, then in zip(self._read(), self.start))
        if passed <= 0:
            return 0.0, 0.0
        return max(0.0, used - own) / passed, stolen / passed

    def stolen(self):
        return self.shares()[1]
