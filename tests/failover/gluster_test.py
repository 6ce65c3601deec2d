#!/usr/bin/env python3
"""The folder on a replicated volume of three nodes (GlusterFS, replica 3, with a quorum), and the resource
agent: the node of the server dies, or loses its network, and another one takes over.

    gluster_test.py HARICOTD HARICOT

HARICOT_SEED=N repeats what the clients do.
"""

import concurrent.futures
import os
import pathlib
import random
import re
import sys
import time
import unittest

import stage
from load import Load, differences
from nodes import Node, make_network
from stage import PROJECT, Client, wait_for

if len(sys.argv) < 3:
    sys.exit(__doc__)
HARICOTD, HARICOT = map(os.path.abspath, sys.argv[1:3])
AGENT = PROJECT / "packaging" / "ocf" / "haricotd"
PORT = 11300
VOLUME = "/run/volume"
SEED = int(os.environ.get("HARICOT_SEED") or random.SystemRandom().randrange(2**32))
ENOUGH = 400  # Acknowledged commands before the node goes.


def documented_options():
    """The options of the volume, as docs/availability.md has them: words by pairs."""
    text = (PROJECT / "docs" / "availability.md").read_text(encoding="utf-8")
    return re.findall(r"^    gluster volume set jobs (\S+) (\S+)$", text, re.MULTILINE)


