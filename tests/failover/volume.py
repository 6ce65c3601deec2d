"""A replicated volume on three nodes (GlusterFS, replica 3, with a quorum), a server on one of them, and clients that
record the acknowledged jobs."""

import concurrent.futures
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import disks
import stage
from disks import Disk
from load import Load, differences
from nodes import Node
from stage import PROJECT, Client, wait_for

AGENT = PROJECT / "packaging" / "ocf" / "haricotd"
PORT = 11300
MOUNTED = "/run/volume"  # Mount point of the volume on each node.
FOLDER = f"{MOUNTED}/beanstalkd"
DISKS = pathlib.Path("/run/disks")  # Data of nodes that survives a power-off.
DISK_MIB = 128
HEAL_PATIENCE_S = 180
FENCE_PATIENCE_S = 180  # Three times the agent's --fence-after.
TORN = 2  # Status of `haricot binlog check` if the last file ends in an incomplete record.
LOAD_PATIENCE_S = 300  # Each command waits for three disks, on a machine that may be busy.
ENOUGH = 400  # Acknowledged commands before a fault.
SMALL_FILES = "-s 200000"  # So that files are begun and removed often.


def documented_options():
    """Returns the options of the volume in docs/cluster.md, as pairs of words."""
    text = (PROJECT / "docs" / "cluster.md").read_text(encoding="utf-8")
    options = re.findall(r"^gluster volume set jobs (\S+) (\S+)$", text, re.MULTILINE)
    if len(options) < 5:
        raise RuntimeError("docs/cluster.md has no options of the volume")
    return options


def repeat(node, *words):
    """Runs a command on the node until it succeeds. Returns its last output. Prints the output of failures at once, to
    show the reason for the wait."""
    output = [""]

    def is_done():
        output.append(node.run(*words, check=False))
        if node.status != 0 and output[-1] != output[-2]:
            print(f"{node.name}: {' '.join(map(str, words))}: {output[-1].strip()}", flush=True)
        return node.status == 0
    wait_for(" ".join(map(str, words)), is_done)
    return output[-1]


def require_engines(*others):
    """Isolates the test, and skips it if GlusterFS, another program or the cluster's shell functions are missing."""
    stage.isolate("glusterd", "gluster", "glusterfs", "nsenter", "mount.glusterfs", "mkfs.ext4", "losetup", *others)
    if not pathlib.Path("/usr/lib/ocf/lib/heartbeat/ocf-shellfuncs").exists():
        stage.skip("Debian's resource-agents is missing")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        stage.skip(f"this kernel has no FUSE: {error}")
    if not disks.can_be_made():
        stage.skip("this kernel has no loop devices")


