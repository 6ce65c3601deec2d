#!/usr/bin/env python3
"""Faults of nodes, networks, copies and servers, one after the other on one replicated volume (GlusterFS),
under load. After each of them another server opens the folder, and every acknowledged job has to be there
exactly as it was acknowledged or as it became later.

    chaos.py HARICOTD HARICOT [--minutes N | --rounds N | --each]  [--only KIND,...] [--beanstalkd PROGRAM]

--each runs each kind of fault once, in their order; otherwise the kinds are drawn at random. With
--beanstalkd the server is that program, without the agent, and what it has lost is counted instead of
refused. HARICOT_SEED=N repeats what is drawn. Prints how long there was no service, by kind of fault.
"""

import argparse
import contextlib
import os
import random
import statistics
import sys
import time

from load import differences
from nodes import make_network
from stage import Client, wait_for
from volume import FOLDER, MOUNTED, PORT, Volume, require_engines

FILLER = f"{MOUNTED}/filler"


class Chaos:
    """One volume, and a server on one of its nodes. A fault is a method `fault_KIND(holder, successor)`: it begins
    the load, does its damage, and returns the node that is to serve then, and when the damage was done."""

    def __init__(self, volume, beanstalkd=None):
        self.volume = volume
        self.beanstalkd = beanstalkd
        self.holder = volume.nodes[0]
        self.seconds = {}  # By kind of fault, how long there was no service.
        self.lost = {}  # By kind of fault, how many differences.

    # The server

    def start(self, node):
        if not self.beanstalkd:
            self.volume.start(node)
            return
        for _ in range(600):  # It ends at once as long as another one holds the lock.
            node.run("sh", "-c", f"setsid {self.beanstalkd} -l 0.0.0.0 -p {PORT} -b {FOLDER} -f 0 "
                     "</dev/null >>/run/beanstalkd.log 2>&1 &")
            with contextlib.suppress(TimeoutError):
                wait_for("the server", lambda: self.answers(node), 2)
                return
        raise RuntimeError(node.run("tail", "/run/beanstalkd.log"))

    @staticmethod
    def answers(node):
        try:
            with Client(node.address, PORT, timeout=1) as client:
                return client.stats()
        except OSError:
            return None

    def signal_server(self, node, signal):
        node.run("pkill", f"-{signal}", "-x", os.path.basename(self.beanstalkd or self.volume.binary))

    def stop(self, holder, successor):
        begin = time.monotonic()
        if self.beanstalkd:
            self.signal_server(holder, "TERM")
        else:
            self.volume.stop(holder)
        return successor, begin

    # The faults

    def fault_kill(self, holder, _):
        """The server dies, and starts again on its node."""
        self.volume.begin_load(holder)
        self.signal_server(holder, "KILL")
        return holder, time.monotonic()

    def fault_move(self, holder, successor):
        """An operator moves the server."""
        self.volume.begin_load(holder)
        return self.stop(holder, successor)

    def fault_power(self, holder, successor):
        """The node dies at once."""
        self.volume.begin_load(holder)
        holder.lose_power()
        return successor, time.monotonic()

    def fault_cut(self, holder, successor):
        """The node loses its network while it lives, and clients on the node reach their server all the time.
        The cluster fences it before it starts another one."""
        self.volume.begin_load(holder, local=True)
        begin = time.monotonic()
        holder.unplug()
        wait_for("the end of the load", lambda: not self.volume.is_load_alive())
        holder.end()
        return successor, begin

    def fault_hang(self, holder, successor):
        """The server stands still for longer than its monitor waits; the cluster stops it then."""
        self.volume.begin_load(holder)
        self.signal_server(holder, "STOP")
        begin = time.monotonic()
        if self.volume.agent(holder, "monitor", timeout_s=4) != 1:
            raise AssertionError(f"the monitor has not noticed a server that hangs: {self.volume.said}")
        self.volume.stop(holder)
        return successor, begin

    def fault_brick(self, holder, successor):
        """One copy dies under load and comes back, first that of the server's own node, then that of another one."""
        self.volume.begin_load(holder)
        for node in (holder, successor):
            node.run("kill", "-KILL", self.volume.brick_of(node))
            self.volume.wait_for_load(200)
            self.volume.gluster("volume", "start", "jobs", "force", on=holder)
            self.volume.wait_for_load(200)
            # Only two copies that are whole give a quorum: so no copy goes before the last one is healed.
            self.volume.wait_until_healed(holder)
        return self.stop(holder, successor)

    def fault_full(self, holder, successor):
        """Somebody fills the volume under load, and makes room again."""
        self.volume.begin_load(holder, may_be_full=True)
        holder.run("dd", "if=/dev/zero", f"of={FILLER}", "bs=1M", check=False)
        wait_for("a refused put", lambda: self.volume.faults() or sum(
            load.refused_puts for load in self.volume.loads) > 20)
        # Jobs can still be taken, buried, kicked and deleted.
        self.volume.wait_for_load(200)
        holder.run("rm", FILLER)
        put = sum(load.acknowledged_puts for load in self.volume.loads)
        wait_for("a put", lambda: self.volume.faults() or sum(
            load.acknowledged_puts for load in self.volume.loads) > put + 20)
        return self.stop(holder, successor)

    # Rounds

    @classmethod
    def kinds(cls):
        return [name.removeprefix("fault_") for name in vars(cls) if name.startswith("fault_")]

    def run_round(self, kind):
        self.start(self.holder)
        successor = self.volume.random.choice([node for node in self.volume.nodes if node is not self.holder])
        self.holder, begin = getattr(self, f"fault_{kind}")(self.holder, successor)
        self.start(self.holder)
        seconds = time.monotonic() - begin
        self.seconds.setdefault(kind, []).append(seconds)
        found = self.volume.compare(self.holder)
        acknowledged = sum(load.acknowledged for load in self.volume.loads)
        print(f"{kind}: {seconds:.1f} s without service; {acknowledged} acknowledged commands, {len(found)} differences",
              flush=True)
        self.lost[kind] = self.lost.get(kind, 0) + len(found)
        if found and not self.beanstalkd:
            raise AssertionError("\n".join(found))
        self.repair()

    def repair(self):
        """Brings the volume and the queue back to what a round begins with."""
        for index, node in enumerate(self.volume.nodes):
            if not node.is_alive():
                self.volume.reboot(index)
        self.volume.wait_until_healed(self.holder)
        if not self.beanstalkd:
            said = self.holder.run(self.volume.tool, "binlog", "check", "--quiet", FOLDER, check=False)
            if "DAMAGE" in said:
                raise AssertionError(said)
        with Client(self.holder.address, PORT) as client:
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
    """Deletes the jobs of a tube, also on a server without flush-tube."""
    if client.ask(f"flush-tube {tube}")[0][0] != "UNKNOWN_COMMAND":
        return
    client.ask(f"use {tube}")
    for state in ("ready", "delayed", "buried"):
        while (words := client.ask(f"peek-{state}")[0])[0] == "FOUND":
            client.ask(f"delete {words[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("haricotd")
    parser.add_argument("haricot")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float)
    length.add_argument("--rounds", type=int, default=20)
    length.add_argument("--each", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--beanstalkd")
    options = parser.parse_args()
    kinds = options.only.split(",") if options.only else Chaos.kinds()
    if options.beanstalkd and not options.only:
        kinds = ["kill", "move", "power"]
    if not set(kinds) <= set(Chaos.kinds()):
        parser.error(f"the kinds of faults are {', '.join(Chaos.kinds())}")
    require_engines()
    seed = int(os.environ.get("HARICOT_SEED") or random.SystemRandom().randrange(2**32))
    print(f"HARICOT_SEED={seed}", flush=True)
    make_network()
    with contextlib.ExitStack() as stack:
        volume = Volume(stack.callback, os.path.abspath(options.haricotd), os.path.abspath(options.haricot), seed)
        chaos = Chaos(volume, options.beanstalkd)
        stack.callback(chaos.report)
        if options.each:
            for kind in kinds:
                chaos.run_round(kind)
            return
        end = time.monotonic() + options.minutes * 60 if options.minutes else None
        done = 0
        while time.monotonic() < end if end else done < options.rounds:
            chaos.run_round(volume.random.choice(kinds))
            done += 1


if __name__ == "__main__":
    sys.exit(main())