class Gluster(unittest.TestCase):
    def setUp(self):
        self.addCleanup(stage.end_all_others)
        self.nodes = []
        for number in (1, 2, 3):
            node = Node(number, ("/var/lib/glusterd", "/var/log/glusterfs"))
            self.addCleanup(node.end)
            self.nodes.append(node)
            node.run("mkdir", "/run/brick", VOLUME)
        # Each of them takes seconds, which it spends waiting.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: node.run("glusterd"), self.nodes))
        first = self.nodes[0]
        for node in self.nodes[1:]:
            self.gluster("peer", "probe", node.address)
        # Each of them has to know each other one.
        for node in self.nodes:
            wait_for("the peers", lambda node=node: node.run("gluster", "peer", "status", check=False).count(
                "(Connected)") == 2)
        self.gluster("volume", "create", "jobs", "replica", "3",
                     *(f"{node.address}:/run/brick/jobs" for node in self.nodes), "force")
        options = documented_options()
        self.assertGreater(len(options), 5)
        for name, value in options:
            self.gluster("volume", "set", "jobs", name, value)
        self.gluster("volume", "start", "jobs")
        for node in self.nodes:
            node.run("mount", "-t", "glusterfs", f"{node.address}:/jobs", VOLUME)
        first.run("mkdir", f"{VOLUME}/beanstalkd")
        self.fence_after = 60
        self.loads = []
        self.addCleanup(self.stop_loads)

    def gluster(self, *words):
        """Tries again while another node is busy: then nothing has happened."""
        said = []
        try:
            wait_for("gluster", lambda: said.append(self.nodes[0].run(
                "gluster", "--mode=script", *words, check=False)) or self.nodes[0].status == 0)
        except TimeoutError as error:
            raise RuntimeError(f"{words}: {said[0]}") from error

    def agent(self, node, action, timeout_s=60, **parameters):
        """Runs the agent on the node. Its status."""
        values = {"binary": HARICOTD, "tool": HARICOT, "binlog": f"{VOLUME}/beanstalkd", "mountpoint": VOLUME,
                  "log": "/run/haricotd.log", "fence_after": self.fence_after} | parameters
        environment = {f"OCF_RESKEY_{name}": str(value) for name, value in values.items()}
        self.said = node.run(AGENT, action, check=False, environment=environment | {
            "OCF_ROOT": "/usr/lib/ocf", "OCF_RESOURCE_INSTANCE": "queue", "OCF_RESKEY_CRM_meta_timeout": str(timeout_s * 1000)})
        return node.status

    def start(self, node):
        status = self.agent(node, "start")
        self.assertEqual(status, 0, self.said + node.run("cat", "/run/haricotd.log", check=False))

    def begin_load(self, node, local=False):
        for number in range(4):
            client = Client("127.0.0.1", PORT, of=node) if local else Client(node.address, PORT)
            self.loads.append(Load(client, number, SEED))
        for load in self.loads:
            load.start()
        wait_for("acknowledged commands", lambda: self.faults() or sum(
            load.acknowledged for load in self.loads) > ENOUGH)
        self.assertEqual(self.faults(), [])

    def faults(self):
        return [load.fault for load in self.loads if load.fault]

    def stop_loads(self):
        for load in self.loads:
            load.stop()

    def take_over(self, node, after):
        """Starts the server on another node, and compares its jobs. Prints how long the start took."""
        begin = time.monotonic()
        self.start(node)
        seconds = time.monotonic() - begin
        with Client(node.address, PORT) as client:
            self.assertEqual(differences(client, self.loads), [])
        acknowledged = sum(load.acknowledged for load in self.loads)
        print(f"{seconds:.1f} s for the start {after}; {acknowledged} acknowledged commands, none lost")

    def test_a_node_dies_and_the_next_has_every_acknowledged_job(self):
        first, second, _ = self.nodes
        self.start(first)
        self.begin_load(first)
        # While the first server lives, the volume's lock keeps a second one out.
        self.assertEqual(self.agent(second, "start", lock_wait=0), 1)
        self.assertIn("another server uses the folder", self.said)
        first.lose_power()
        self.stop_loads()
        self.take_over(second, "after a node has died")
        with Client(second.address, PORT) as client:
            client.put(b"the next")
        self.assertEqual(self.agent(second, "monitor"), 0, self.said)
        self.assertEqual(self.agent(second, "stop"), 0, self.said)

    def lose_and_come_back(self, first, second):
        """The first node is cut off, the second one takes over, and nobody fences the first one: its server lives
        when the volume is back."""
        first.unplug()
        self.start(second)
        with Client(second.address, PORT) as client:
            later = client.put(b"of the second server")
        first.plug_in()
        second.run("touch", f"{VOLUME}/later")
        wait_for("the volume", lambda: "later" in first.run("ls", VOLUME, check=False).split())
        return later

    def expect_end_of(self, first):
        """Its server has given the folder up. The agent finds no server, and starts none by itself."""
        wait_for("the end of the server", lambda: self.agent(first, "monitor") == 7)
        log = first.run("cat", "/run/haricotd.log")
        self.assertIn("event=fenced", log)
        self.assertNotIn("event=stopped", log)

    def expect_sound(self, second, later):
        with Client(second.address, PORT) as client:
            self.assertEqual(client.ask(f"peek {later}")[1], b"of the second server")
        self.assertEqual(self.agent(second, "stop"), 0, self.said)
        # What the first server was writing when it was cut off may be there in part.
        said = second.run(HARICOT, "binlog", "check", f"{VOLUME}/beanstalkd", check=False)
        self.assertRegex(said, "\n(sound|torn)\n")
        self.assertNotIn("DAMAGE", said)

    def test_an_idle_server_that_was_cut_off_acknowledges_nothing_when_it_is_back(self):
        first, second, _ = self.nodes
        self.start(first)
        self.begin_load(first)
        # A server that has nothing to write while it is cut off does not notice: the worst case.
        self.stop_loads()
        later = self.lose_and_come_back(first, second)
        for _ in range(20):
            try:
                with Client("127.0.0.1", PORT, of=first) as client:
                    answer = client.ask("put 0 0 60 4", b"lost")[0][0]
            except OSError:
                continue  # The end of the connection, or no server any more.
            self.assertNotEqual(answer, "INSERTED", "two servers acknowledge")
        self.expect_end_of(first)
        with Client(second.address, PORT) as client:
            client.ask(f"delete {later}")
            self.assertEqual(differences(client, self.loads), [])
            later = client.put(b"of the second server")
        self.expect_sound(second, later)

    def test_a_server_that_was_cut_off_under_load_acknowledges_nothing_when_it_is_back(self):
        first, second, _ = self.nodes
        self.start(first)
        # These clients are on the node itself, so they reach their server all the time.
        self.begin_load(first, local=True)
        later = self.lose_and_come_back(first, second)
        wait_for("the end of the load", lambda: not any(load.is_alive() for load in self.loads))
        self.expect_end_of(first)
        self.stop_loads()
        with Client(second.address, PORT) as client:
            client.ask(f"delete {later}")
            self.assertEqual(differences(client, self.loads), [])
            later = client.put(b"of the second server")
        self.expect_sound(second, later)

    def test_a_node_that_is_cut_off_acknowledges_nothing_that_the_next_does_not_have(self):
        """Without a fence of its own: the cluster has to fence."""
        first, second, _ = self.nodes
        self.fence_after = 0
        self.start(first)
        # These clients are on the node itself, so they reach their server all the time.
        self.begin_load(first, local=True)
        first.unplug()
        wait_for("the end of the load", lambda: not any(load.is_alive() for load in self.loads))
        self.assertEqual([load.refusal for load in self.loads], ["INTERNAL_ERROR"] * len(self.loads))
        with Client("127.0.0.1", PORT, of=first) as client:
            self.assertEqual(client.ask("put 0 0 60 4", b"lost")[0], ["INTERNAL_ERROR"])
        self.assertEqual(self.agent(first, "monitor", timeout_s=10), 1)
        self.assertIn("refuses changes", self.said)
        # The cluster fences it before it starts another server: docs/availability.md says why.
        first.end()
        self.stop_loads()
        self.take_over(second, "after a node was cut off and fenced")
        self.assertEqual(self.agent(second, "stop"), 0, self.said)
        self.assertIn("\nsound\n", second.run(HARICOT, "binlog", "check", f"{VOLUME}/beanstalkd"))


if __name__ == "__main__":
    stage.isolate("glusterd", "gluster", "glusterfs", "nsenter", "mount.glusterfs")
    if not pathlib.Path("/usr/lib/ocf/lib/heartbeat/ocf-shellfuncs").exists():
        stage.skip("Debian's resource-agents is missing")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        stage.skip(f"this kernel has no FUSE: {error}")
    print(f"HARICOT_SEED={SEED}")
    make_network()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
