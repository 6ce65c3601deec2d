"""Who else uses the machine: other programs on it, and other machines on the same processors."""

import os
import pathlib
import resource

# A virtual machine whose processors are given to others for longer than this has long waits, and cold
# caches, that no program on it is the reason of.
STOLEN_SHARE_MAX = 0.01


def _seconds():
    """Of all cores, by what they did: user, nice, system, idle, iowait, irq, softirq, steal."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    return [int(word) / os.sysconf("SC_CLK_TCK") for word in words]


class Others:
    """Which shares of the machine were used by anybody but this program and what it has started."""

    def __init__(self):
        self.start = self._read()

    @staticmethod
    def _read():
        """Those that passed, those that were used, those by us, those stolen."""
        seconds = _seconds()
        own = sum(usage.ru_utime + usage.ru_stime for usage in
                  map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
        return sum(seconds), sum(seconds) - seconds[3] - seconds[4], own, seconds[7]

    def shares(self):
        """Of everybody else, what was stolen included, less it where the kernel counts that as ours; and
        what the machine wanted to use and was not given."""
        passed, used, own, stolen = (now - then for now, then in zip(self._read(), self.start))
        if passed <= 0:
            return 0.0, 0.0
        return max(0.0, used - own) / passed, stolen / passed

    def stolen(self):
        return self.shares()[1]
