#!/usr/bin/env python3
"""Tests a folder on a replicated volume of three nodes (GlusterFS, replica 3, with a quorum), with the resource agent:
the node of the server fails or loses its network, and another node takes over.

    gluster_test.py HARICOTD HARICOT

HARICOT_SEED=N repeats the commands of the clients.
"""

import os
import random
import signal
import subprocess
import sys
import unittest

from load import differences
from nodes import is_ending, is_idle, make_network, threads
from stage import Client, wait_for
from volume import FENCE_PATIENCE_S, HEAL_PATIENCE_S, MOUNTED, PORT, Volume, require_engines

if len(sys.argv) < 3:
    sys.exit(__doc__)
HARICOTD, HARICOT = map(os.path.abspath, sys.argv[1:3])
SEED = int(os.environ.get("HARICOT_SEED") or random.SystemRandom().randrange(2**32))


class Gluster(unittest.TestCase):
    def setUp(self):
        self.volume = Volume(self.addCleanup, HARICOTD, HARICOT, SEED)
        self.nodes = self.volume.nodes

    def test_the_next_node_has_all_acknowledged_jobs(self):
        first, second, _ = self.nodes
        self.volume.start(first)
        self.volume.begin_load(first)
        # While the first server runs, the volume's lock prevents a second one.
        self.assertEqual(self.volume.agent(second, "start", lock_wait=0), 1)
        self.assertIn("another server uses the folder", self.volume.output)
        first.lose_power()
        self.volume.stop_loads()
        self.volume.take_over(second, "after a node has died")
        with Client(second.address, PORT) as client:
            client.put(b"the next")
        self.assertEqual(self.volume.agent(second, "monitor"), 0, self.volume.output)
        self.stop(second)

    def stop(self, node):
        """Stops the server, and checks that the folder is sound."""
        self.volume.stop(node)
        self.volume.check_folder(node)

    def cut_off_and_reconnect(self, first, second):
        """Unplugs the first node, starts the server on the second one, and plugs the first one in again, without
        fencing: its server still runs when the volume is back. Returns the id of a job of the second server."""
        first.unplug()
        self.volume.start(second)
        with Client(second.address, PORT) as client:
            later = client.put(b"of the second server")
        first.plug_in()
        second.run("touch", f"{MOUNTED}/later")
        wait_for("the volume", lambda: "later" in first.run("ls", MOUNTED, check=False).split(), HEAL_PATIENCE_S)
        return later

    def expect_end_of(self, first):
        """Waits until the server of the first node has given up the folder and ended. The agent does not start
        another."""
        self.volume.wait_until_fenced(first)
        with self.assertRaises(ConnectionRefusedError):
            Client("127.0.0.1", PORT, of=first)
        try:
            wait_for("the end of the server", lambda: self.volume.agent(first, "monitor") == 7)
        except TimeoutError:
            # As docs/cluster.md says, a process that hangs in a call to the volume may not end.
            self.assertTrue(all(map(is_ending, first.processes_named("haricotd"))), self.volume.output)
            print("the process of the first server hangs in a call to the volume", flush=True)

    def expect_acknowledged_jobs(self, second, later):
        """Checks that the second server has its own acknowledged job and those of the first server, and that its folder
        is sound."""
        with Client(second.address, PORT) as client:
            self.assertEqual(client.ask(f"delete {later}")[0], ["DELETED"])
            self.assertEqual(differences(client, self.volume.loads), [])
            later = client.put(b"of the second server")
            self.assertEqual(client.ask(f"peek {later}")[1], b"of the second server")
        self.stop(second)

    def test_an_idle_server_acknowledges_nothing_after_a_network_failure(self):
        first, second, _ = self.nodes
        self.volume.start(first)
        self.volume.begin_load(first)
        # The worst case: a server with nothing to write does not notice that it is cut off.
        self.volume.stop_loads()
        later = self.cut_off_and_reconnect(first, second)
        for _ in range(20):
            try:
                with Client("127.0.0.1", PORT, of=first) as client:
                    answer = client.ask("put 0 0 60 4", b"lost")[0][0]
            except OSError:
                continue  # The connection was closed, or the server has ended.
            self.assertNotEqual(answer, "INSERTED", "two servers acknowledge changes")
        self.expect_end_of(first)
        self.expect_acknowledged_jobs(second, later)

    def test_a_busy_server_acknowledges_nothing_after_a_network_failure(self):
        first, second, _ = self.nodes
        self.volume.start(first)
        # These clients are on the node itself, so they always reach the server.
        self.volume.begin_load(first, local=True)
        later = self.cut_off_and_reconnect(first, second)
        wait_for("the end of the load", lambda: not self.volume.is_load_alive(), FENCE_PATIENCE_S)
        self.expect_end_of(first)
        self.volume.stop_loads()
        self.expect_acknowledged_jobs(second, later)

    def stop_volume(self, node):
        """Stops the volume of the node between two turns of the server. If a turn had just checked its fence, the main
        thread could hang in a call to the volume."""
        [server] = node.processes_named("haricotd")
        wait_for("an idle server", lambda: is_idle(server))
        os.kill(server, signal.SIGSTOP)
        wait_for("the stop", lambda: all(state == "T" for _, state in threads(server)))
        mount = self.volume.mount_of(node)
        node.run("kill", "-STOP", mount)
        os.kill(server, signal.SIGCONT)
        return server, mount

    def test_a_server_fences_itself_when_its_volume_hangs(self):
        first = self.nodes[0]
        self.volume.fence_after = 5
        self.volume.start(first)
        with Client(first.address, PORT) as client:
            client.put(b"kept")
            server, mount = self.stop_volume(first)
            self.volume.wait_until_fenced(first)
            self.assertEqual(client.socket.recv(1), b"")
        log = self.volume.log_of(first)
        self.assertLess(log.index("event=volume-waits"), log.index("event=fenced"))
        self.assertIn("no server may be serving these jobs", log)
        with self.assertRaises(ConnectionRefusedError):
            Client(first.address, PORT)
        # The process still exists, because a check of the fence hangs. The agent reports a failure.
        wait_for("the end", lambda: is_ending(server))
        self.assertEqual(self.volume.agent(first, "monitor"), 1)
        self.assertIn("does not answer", self.volume.output)
        with self.assertRaises(subprocess.TimeoutExpired):
            self.volume.agent(first, "stop", timeout_s=2, patience_s=6)
        self.assertTrue(is_ending(server))
        # The remedy in docs/cluster.md.
        first.run("kill", "-KILL", mount)
        wait_for("the end of the server", lambda: self.volume.agent(first, "monitor") == 7)

    def test_a_node_without_network_acknowledges_no_lost_job(self):
        """The server has no fence of its own, so the cluster has to fence the node."""
        first, second, _ = self.nodes
        self.volume.fence_after = 0
        self.volume.start(first)
        # These clients are on the node itself, so they always reach the server.
        self.volume.begin_load(first, local=True)
        first.unplug()
        wait_for("the end of the load", lambda: not self.volume.is_load_alive())
        self.assertEqual([load.refusal for load in self.volume.loads], ["INTERNAL_ERROR"] * len(self.volume.loads))
        with Client("127.0.0.1", PORT, of=first) as client:
            self.assertEqual(client.ask("put 0 0 60 4", b"lost")[0], ["INTERNAL_ERROR"])
        self.assertEqual(self.volume.agent(first, "monitor", timeout_s=10), 1)
        self.assertIn("refuses changes", self.volume.output)
        # The cluster fences the node before it starts another server (docs/cluster.md).
        first.end()
        self.volume.stop_loads()
        self.volume.take_over(second, "after a node was cut off and fenced")
        self.stop(second)


if __name__ == "__main__":
    require_engines()
    print(f"HARICOT_SEED={SEED}")
    make_network()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