class Volume:
    """A volume and a server. `clean_up` takes functions that are called at the end. Requires: require_engines() and
    make_network() were called."""

    mounted, folder, log = MOUNTED, FOLDER, "/run/haricotd.log"

    def __init__(self, clean_up, binary, tool, seed):
        self.binary, self.tool, self.seed = binary, tool, seed
        self.random = random.Random(seed)
        self.fence_after = 60
        self.fsync_ms = 0
        self.options = SMALL_FILES
        self.has_tags = True  # The server supports tags.
        self.loads = []
        self.begun_loads = 0
        clean_up(self.remove_disks)
        clean_up(stage.end_all_others)
        clean_up(self.end_nodes)
        clean_up(self.stop_loads)
        self.nodes = []
        self.disks = []
        for number in (1, 2, 3):
            # In its own file system, so that a full brick does not fill the machine's.
            self.disks.append(Disk(DISKS / f"node{number}", DISK_MIB))
            (DISKS / f"node{number}" / "brick").mkdir()
            (DISKS / f"system{number}").mkdir()
        for number in (1, 2, 3):
            self.nodes.append(self.switch_on(number))
        self.set_up()

    def set_up(self):
        """Creates the volume, mounts it on each node, and creates the folder."""
        # In parallel, because each start waits for seconds.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: node.run("glusterd"), self.nodes))
        for node in self.nodes[1:]:
            self.gluster("peer", "probe", node.address)
        for node in self.nodes:
            wait_for("the peers", lambda node=node: self.peers_of(node) == 2)
        self.gluster("volume", "create", "jobs", "replica", "3",
                     *(f"{node.address}:/srv/brick/jobs" for node in self.nodes), "force")
        for name, value in documented_options():
            self.gluster("volume", "set", "jobs", name, value)
        self.gluster("volume", "start", "jobs")
        for node in self.nodes:
            self.mount(node)
        # Until a mount has found all replicas, its node may have no quorum.
        for node in self.nodes:
            self.wait_for_copies(node)
        self.nodes[0].run("mkdir", FOLDER)

    # Nodes and the volume

    def switch_on(self, number):
        return Node(number, ("/var/log/glusterfs",), f"{self.use_disk(number)} && "
                    f"mount --bind {DISKS}/system{number} /var/lib/glusterd", disk=self.disks[number - 1])

    def use_disk(self, number):
        """Returns the command that mounts the node's disk and unmounts those of others."""
        self.disks[number - 1].come_back()
        return f"mount --bind {DISKS}/node{number} /srv && umount {DISKS}/node*[0-9]"

    def reboot(self):
        """Switches on all nodes that are off, and mounts their volume."""
        off = [index for index, node in enumerate(self.nodes) if not node.is_alive()]
        for index in off:
            self.nodes[index] = self.switch_on(index + 1)
        nodes = [self.nodes[index] for index in off]
        try:
            self.begin_glusterd(nodes)
        except TimeoutError:
            # Rare: after a loss of power of all nodes, one does not find the others.
            for node in nodes:
                print(node.name, node.run("gluster", "peer", "status", check=False), flush=True)
            self.begin_glusterd(nodes)
        for node in nodes:
            try:
                self.mount(node)
            except TimeoutError:
                # As in wait_for_copies(): if no client finds two of the replicas, the volume cannot be mounted.
                self.restart_copies(off, node, lambda node=node: self.is_mounted(node))

    def begin_glusterd(self, nodes):
        """Starts or restarts glusterd on the nodes, and waits until each knows both others."""
        for node in nodes:
            node.run("sh", "-c", "pkill -KILL -x glusterd; while pgrep -x glusterd; do sleep 0.1; done; glusterd")
        for node in nodes:
            wait_for("the peers", lambda node=node: self.peers_of(node) == 2)

    def lose_all_power(self):
        """Switches off all nodes. Stops all replicas first, because the volume syncs the others as soon as it detects
        that one fails."""
        for copy in [pid for node in self.nodes for pid in node.processes_named("glusterfsd")]:
            os.kill(copy, signal.SIGSTOP)
        for node in self.nodes:
            node.unplug()
        for disk in self.disks:
            disk.lose_power()
        for node in self.nodes:
            node.lose_power()

    @staticmethod
    def peers_of(node):
        return node.run("gluster", "peer", "status", check=False).count("(Connected)")

    def mount(self, node):
        wait_for("the mount", lambda: self.is_mounted(node))

    @staticmethod
    def is_mounted(node):
        """Tries to mount the volume. Returns true if it succeeds, and prints the output otherwise."""
        node.run("mkdir", "-p", MOUNTED)
        output = node.run("mount", "-t", "glusterfs", f"{node.address}:/jobs", MOUNTED, check=False)
        if node.status != 0:
            print(f"{node.name}: mount: {output.strip()}", flush=True)
        return node.status == 0

    def gluster(self, *words, on=None):
        """Runs a command of gluster, and repeats it while another node is busy, when it has no effect. Returns its
        output."""
        node = on or self.nodes[0]
        return repeat(node, "gluster", "--mode=script", *words)

    def copies_in_reach(self, node):
        """Returns the replicas to which the mount of a node is connected, by the numbers of their nodes."""
        output = (node.run("cat", f"{self.mounted}/.meta/graphs/active/jobs-client-{number}/private", check=False)
                for number in range(len(self.nodes)))
        return [number for number, text in enumerate(output) if "connected = 1" in text]

    def wait_for_copies(self, node):
        """Waits until the mount of the node is connected to all replicas. Sometimes glusterd does not learn the port of
        a replica that starts at boot, so that no client finds it: then restarts the replica, as docs/cluster.md
        says."""
        def in_reach():
            return len(self.copies_in_reach(node)) == len(self.nodes)
        try:
            wait_for("the copies", in_reach, HEAL_PATIENCE_S / 4)
            return
        except TimeoutError:
            print(node.run("gluster", "volume", "status", "jobs", check=False), flush=True)
        missing = set(range(len(self.nodes))) - set(self.copies_in_reach(node))
        self.restart_copies(missing, node, in_reach)

    def restart_copies(self, numbers, node, is_good):
        """Restarts the replicas of these nodes until `is_good` is true."""
        for number in numbers:
            self.nodes[number].run("pkill", "-KILL", "-x", "glusterfsd", check=False)
        # Repeated, because glusterd starts no replica until it has noticed that the old process ended.
        wait_for("the copies", lambda: self.gluster("volume", "start", "jobs", "force", on=node) and is_good(),
                 HEAL_PATIENCE_S)

    def wait_until_healed(self, node):
        """Waits until all replicas are equal and the node writes to all of them."""
        self.wait_for_copies(node)
        output = [""]

        def healed():
            # Refused until all nodes know that the replica is back.
            node.run("gluster", "volume", "heal", "jobs", check=False)
            output.append(node.run("gluster", "volume", "heal", "jobs", "info", check=False))
            return output[-1].count("Number of entries: 0\n") == 3
        try:
            wait_for("the heal", healed, HEAL_PATIENCE_S)
        except TimeoutError as error:
            print(f"gluster volume heal jobs info: {output[-1]}", flush=True)
            # As in wait_for_copies(), if another client than this node's mount does not find a replica.
            copies = output[-1].split("Brick ")[1:]
            missing = [number for number, text in enumerate(copies) if "not connected" in text]
            if not missing:
                raise RuntimeError("the replicas do not heal") from error
            self.restart_copies(missing, node, healed)

    def brick_of(self, node):
        """Returns the process that serves the replica of a node."""
        return int(node.run("pgrep", "-x", "glusterfsd"))

    def mount_of(self, node):
        """Returns the process that answers all calls of the node to the volume."""
        return int(node.run("pgrep", "-f", f"glusterfs .*{self.mounted}$"))

    def end_nodes(self):
        for node in self.nodes:
            node.end()

    def remove_disks(self):
        for disk in self.disks:
            disk.remove()
        subprocess.run(["rm", "-rf", DISKS], check=True)

    # The server

    def agent(self, node, action, timeout_s=60, patience_s=2 * stage.PATIENCE_S, **parameters):
        """Runs the agent on the node with the cluster's timeout `timeout_s`. Sets `output` to its output, and returns its
        status. Raises TimeoutExpired if it takes longer than `patience_s`."""
        values = {"binary": self.binary, "tool": self.tool, "binlog": FOLDER, "mountpoint": MOUNTED,
                  "log": self.log, "fence_after": self.fence_after, "fsync": self.fsync_ms,
                  "options": self.options} | parameters
        environment = {f"OCF_RESKEY_{name}": str(value) for name, value in values.items()}
        self.output = node.run(AGENT, action, check=False, patience_s=patience_s, environment=environment | {
            "OCF_ROOT": "/usr/lib/ocf", "OCF_RESOURCE_INSTANCE": "queue", "OCF_RESKEY_CRM_meta_timeout": str(timeout_s * 1000)})
        return node.status

    def start(self, node):
        status = self.agent(node, "start")
        if status != 0:
            log = node.run("cat", self.log, check=False)
            raise RuntimeError(f"the agent's start has the status {status}: {self.output}{log}")

    def log_of(self, node):
        """Returns the log of the server on this node."""
        return node.run("cat", self.log)

    def wait_until_fenced(self, node, before=0):
        """Waits until the server on this node has fenced itself. `before` is the length of its log before the fault.
        Its process may exist for longer, because a call to the volume may not return."""
        wait_for("the fence of the server", lambda: "event=fenced" in self.log_of(node)[before:], FENCE_PATIENCE_S)
        if "event=stopped" in self.log_of(node)[before:]:
            raise AssertionError("the server stopped although it was fenced")

    def check_folder(self, node):
        """Checks that no file is damaged. The last record may be incomplete, if the server failed while writing it."""
        output = node.run(self.tool, "binlog", "check", "--quiet", self.folder, check=False)
        if node.status not in (0, TORN) or "DAMAGE" in output:
            raise AssertionError(f"binlog check has the status {node.status}: {output}")

    def stop(self, node, timeout_s=60):
        status = self.agent(node, "stop", timeout_s)
        if status != 0:
            raise RuntimeError(f"the agent's stop has the status {status}: {self.output}")

    # Clients

    def begin_load(self, node, local=False, enough=ENOUGH, **kinds):
        """Starts clients of the server on this node; local ones run on the node itself. Returns after `enough`
        commands."""
        for _ in range(4):
            client = Client("127.0.0.1", PORT, of=node) if local else Client(self.address_of(node), PORT)
            self.loads.append(Load(client, self.begun_loads, self.seed, has_tags=self.has_tags, **kinds))
            self.begun_loads += 1
        for load in self.loads:
            load.start()
        self.wait_for_load(enough)

    def address_of(self, node):
        """Returns the clients' address of the server on this node."""
        return node.address

    def wait_for_load(self, more):
        """Waits for `more` further acknowledged commands."""
        wanted = sum(load.acknowledged for load in self.loads) + more
        wait_for("acknowledged commands", lambda: self.faults() or not self.is_load_alive() or sum(
            load.acknowledged for load in self.loads) >= wanted, LOAD_PATIENCE_S)
        if self.faults() or not self.is_load_alive():
            raise RuntimeError(f"clients have ended: {self.faults()} {[load.refusal for load in self.loads]}")

    def is_load_alive(self):
        return any(load.is_alive() for load in self.loads)

    def faults(self):
        return [load.fault for load in self.loads if load.fault]

    def stop_loads(self):
        for load in self.loads:
            load.stop()

    def compare(self, node):
        """Stops the clients. Returns the differences between the jobs of the server and the acknowledged ones."""
        self.stop_loads()
        with Client(self.address_of(node), PORT) as client:
            return differences(client, self.loads)

    def take_over(self, node, after):
        """Starts the server on another node, and compares its jobs. Prints and returns the time of the start."""
        begin = time.monotonic()
        self.start(node)
        seconds = time.monotonic() - begin
        found = self.compare(node)
        if found:
            raise AssertionError("\n".join(found))
        acknowledged = sum(load.acknowledged for load in self.loads)
        print(f"{seconds:.1f} s for the start {after}; {acknowledged} acknowledged commands, none lost", flush=True)
        return seconds
