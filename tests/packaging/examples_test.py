#!/usr/bin/env python3
"""Checks that the examples for container platforms match each other, the image and the server.

    examples_test.py PROJECT HARICOTD HARICOT
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.access("/usr/bin/python3", os.X_OK):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("skipped: Python's yaml is missing")
    sys.exit(77)

PROJECT, HARICOTD, HARICOT = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
HOME, PORT, USER, PING = "/var/lib/beanstalkd", 11300, 11300, ["/usr/bin/haricot", "ping"]
VERSION = re.search(r"project\(haricot VERSION ([\d.]+)", (PROJECT / "CMakeLists.txt").read_text())[1]


def documents(name):
    return list(yaml.safe_load_all((PROJECT / "docs/examples" / name).read_text()))


class Example(unittest.TestCase):
    def check_arguments(self, arguments):
        """Checks that the server keeps its jobs in the volume, and accepts all arguments."""
        self.assertEqual(arguments[:2], ["-b", HOME])
        result = subprocess.run([HARICOTD, *arguments, "--version"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = subprocess.run([HARICOTD, *arguments, "--nonsense"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 5, "a wrong flag would not have been seen")


    def check_console(self, arguments):
        """Checks that the console accepts all arguments, and permits no changes."""
        self.assertNotIn("--allow-changes", arguments)
        result = subprocess.run([HARICOT, "web", *arguments, "--help"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = subprocess.run([HARICOT, "web", *arguments, "--nonsense"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 5, "a wrong flag would not have been seen")


class Compose(Example):
    def setUp(self):
        (self.file,) = documents("docker-compose.yaml")
        self.service, self.web = (self.file["services"][name] for name in ("beanstalk", "web"))

    def test_it_runs_the_image_of_this_version(self):
        self.assertEqual(self.service["image"], f"haricot:{VERSION}")
        self.check_arguments(self.service["command"])

    def test_jobs_are_on_a_volume(self):
        volume, path = self.service["volumes"][0].split(":")
        self.assertEqual(path, HOME)
        self.assertIn(volume, self.file["volumes"])

    def test_the_port_is_for_this_machine_only(self):
        self.assertEqual(self.service["ports"], [f"127.0.0.1:{PORT}:{PORT}"])

    def test_the_health_check_is_the_tool(self):
        self.assertEqual(self.service["healthcheck"]["test"], ["CMD", *PING])


    def test_the_console_is_read_only_and_for_this_machine(self):
        self.assertEqual(self.web["image"], f"haricot:{VERSION}")
        self.assertEqual(self.web["entrypoint"], ["/usr/bin/haricot", "web"])
        self.assertEqual(self.web["ports"], ["127.0.0.1:11380:11380"])
        self.check_console(self.web["command"])
        self.assertEqual(self.web["command"][-1], f"beanstalk:{PORT}")


class Kubernetes(Example):
    def setUp(self):
        self.objects = documents("kubernetes.yaml")
        (self.set,) = [o for o in self.objects if o["kind"] == "StatefulSet"]
        services = {o["metadata"]["name"]: o["spec"] for o in self.objects if o["kind"] == "Service"}
        self.web_service = services.pop("beanstalk-web")
        self.services = services
        (self.web,) = [o["spec"] for o in self.objects if o["kind"] == "Deployment"]
        self.pod = self.set["spec"]["template"]
        (self.container,) = self.pod["spec"]["containers"]

    def test_there_is_one_server_and_never_more(self):
        self.assertEqual((self.set["apiVersion"], self.set["spec"]["replicas"]), ("apps/v1", 1))

    def test_it_runs_the_image_of_this_version(self):
        self.assertEqual(self.container["image"], f"haricot:{VERSION}")
        self.check_arguments(self.container["args"])
        self.assertNotIn("command", self.container, "the image's entry point is the server")

    def test_all_selectors_match_the_pod(self):
        labels = self.pod["metadata"]["labels"]
        self.assertEqual(self.set["spec"]["selector"]["matchLabels"], labels)
        for service in self.services.values():
            self.assertEqual(service["selector"], labels)

    def test_the_set_is_named_by_a_service_without_an_address(self):
        self.assertEqual(self.services[self.set["spec"]["serviceName"]]["clusterIP"], "None")
        self.assertEqual(len([s for s in self.services.values() if "clusterIP" not in s]), 1)

    def test_ports_are_the_servers(self):
        (port,) = self.container["ports"]
        self.assertEqual(port["containerPort"], PORT)
        for service in self.services.values():
            self.assertEqual(service["ports"][0]["port"], PORT)
            self.assertIn(service["ports"][0].get("targetPort", port["name"]), (port["name"], PORT))

    def test_jobs_are_on_a_volume_of_their_own(self):
        (mount,) = self.container["volumeMounts"]
        (claim,) = self.set["spec"]["volumeClaimTemplates"]
        self.assertEqual((mount["name"], mount["mountPath"]), (claim["metadata"]["name"], HOME))

    def test_acknowledged_jobs_are_kept_and_one_pod_has_the_volume(self):
        args = self.container["args"]
        self.assertEqual(args[args.index("-f") + 1], "0")
        (claim,) = self.set["spec"]["volumeClaimTemplates"]
        self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteOncePod"])

    def test_puts_are_refused_before_the_kernel_ends_the_server(self):
        args = self.container["args"]
        most = args[args.index("--memory-max") + 1]
        limit = self.container["resources"]["limits"]["memory"]
        self.assertEqual((most[-1], limit[-2:]), ("m", "Gi"))
        self.assertLess(int(most[:-1]), 0.8 * 1024 * int(limit[:-2]))

    def test_a_silent_node_loses_the_pod_soon(self):
        tolerated = {each["key"]: each["tolerationSeconds"] for each in self.pod["spec"]["tolerations"]}
        for word in ("unreachable", "not-ready"):
            self.assertLess(tolerated[f"node.kubernetes.io/{word}"], 300)

    def test_it_runs_as_the_images_user_and_may_write_its_volume(self):
        context = self.pod["spec"]["securityContext"]
        self.assertEqual([context[key] for key in ("runAsUser", "runAsGroup", "fsGroup")], [USER] * 3)

    def test_the_probes_are_the_tool(self):
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(self.container[probe]["exec"]["command"], PING, probe)


    def test_the_console_has_its_probes_its_token_and_its_labels(self):
        pod = self.web["template"]
        (container,) = pod["spec"]["containers"]
        self.assertEqual((container["image"], container["command"]), (f"haricot:{VERSION}", ["/usr/bin/haricot", "web"]))
        self.check_console(container["args"])
        self.assertEqual(self.web["selector"]["matchLabels"], pod["metadata"]["labels"])
        self.assertEqual(self.web_service["selector"], pod["metadata"]["labels"])
        (port,) = container["ports"]
        self.assertEqual(pod["metadata"]["annotations"]["prometheus.io/port"], str(port["containerPort"]))
        self.assertEqual(self.web_service["ports"][0]["targetPort"], port["name"])
        self.assertEqual(container["readinessProbe"]["httpGet"], {"path": "/readyz", "port": port["name"]})
        self.assertEqual(container["livenessProbe"]["httpGet"], {"path": "/healthz", "port": port["name"]})
        (mount,), (volume,) = container["volumeMounts"], pod["spec"]["volumes"]
        self.assertIn(f"{mount['mountPath']}/token", container["args"])
        self.assertEqual(volume["secret"]["defaultMode"] & 0o007, 0, "the program refuses what all may read")

    def test_workers_are_scaled_by_the_queue(self):
        scaled, limited = documents("keda.yaml")
        (trigger,) = scaled["spec"]["triggers"]
        self.assertEqual(trigger["type"], "beanstalkd")
        self.assertEqual(trigger["metadata"]["server"], f"beanstalk:{PORT}")
        (of_limited,) = limited["spec"]["triggers"]
        self.assertEqual(of_limited["type"], "prometheus")
        for name in re.findall(r"beanstalkd_\w+", of_limited["metadata"]["query"]):
            self.assertIn(f"`{name}`", (PROJECT / "docs/web.md").read_text(encoding="utf-8"))
        # KEDA requires strings, not numbers.
        for metadata in (trigger["metadata"], of_limited["metadata"]):
            self.assertTrue(all(isinstance(value, str) for value in metadata.values()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
