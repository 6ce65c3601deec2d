#!/usr/bin/env python3
"""The folder on a replicated volume of three nodes (GlusterFS, replica 3, with a quorum), and the resource
agent: the node of the server dies, or loses its network, and another one takes over.

    gluster_test.py HARICOTD HARICOT

HARICOT_SEED=N repeats what the clients do.
"""

import os
import random
import sys
import unittest

from nodes import make_network
from stage import Client, wait_for
from volume import FOLDER, PORT, Volume, require_engines

if len(sys.argv) < 3:
    sys.exit(__doc__)
HARICOTD, HARICOT = map(os.path.abspath, sys.argv[1:3])
SEED = int(os.environ.get("HARICOT_SEED") or random.SystemRandom().randrange(2**32))


class Gluster(unittest.TestCase):
    def setUp(self):
        self.volume = Volume(self.addCleanup, HARICOTD, HARICOT, SEED)
        self.nodes = self.volume.nodes

    def test_a_node_dies_and_the_next_has_every_acknowledged_job(self):
        first, second, _ = self.nodes
        self.volume.start(first)
        self.volume.begin_load(first)
        # While the first server lives, the volume's lock keeps a second one out.
        self.assertEqual(self.volume.agent(second, "start", lock_wait=0), 1)
        self.assertIn("another server uses the folder", self.volume.said)
        first.lose_power()
        self.volume.stop_loads()
        self.volume.take_over(second, "after a node has died")
        with Client(second.address, PORT) as client:
            client.put(b"the next")
        self.assertEqual(self.volume.agent(second, "monitor"), 0, self.volume.said)
        self.assertEqual(self.volume.agent(second, "stop"), 0, self.volume.said)

    def test_a_node_that_is_cut_off_acknowledges_nothing_that_the_next_does_not_have(self):
        first, second, _ = self.nodes
        self.volume.start(first)
        # These clients are on the node itself, so they reach their server all the time.
        self.volume.begin_load(first, local=True)
        first.unplug()
        wait_for("the end of the load", lambda: not any(load.is_alive() for load in self.volume.loads))
        self.assertEqual([load.refusal for load in self.volume.loads], ["INTERNAL_ERROR"] * len(self.volume.loads))
        with Client("127.0.0.1", PORT, of=first) as client:
            self.assertEqual(client.ask("put 0 0 60 4", b"lost")[0], ["INTERNAL_ERROR"])
        self.assertEqual(self.volume.agent(first, "monitor", timeout_s=10), 1)
        self.assertIn("refuses changes", self.volume.said)
        # The cluster fences it before it starts another server: docs/availability.md says why.
        first.end()
        self.volume.stop_loads()
        self.volume.take_over(second, "after a node was cut off and fenced")
        self.assertEqual(self.volume.agent(second, "stop"), 0, self.volume.said)
        self.assertIn("\nsound\n", second.run(HARICOT, "binlog", "check", FOLDER))


if __name__ == "__main__":
    require_engines()
    print(f"HARICOT_SEED={SEED}")
    make_network()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
