#!/usr/bin/env python3
"""Tests a cluster of three nodes (Pacemaker, corosync) that runs the server and a floating address by the resource
agent. A fencing device switches nodes off.

    pacemaker_test.py HARICOTD HARICOT

All nodes see the same folder of this machine, whose lock belongs to one kernel, so the lock of a volume cannot hide
that two servers overlap or that no node was fenced. gluster_test.py has a volume. HARICOT_SEED=N repeats the commands
of the clients.
"""

import os
import pathlib
import random
import sys
import time
import unittest

import cluster
import stage
from cluster import ADDRESS, SWITCH_PORT, Switch
from load import Load, differences
from nodes import NETWORK, Node, make_network
from stage import HERE, PROJECT, Client, stats_of, wait_for
from volume import PORT

if len(sys.argv) < 3:
    sys.exit(__doc__)
HARICOTD, HARICOT = map(os.path.abspath, sys.argv[1:3])
SEED = int(os.environ.get("HARICOT_SEED") or random.SystemRandom().randrange(2**32))
ENOUGH = 400  # Acknowledged commands before a fault.
CLUSTER_PATIENCE_S = 120
OWN_FOLDERS = ("/var/lib/pacemaker", "/var/lib/corosync", "/etc/corosync", "/dev/shm")
# Mounts the shared folder of the jobs, and adds programs to the machine's folders, for the nodes only.
PREPARE = """
mount --bind /run/shared /srv &&
mkdir -p /run/$(hostname)/fence /run/$(hostname)/agent/haricot /run/$(hostname)/work1 /run/$(hostname)/work2 &&
cp {fence} /run/$(hostname)/fence/fence_power && cp {agent} /run/$(hostname)/agent/haricot/haricotd &&
mount -t overlay -o lowerdir=/usr/sbin,upperdir=/run/$(hostname)/fence,workdir=/run/$(hostname)/work1 fence /usr/sbin &&
mount -t overlay -o lowerdir=/usr/lib/ocf/resource.d,upperdir=/run/$(hostname)/agent,workdir=/run/$(hostname)/work2 \
  agent /usr/lib/ocf/resource.d
""".strip().replace("\n", " ")


def attributes(of, **values):
    pairs = "".join(f'<nvpair id="{of}-{name}" name="{name}" value="{value}"/>' for name, value in values.items())
    return f'<instance_attributes id="{of}-attributes">{pairs}</instance_attributes>'


def operations(of, **timeouts):
    return "<operations>" + "".join(
        f'<op id="{of}-{name}" name="{name}" timeout="{timeout}" interval="{"1s" if name == "monitor" else "0"}"/>'
        for name, timeout in timeouts.items()) + "</operations>"


RESOURCES = f"""<resources>
<primitive id="power" class="stonith" type="fence_power">{attributes(
    "power", ip=f"{NETWORK}.1", ipport=SWITCH_PORT, pcmk_host_list="node1 node2 node3",
    pcmk_host_check="static-list")}</primitive>
<group id="beanstalk">
<primitive id="queue" class="ocf" provider="haricot" type="haricotd">{attributes(
    "queue", binary=HARICOTD, tool=HARICOT, binlog="/srv/beanstalkd", mountpoint="/srv",
    log="/run/haricotd.log")}{operations("queue", start="300s", stop="120s", monitor="20s")}</primitive>
<primitive id="address" class="ocf" provider="heartbeat" type="IPaddr2">{attributes(
    "address", ip=ADDRESS, cidr_netmask=24, nic="eth0")}{operations("address", monitor="20s")}</primitive>
</group></resources>"""

COROSYNC = "totem {\n version: 2\n cluster_name: test\n transport: udpu\n token: 3000\n}\nnodelist {\n" + "".join(
    f" node {{\n ring0_addr: {NETWORK}.{10 + number}\n nodeid: {number}\n name: node{number}\n }}\n"
    for number in (1, 2, 3)) + """}
quorum {\n provider: corosync_votequorum\n}
logging {\n to_syslog: no\n to_logfile: yes\n logfile: /run/corosync.log\n}\n"""


