#!/usr/bin/env python3
"""Faults of nodes, networks, copies and servers, one after the other on one replicated volume (GlusterFS),
under load. After each of them another server opens the folder, and every acknowledged job has to be there
exactly as it was acknowledged or as it became later.

    chaos.py HARICOTD HARICOT [--minutes N | --rounds N | --each]  [--only KIND,...]
             [--cluster | --beanstalkd PROGRAM | --unsynced]

--each runs each kind of fault once, in their order; otherwise the kinds are drawn at random. With --cluster
Pacemaker runs the server, as docs/cluster.md says; otherwise this program does what a cluster would. With
--beanstalkd the server is that program, without the agent, and what it has lost is counted instead of
refused. With --unsynced the server never syncs, all nodes lose their power, up to three times until something is lost,
and it is a failure that nothing is: the disks of this test do forget. HARICOT_SEED=N repeats what is drawn. Prints how long there was no service, by kind of fault.
"""

import argparse
import contextlib
import itertools
import os
import random
import sys
import time

import cluster
from cluster_chaos import ClusterChaos
from nodes import make_network
from rounds import Rounds
from stage import Client, stats_of, wait_for
from volume import FENCE_PATIENCE_S, FOLDER, MOUNTED, PORT, Volume, require_engines

FILLER = f"{MOUNTED}/filler"
NEVER_MS = 3_600_000
BLACKOUTS = 3  # The volume syncs for reasons of its own, and once it may just have done so.
MANY_FILES = 2000  # Acknowledged commands that fill a few files of the binlog.


