"""Runs `haricot bench`, pinned to another core than the server, and returns its report."""

import json
import os
import signal
import subprocess

from servers import cores

RUN_SECONDS_MAX = 300


class Failed(Exception):
    pass


class Load:
    """A run in the background. finish() waits for its end, interrupt() ends it early; both return the report."""

    def __init__(self, tool, server, *flags, urgent=False):
        _, load_core = cores()

        def prepare():
            os.sched_setaffinity(0, {load_core})
            if urgent:
                try:
                    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
                except PermissionError:
                    pass  # Processes on the same core may delay it, and the figures get worse.

        self.words = [str(tool), "bench", *map(str, flags), "--json", "--timeout=30", "--pid", str(server.pid),
                      server.address]
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=prepare)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.finish(good=(0, -signal.SIGINT))

    def finish(self, good=(0,)):
        output, error = self.process.communicate(timeout=RUN_SECONDS_MAX)
        if self.process.returncode not in good or not output:
            raise Failed(f"{' '.join(self.words)}: {error.decode(errors='replace').strip()}")
        return json.loads(output)


def run(tool, server, *flags):
    return Load(tool, server, *flags).finish()