class Cluster(unittest.TestCase):
    def setUp(self):
        self.addCleanup(stage.end_all_others)
        self.nodes = []
        prepare = PREPARE.format(fence=HERE / "fence_power", agent=PROJECT / "packaging" / "ocf" / "haricotd")
        for number in (1, 2, 3):
            node = Node(number, OWN_FOLDERS, prepare)
            self.addCleanup(node.end)
            self.nodes.append(node)
            Switch.nodes[node.link] = node
            node.run("sh", "-c", "cat >/etc/corosync/corosync.conf <<END\n" + COROSYNC + "END\n"
                     "for each in blackbox cib cores pengine; do "
                     "install -d -o hacluster -g haclient -m 750 /var/lib/pacemaker/$each; done")
            node.run("corosync")
            node.run("sh", "-c", "PCMK_logfile=/run/pacemaker.log PCMK_logfacility=none "
                     "setsid pacemakerd </dev/null >/run/pacemakerd.out 2>&1 &")
        cluster.switch_power(self.addCleanup)
        wait_for("three nodes", lambda: "Online: [ node1 node2 node3 ]" in self.nodes[0].run(
            "crm_mon", "-1", check=False), CLUSTER_PATIENCE_S)
        self.nodes[0].run("crm_attribute", "--name", "stonith-action", "--update", "off")
        self.nodes[0].run("cibadmin", "--replace", "--scope", "resources", "--xml-text", RESOURCES)
        wait_for("the server", lambda: stats_of(ADDRESS, PORT, timeout=1), CLUSTER_PATIENCE_S)
        self.loads = []
        self.begun_loads = 0
        self.addCleanup(self.stop_loads)

    def stop_loads(self):
        for load in self.loads:
            load.stop()

    def holder(self):
        """Returns the node that has the address."""
        return next(node for node in self.nodes if ADDRESS + "/" in node.run("ip", "address", "show", "eth0"))

    def begin_load(self):
        for _ in range(4):
            self.loads.append(Load(Client(ADDRESS, PORT), self.begun_loads, SEED))
            self.begun_loads += 1
        for load in self.loads:
            load.start()
        wait_for("acknowledged commands", lambda: sum(load.acknowledged for load in self.loads) > ENOUGH)

    def check_jobs(self, begin, after):
        """Compares the jobs of the server at the address with the acknowledged ones, and prints the time since
        `begin`."""
        seconds = time.monotonic() - begin
        self.stop_loads()
        with Client(ADDRESS, PORT) as client:
            self.assertEqual(differences(client, self.loads), [])
        acknowledged = sum(load.acknowledged for load in self.loads)
        print(f"{seconds:.1f} s {after}; {acknowledged} acknowledged commands, none lost")

    def wait_for_next_server(self, known):
        wait_for("another server at the address",
                 lambda: (stats_of(ADDRESS, PORT, timeout=1) or {"id": known})["id"] != known, CLUSTER_PATIENCE_S)

    def test_a_cluster_keeps_every_acknowledged_job(self):
        # The cluster restarts a killed server.
        self.begin_load()
        known = stats_of(ADDRESS, PORT)
        begin = time.monotonic()
        self.holder().run("kill", "-KILL", known["pid"])
        self.wait_for_next_server(known["id"])
        self.check_jobs(begin, "after the server was killed")
        self.assertEqual(Switch.log, [])

        # The cluster switches off a node that loses its network, and another node takes over.
        with Client(ADDRESS, PORT) as client:
            for load in self.loads:
                words, _ = client.ask(f"flush-tube {load.tube}")
                self.assertEqual(words[0], "FLUSHED")
        self.loads = []
        self.begin_load()
        known = stats_of(ADDRESS, PORT)
        holder = self.holder()
        begin = time.monotonic()
        holder.unplug()
        self.nodes.remove(holder)
        self.wait_for_next_server(known["id"])
        self.check_jobs(begin, "after a node was cut off")
        self.assertEqual([name for name, _ in Switch.log], [holder.link])
        self.assertFalse(stage.exists(holder.pid))
        self.assertNotEqual(self.holder(), holder)


if __name__ == "__main__":
    stage.isolate("corosync", "pacemakerd", "crm_mon", "cibadmin", "nsenter", "hostname")
    if not pathlib.Path("/usr/lib/ocf/resource.d/heartbeat/IPaddr2").exists():
        stage.skip("Debian's resource-agents is missing")
    if not cluster.supports_overlay():
        stage.skip("this kernel has no overlay file system")
    print(f"HARICOT_SEED={SEED}")
    os.makedirs("/run/shared/beanstalkd")
    make_network()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
