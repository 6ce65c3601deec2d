#!/usr/bin/env python3
"""Runs faults of nodes, networks, replicas and servers on a replicated volume (GlusterFS), one after the other and
under load. After each fault another server opens the folder and must have every job as it was acknowledged or changed
later.

    chaos.py HARICOTD HARICOT [--minutes N | --rounds N | --each]  [--only KIND,...]
             [--cluster | --beanstalkd PROGRAM | --unsynced]

--each runs each kind of fault once, in order; otherwise the kinds are random. With --cluster Pacemaker runs the server,
as in docs/cluster.md; otherwise this program replaces the cluster. With --beanstalkd the server is that program,
without the agent, and lost jobs are counted instead of being a failure. With --unsynced the server never syncs, and all
nodes lose their power, up to three times, until a job is lost; the program fails if none is lost, because it has to
show that the disks of this test lose unsynced data. HARICOT_SEED=N repeats the random choices. Prints the time without
service for each kind of fault.
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
BLACKOUTS = 3  # Attempts: the volume also syncs on its own, and may have done so just before a blackout.
MANY_FILES = 2000  # Acknowledged commands that fill a few files of the binlog.


class Chaos(Rounds):
    """A volume, and a server on one of its nodes. A fault is a method `fault_KIND(holder, successor)`: it begins the
    load and causes the fault. It returns the node that runs the next server, the time of the fault, and, if it has
    waited for that, the time at which a server answered again."""

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
        for _ in range(600):  # beanstalkd exits at once while another server holds the lock.
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
        """Kills the server, which restarts on its node."""
        self.volume.begin_load(holder)
        self.signal_server(holder, "KILL")
        return holder, time.monotonic()

    def fault_move(self, holder, successor):
        """Moves the server like an operator."""
        self.volume.begin_load(holder)
        return self.stop(holder, successor)

    def fault_power(self, holder, successor):
        """Switches off the node."""
        self.volume.begin_load(holder)
        holder.lose_power()
        return successor, time.monotonic()

    def fault_blackout(self, holder, successor):
        """Switches off all nodes. Afterwards the volume has only synced data."""
        self.volume.begin_load(holder, enough=MANY_FILES)
        at = self.volume.nodes.index(successor)
        self.volume.lose_all_power()
        self.volume.stop_loads()
        begin = time.monotonic()
        self.volume.reboot()
        return self.volume.nodes[at], begin

    def fault_cut(self, holder, successor):
        """Unplugs the network of the node, where clients still reach the server. The cluster fences the node before it
        starts another server."""
        self.volume.begin_load(holder, local=True)
        begin = time.monotonic()
        holder.unplug()
        wait_for("the end of the load", lambda: not self.volume.is_load_alive())
        holder.lose_power()
        return successor, begin

    def fault_pause(self, holder, successor):
        """Pauses the whole node without fencing it, and another node takes over. When the node continues, its server
        has to detect that itself. Clients on the node reach it all the time."""
        self.volume.begin_load(holder, local=True)
        before = len(self.volume.log_of(holder))
        holder.pause()
        begin = time.monotonic()
        self.start(successor)
        end = time.monotonic()
        with Client(successor.address, PORT) as client:
            later = client.put(b"of the second server")
        holder.resume()
        wait_for("the end of the load", lambda: not self.volume.is_load_alive(), FENCE_PATIENCE_S)
        # The volume may have given up the node, and then needs a while to accept it again.
        self.volume.wait_until_fenced(holder, before)
        # A thread of the server may hang in a call to the volume forever.
        holder.lose_power()
        with Client(successor.address, PORT) as client:
            if client.ask(f"delete {later}")[0] != ["DELETED"]:
                raise AssertionError("the second server lost a job")
        return successor, begin, end

    def fault_hang(self, holder, successor):
        """Stops the server's process for longer than the monitor waits, and then stops the server like the cluster."""
        self.volume.begin_load(holder)
        self.signal_server(holder, "STOP")
        begin = time.monotonic()
        if self.volume.agent(holder, "monitor", timeout_s=4) != 1:
            raise AssertionError(f"the monitor did not detect a server that hangs: {self.volume.output}")
        self.volume.stop(holder)
        return successor, begin

    def fault_brick(self, holder, successor):
        """Kills a replica and restarts it, first that of the server's node, then that of another node."""
        self.volume.begin_load(holder)
        for node in (holder, successor):
            node.run("kill", "-KILL", self.volume.brick_of(node))
            self.volume.wait_for_load(200)
            self.volume.gluster("volume", "start", "jobs", "force", on=holder)
            self.volume.wait_for_load(200)
            # Two healed replicas are needed for a quorum, so a replica must be healed before the next one is killed.
            self.volume.wait_until_healed(holder)
        return self.stop(holder, successor)

    def fault_full(self, holder, successor):
        """Fills the volume under load, and frees the space again."""
        self.volume.begin_load(holder, may_be_full=True)
        holder.run("dd", "if=/dev/zero", f"of={FILLER}", "bs=1M", check=False)
        wait_for("a refused put", lambda: self.volume.faults() or sum(
            load.refused_puts for load in self.volume.loads) > 20)
        # Jobs can still be reserved, buried, kicked and deleted.
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
        """Restores the volume, and empties the queue for the next round."""
        self.volume.reboot()
        self.volume.wait_until_healed(self.holder)
        with Client(self.holder.address, PORT) as client:
            self.empty_queue(client)

    def black_out_until_loss(self):
        """Repeats the blackout until a job is lost."""
        for _ in range(BLACKOUTS):
            self.run_round("blackout", is_last=True)
            if any(self.lost.values()):
                return
            self.repair()
        sys.exit("no job was lost without syncs: the disks of the test do not lose data")


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
                volume.options = ""  # The default size of files, because the server syncs at the end of each file.
            chaos = Chaos(volume, options.beanstalkd)
        stack.callback(chaos.report)
        if options.unsynced:
            chaos.black_out_until_loss()
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
