"""The cluster of docs/cluster.md: three nodes with a replicated volume (GlusterFS), Pacemaker, a floating address and
a power switch. The commands of that page set it up as printed."""

import pathlib
import re
import socketserver
import subprocess
import threading
import time

import stage
import volume
from nodes import NETWORK, Node
from stage import HERE, PROJECT, stats_of, wait_for
from volume import DISKS, PORT, Volume

ADDRESS = f"{NETWORK}.100"  # The floating address.
SWITCH_PORT = 4001
NAMES = ("one", "two", "three")
CLUSTER_PATIENCE_S = 180
TO_MOVE, TO_MOVE_BACK = "# on the node that has the server", "# on the same node, later"
TO_CLEAR = "# on each node, if volume create has failed"

# The values that the page leaves to the reader.
VALUES = {"ADDRESS": ADDRESS, "PASSWORD": "a word of the test",
          "FENCING": f"fence_power ip={NETWORK}.1 ipport={SWITCH_PORT} pcmk_host_list={','.join(NAMES)}"}
# Folders of each node: those that survive a power-off, overlays of this machine's folders, and temporary ones.
KEPT = ("/var/lib/glusterd", "/var/lib/corosync", "/var/lib/pacemaker", "/var/lib/pcsd")
LAID_OVER = ("/etc", "/var/log", "/usr/bin", "/usr/sbin", "/usr/lib/ocf/resource.d")
OWN_FOLDERS = ("/dev/shm",)


class Switch(socketserver.BaseRequestHandler):
    """The power switch for fence_power. `nodes` are its nodes by name, `log` the requests that it got. It reports that
    nodes in `broken` are off although they stay on."""

    nodes = {}
    log = []
    broken = set()

    def handle(self):
        action, name = self.request.makefile().readline().split()
        if action == "off":
            if name not in self.broken and self.nodes[name].is_alive():
                self.nodes[name].lose_power()
            self.log.append((name, time.monotonic()))
        self.request.sendall(b"ok\n")


