"""Runs faults in a cluster (cluster.py), which detects them itself. After each fault the server must have every job as
it was acknowledged or changed later."""

import time

from cluster import ADDRESS, TO_MOVE, TO_MOVE_BACK, Switch
from rounds import Rounds
from stage import Client, stats_of, wait_for
from volume import FENCE_PATIENCE_S, PORT


class ClusterChaos(Rounds):
    """A fault is a method `fault_KIND(holder, known)`: it begins the load and causes the fault on the node `holder`,
    which runs the server with the id `known`. It returns the seconds until another server answers at the address."""

    def seconds_to_next_server(self, known, begin):
        self.volume.wait_for_server(known)
        return time.monotonic() - begin

    def signal_server(self, node, signal):
        # By process id, because the agent has the same name.
        node.run("kill", f"-{signal}", self.volume.wait_for_server()["pid"])

    def expect_fenced(self, node):
        if [name for name, _ in Switch.log] != [node.name]:
            raise AssertionError(f"expected one request for {node.name}, the switch got {Switch.log}")

    # The faults

    def fault_kill(self, holder, known):
        """Kills the server."""
        self.volume.begin_load(holder)
        begin = time.monotonic()
        self.signal_server(holder, "KILL")
        return self.seconds_to_next_server(known, begin)

    def fault_power(self, holder, known):
        """Switches off the node."""
        self.volume.begin_load(holder)
        begin = time.monotonic()
        holder.lose_power()
        return self.seconds_to_next_server(known, begin)

    def fault_cut(self, holder, known):
        """Unplugs the network of the node, where clients still reach the server."""
        self.volume.begin_load(holder, local=True)
        begin = time.monotonic()
        holder.unplug()
        seconds = self.seconds_to_next_server(known, begin)
        self.expect_fenced(holder)
        if holder.is_alive():
            raise AssertionError("the node was not switched off")
        return seconds

    def fault_pause(self, holder, known):
        """Pauses the whole node, and the power switch reports wrongly that the node is off. When another server has
        taken over, the node continues: its server has to detect that itself."""
        Switch.broken.add(holder.name)
        self.volume.begin_load(holder, local=True)
        begin = time.monotonic()
        before = len(self.volume.log_of(holder))
        holder.pause()
        seconds = self.seconds_to_next_server(known, begin)
        self.expect_fenced(holder)
        with Client(ADDRESS, PORT) as client:
            later = client.put(b"of the second server")
        holder.resume()
        wait_for("the end of the load", lambda: not self.volume.is_load_alive(), FENCE_PATIENCE_S)
        wait_for("the end of the old server", lambda: self.has_ended(holder, before), FENCE_PATIENCE_S)
        # Like an operator: until then, two nodes have the address.
        Switch.broken.clear()
        holder.lose_power()
        self.volume.settle()
        self.volume.wait_for_server()
        with Client(ADDRESS, PORT) as client:
            if client.ask(f"delete {later}")[0] != ["DELETED"]:
                raise AssertionError("the second server has lost a job")
        return seconds

    def has_ended(self, node, before):
        """Returns true if the node's server has fenced itself or the cluster has stopped it. `before` is the length of
        its log before the fault. Does not check the process, because a thread may hang in a call to the volume
        forever."""
        log = self.volume.log_of(node)[before:]
        return "event=fenced" in log or "event=stopped" in log

    def fault_hang(self, holder, known):
        """Stops the server's process, which the monitor detects."""
        self.volume.begin_load(holder)
        begin = time.monotonic()
        self.signal_server(holder, "STOP")
        return self.seconds_to_next_server(known, begin)

    def fault_move(self, holder, known):
        """Moves the server by the commands of the page."""
        self.volume.begin_load(holder)
        begin = time.monotonic()
        for command in self.volume.later[TO_MOVE]:
            self.volume.run_documented(holder, command)
        seconds = self.seconds_to_next_server(known, begin)
        for command in self.volume.later[TO_MOVE_BACK]:
            self.volume.run_documented(holder, command)
        return seconds

    # Rounds

    def run_round(self, kind, is_last=False):
        Switch.log.clear()
        holder = self.volume.holder()
        known = stats_of(ADDRESS, PORT)["id"]
        seconds = getattr(self, f"fault_{kind}")(holder, known)
        # A failed monitor may have further consequences.
        self.volume.settle()
        found = self.volume.compare(holder)
        self.note(kind, seconds, found)
        if found:
            raise AssertionError("\n".join(found))
        self.volume.check_folder(self.volume.holder())
        with Client(ADDRESS, PORT) as client:
            self.empty_queue(client)
        if not is_last:
            self.volume.wait_until_whole()