class Chaos(Rounds):
    """One volume, and a server on one of its nodes. A fault is a method `fault_KIND(holder, successor)`: it begins
    the load, does its damage, and returns the node that is to serve then, when the damage was done, and, if that was
    before it returns, when there was service again."""

    def __init__(self, volume, beanstalkd=None):
        super().__init__(volume)
        self.beanstalkd = beanstalkd
        self.may_lose = beanstalkd is not None or volume.fsync_ms > 0
        self.holder = volume.nodes[0]

    # The server

    def start(self, node):
        if not self.beanstalkd:
            self.volume.start(node)
            return
        for _ in range(600):  # It ends at once as long as another one holds the lock.
            node.run("sh", "-c", f"setsid {self.beanstalkd} -l 0.0.0.0 -p {PORT} -b {FOLDER} -f 0 "
                     "</dev/null >>/run/beanstalkd.log 2>&1 &")
            with contextlib.suppress(TimeoutError):
                wait_for("the server", lambda: stats_of(node.address, PORT, timeout=1), 2)
                return
        raise RuntimeError(node.run("tail", "/run/beanstalkd.log"))

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

    def fault_blackout(self, holder, successor):
        """All nodes lose their power under load. When they are back, the volume has what was synced, and nothing else."""
        self.volume.begin_load(holder, enough=MANY_FILES)
        at = self.volume.nodes.index(successor)
        self.volume.lose_all_power()
        self.volume.stop_loads()
        begin = time.monotonic()
        self.volume.reboot()
        return self.volume.nodes[at], begin

    def fault_cut(self, holder, successor):
        """The node loses its network while it lives, and clients on the node reach their server all the time.
        The cluster fences it before it starts another one."""
        self.volume.begin_load(holder, local=True)
        begin = time.monotonic()
        holder.unplug()
        wait_for("the end of the load", lambda: not self.volume.is_load_alive())
        holder.lose_power()
        return successor, begin

    def fault_pause(self, holder, successor):
        """The whole node stands still, nobody fences it, and the next one takes over. When the node goes on, its server
        has to notice that by itself. Clients on the node reach it all the time."""
        self.volume.begin_load(holder, local=True)
        before = len(self.volume.log_of(holder))
        holder.pause()
        begin = time.monotonic()
        self.start(successor)
        end = time.monotonic()
        with Client(successor.address, PORT) as client:
            later = client.put(b"of the second server")
        holder.go_on()
        wait_for("the end of the load", lambda: not self.volume.is_load_alive(), FENCE_PATIENCE_S)
        # The volume may have given the node up, and then takes a while to let it in again.
        self.volume.wait_until_fenced(holder, before)
        # A thread of it may hang in a call to the volume for good.
        holder.lose_power()
        with Client(successor.address, PORT) as client:
            if client.ask(f"delete {later}")[0] != ["DELETED"]:
                raise AssertionError("the second server has lost a job")
        return successor, begin, end

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

    def run_round(self, kind, is_last=False):
        for node in self.volume.nodes:
            self.volume.wait_for_copies(node)
        self.start(self.holder)
        successor = self.volume.random.choice([node for node in self.volume.nodes if node is not self.holder])
        self.holder, begin, *answered = getattr(self, f"fault_{kind}")(self.holder, successor)
        self.start(self.holder)
        end = answered[0] if answered else time.monotonic()
        found = self.volume.compare(self.holder)
        self.note(kind, end - begin, found)
        if not self.may_lose:
            if found:
                raise AssertionError("\n".join(found))
            self.volume.check_folder(self.holder)
        if not is_last:
            self.repair()

    def repair(self):
        """Brings the volume and the queue back to what a round begins with."""
        self.volume.reboot()
        self.volume.wait_until_healed(self.holder)
        with Client(self.holder.address, PORT) as client:
            self.empty_queue(client)

    def lose_something(self):
        """Takes the power away until something is lost."""
        for _ in range(BLACKOUTS):
            self.run_round("blackout", is_last=True)
            if any(self.lost.values()):
                return
            self.repair()
        sys.exit("nothing was lost, though nothing was synced: these disks forget nothing")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("haricotd")
    parser.add_argument("haricot")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float)
    length.add_argument("--rounds", type=int, default=20)
    length.add_argument("--each", action="store_true")
    parser.add_argument("--only", default="")
    engine = parser.add_mutually_exclusive_group()
    engine.add_argument("--cluster", action="store_true")
    engine.add_argument("--beanstalkd")
    engine.add_argument("--unsynced", action="store_true")
    options = parser.parse_args()
    faults = ClusterChaos if options.cluster else Chaos
    kinds = options.only.split(",") if options.only else faults.kinds()
    if options.beanstalkd and not options.only:
        kinds = ["kill", "move", "power", "blackout"]
    if not set(kinds) <= set(faults.kinds()):
        parser.error(f"the kinds of faults are {', '.join(faults.kinds())}")
    if options.cluster:
        cluster.require_cluster_engines()
    else:
        require_engines()
    seed = int(os.environ.get("HARICOT_SEED") or random.SystemRandom().randrange(2**32))
    print(f"HARICOT_SEED={seed}", flush=True)
    make_network()
    with contextlib.ExitStack() as stack:
        programs = os.path.abspath(options.haricotd), os.path.abspath(options.haricot)
        if options.cluster:
            cluster.switch_power(stack.callback)
            chaos = ClusterChaos(cluster.Cluster(stack.callback, *programs, seed))
        else:
            volume = Volume(stack.callback, *programs, seed)
            volume.has_tags = not options.beanstalkd
            if options.unsynced:
                volume.fsync_ms = NEVER_MS
                volume.options = ""  # Where one file ends and the next begins, the server syncs.
            chaos = Chaos(volume, options.beanstalkd)
        stack.callback(chaos.report)
        if options.unsynced:
            chaos.lose_something()
            return
        draw = chaos.volume.random.choice
        if options.each:
            plan = iter(kinds)
            last = len(kinds)
        else:
            plan = (draw(kinds) for _ in itertools.count())
            last = None if options.minutes else options.rounds
        end = time.monotonic() + options.minutes * 60 if options.minutes else None
        for number, kind in enumerate(plan, 1):
            chaos.run_round(kind, number == last)
            if number == last or (end and time.monotonic() > end):
                break


if __name__ == "__main__":
    sys.exit(main())