class PowerSwitch(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def switch_power(clean_up):
    """Starts the power switch. `clean_up` takes functions that are called at the end. Requires: make_network()."""
    switch = PowerSwitch((f"{NETWORK}.1", SWITCH_PORT), Switch)
    clean_up(switch.server_close)
    clean_up(switch.shutdown)
    threading.Thread(target=switch.serve_forever, daemon=True).start()


def supports_overlay():
    """Returns true if the kernel supports overlays of folders. Requires: stage.isolate() has returned."""
    return subprocess.run(["sh", "-c", "mkdir -p /run/try/a /run/try/b /run/try/c && mount -t overlay -o "
                           "lowerdir=/usr/sbin,upperdir=/run/try/a,workdir=/run/try/b try /run/try/c && "
                           "umount /run/try/c"], capture_output=True).returncode == 0


def require_cluster_engines():
    """Isolates the test, and skips it if a program or a feature of the kernel is missing."""
    volume.require_engines("corosync", "pacemakerd", "crm_mon", "crm_resource", "pcs", "pcsd", "chpasswd", "hostname",
                           "runuser")
    if not pathlib.Path("/usr/lib/ocf/resource.d/heartbeat/Filesystem").exists():
        stage.skip("Debian's resource-agents is missing")
    if not supports_overlay():
        stage.skip("this kernel has no overlay file system")


def documented_steps():
    """Returns the blocks of commands of the page: pairs of the place where they run, and their text."""
    text = (PROJECT / "docs" / "cluster.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(block.partition("\n")[0].partition(":")[0], block) for block in blocks]


def commands_of(block):
    """Returns the commands of a block, without comments. Joins continued lines."""
    lines = (line for line in block.replace("\\\n", " ").splitlines())
    return [line for line in lines if line.strip() and not line.startswith("#")]


class Cluster(Volume):
    """A cluster whose server runs on one of the nodes, at ADDRESS. Requires: require_cluster_engines() and
    make_network() were called."""

    mounted, folder, log = "/srv/jobs", "/srv/jobs/beanstalkd", "/var/log/haricotd-queue.log"

    # Nodes

    def switch_on(self, number):
        disk, name = DISKS / f"system{number}", NAMES[number - 1]
        steps = [self.use_disk(number)]
        for folder in KEPT:
            own = disk / folder.strip("/")
            if not own.exists():
                subprocess.run(["mkdir", "-p", own.parent], check=True)
                subprocess.run(["cp", "-a", folder, own], check=True)
            steps.append(f"mount --bind {own} {folder}")
        for folder in LAID_OVER:
            own = disk / "over" / folder.strip("/").replace("/", "-")
            if not own.exists():
                (own / "upper").mkdir(parents=True)
                (own / "work").mkdir()
                self.install(folder, own / "upper")
            steps.append(f"mount -t overlay -o lowerdir={folder},upperdir={own}/upper,workdir={own}/work over {folder}")
        node = Node(number, OWN_FOLDERS, " && ".join(steps), name, self.disks[number - 1])
        node.run("mkdir", "-p", "/run/systemd/system")
        Switch.nodes[name] = node
        return node

    def install(self, folder, over):
        """Installs the programs that only the nodes have into the overlay of a folder."""
        programs = {"/usr/bin": (("haricotd", self.binary), ("haricot", self.tool), ("systemctl", HERE / "systemctl")),
                    "/usr/sbin": (("fence_power", HERE / "fence_power"),),
                    "/usr/lib/ocf/resource.d": (("haricot/haricotd", volume.AGENT),)}
        for name, source in programs.get(folder, ()):
            (over / name).parent.mkdir(exist_ok=True)
            subprocess.run(["install", "-m", "755", source, over / name], check=True)
        if folder == "/etc":
            hosts = "127.0.0.1 localhost\n" + "".join(
                f"{NETWORK}.{10 + number} {name}\n" for number, name in enumerate(NAMES, 1))
            (over / "hosts").write_text(hosts)

    def node_named(self, name):
        return self.nodes[NAMES.index(name)]

    def reboot(self):
        for index, node in enumerate(self.nodes):
            if not node.is_alive():
                self.nodes[index] = self.switch_on(index + 1)
                self.nodes[index].run("systemctl", "isolate", "multi-user.target")

    # The commands of the page

    def set_up(self):
        steps = documented_steps()
        first, values = steps.pop(0)
        if not first.startswith("# everywhere"):
            raise RuntimeError(f"unexpected first block of the page: {first}")
        self.values = set_values(values)
        where_now = {"# on each node": self.nodes, "# on one node": self.nodes[:1]}
        # Commands of blocks that the set-up does not run, by the place where they run.
        self.later = {where: commands_of(block) for where, block in steps if where not in where_now}
        if set(self.later) != {TO_MOVE, TO_MOVE_BACK, TO_CLEAR}:
            raise RuntimeError(f"the page has other blocks of commands: {list(self.later)}")
        for where, block in steps:
            for command in commands_of(block) if where in where_now else ():
                if command.startswith("gluster volume create"):
                    self.clear_marked_bricks(command)
                for node in where_now[where]:
                    self.run_documented(node, command)
        self.wait_for_server()

    def clear_marked_bricks(self, create):
        """Marks bricks like a failed volume create, and checks that the page's commands repair that."""
        node = self.nodes[0]
        node.run("gluster", "--mode=script", "volume", "create", "other", "one:/srv/brick")
        node.run("gluster", "--mode=script", "volume", "delete", "other")
        output = node.run("sh", "-e", "-c", self.values + create, check=False)
        if node.status == 0 or "already part of a volume" not in output:
            raise RuntimeError(f"{create}: status {node.status}: {output}")
        for command in self.later[TO_CLEAR]:
            for each in self.nodes:
                self.run_documented(each, command)

    def run_documented(self, node, command):
        """Runs a command of the page once, because a reader does not know which commands to repeat."""
        output = node.run("sh", "-e", "-c", self.values + command, check=False, patience_s=CLUSTER_PATIENCE_S)
        if node.status != 0:
            raise RuntimeError(f"{node.name}: {command}: status {node.status}: {output}")

    # The server

    def address_of(self, node):
        return ADDRESS

    def wait_for_server(self, other_than=None):
        """Waits until a server with another id than `other_than` answers at the address. Returns its statistics."""
        def another():
            stats = stats_of(ADDRESS, PORT, timeout=1)
            return stats if stats and stats["id"] != other_than else None
        try:
            return wait_for("a server at the address", another, CLUSTER_PATIENCE_S)
        except TimeoutError as error:
            raise RuntimeError(self.alive()[0].run("crm_mon", "-1", "--group-by-node", check=False)) from error

    def alive(self):
        return [node for node in self.nodes if node.is_alive()]

    def wait_until_whole(self):
        """Switches on all nodes, and waits until all are members, each replica is healed, and the cluster is idle."""
        self.reboot()

        def is_whole():
            output = self.nodes[0].run("crm_mon", "-1", check=False)
            online = re.search(r"Online: \[(.*)\]", output)
            return online and set(online[1].split()) == set(NAMES)
        wait_for("three nodes", is_whole, CLUSTER_PATIENCE_S)
        self.nodes[0].run("pcs", "resource", "cleanup", check=False)  # As an operator does after a repair.
        self.settle()
        self.wait_until_healed(self.holder())

    def settle(self):
        """Waits until the cluster is idle."""
        self.alive()[0].run("crm_resource", "--wait", "--timeout=100")

    def holder(self):
        """Returns the node of the server that answers at the address."""
        def found():
            known = self.wait_for_server()["id"]
            return [node for node in self.alive() if (stats_of(node.address, PORT, timeout=1) or {}).get("id") == known]
        return wait_for("the node of the server", found)[0]


def set_values(block):
    """Returns the assignments of a block with the values of the test."""
    lines = []
    for line in block.splitlines():
        name = line.partition("=")[0]
        lines.append(f"{name}='{VALUES[name]}'" if name in VALUES else line)
    missing = set(VALUES) - {line.partition("=")[0] for line in block.splitlines()}
    if missing:
        raise RuntimeError(f"the page does not set {missing}")
    return "\n".join(lines) + "\n"
