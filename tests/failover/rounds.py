"""Base of the programs that run faults one after the other: kinds of faults, their times, and an empty queue after
each."""

import statistics

from load import differences


class Rounds:
    """Runs faults. Each is a method `fault_KIND` of a derived class."""

    def __init__(self, volume):
        self.volume = volume
        self.seconds = {}  # Times without service, by kind of fault.
        self.lost = {}  # Number of differences, by kind of fault.

    @classmethod
    def kinds(cls):
        return [name.removeprefix("fault_") for name in vars(cls) if name.startswith("fault_")]

    def note(self, kind, seconds, found):
        """Records and prints the time of the fault, and the differences from the acknowledged jobs."""
        self.seconds.setdefault(kind, []).append(seconds)
        self.lost[kind] = self.lost.get(kind, 0) + len(found)
        acknowledged = sum(load.acknowledged for load in self.volume.loads)
        print(f"{kind}: {seconds:.1f} s without service; {acknowledged} acknowledged commands, {len(found)} differences",
              flush=True)

    def empty_queue(self, client):
        for tube in client.ask("list-tubes")[1].decode().split("- ")[1:]:
            empty(client, tube.strip())
        left = differences(client, [])
        if left:
            raise AssertionError(left)
        self.volume.loads.clear()

    def report(self):
        for kind, seconds in self.seconds.items():
            print(f"{kind:8}{len(seconds):4} times, without service: median {statistics.median(seconds):.1f} s, "
                  f"longest {max(seconds):.1f} s; differences: {self.lost[kind]}")


def empty(client, tube):
    """Deletes the jobs of a tube, even on a server without flush-tube."""
    if client.ask(f"flush-tube {tube}")[0][0] != "UNKNOWN_COMMAND":
        return
    client.ask(f"use {tube}")
    for state in ("ready", "delayed", "buried"):
        while (words := client.ask(f"peek-{state}")[0])[0] == "FOUND":
            client.ask(f"delete {words[1]}")
