#!/usr/bin/python3
"""Tests the metrics of `haricot web` with Prometheus: prometheus_test.py ROOT HARICOT HARICOTD.

Debian's promtool checks the metrics and the alerts, and runs the tests of the alerts. An OpenMetrics reader reads all
metrics. Debian's Prometheus scrapes them, and has to return each.
"""

import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

ROOT, TOOL, HARICOTD = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
sys.argv[1:] = [str(TOOL), str(HARICOTD)]
sys.path[:0] = [str(ROOT / "tests" / "web"), str(ROOT / "scripts" / "lib")]

import ports  # noqa: E402
from watch_case import Server, Web, wait_until  # noqa: E402

RULES = ROOT / "packaging" / "prometheus" / "beanstalkd.rules.yaml"
DASHBOARD = ROOT / "packaging" / "prometheus" / "beanstalkd-dashboard.json"
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}
PAGES = (("/metrics", {}), ("/metrics/tubes", {}), ("/metrics", {"names": "exporter"}))


def promtool(*words, text=None):
    done = subprocess.run(["promtool", *words], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()


def names_in(text):
    """Returns our metrics in an expression or a document."""
    return set(re.findall(r"\bbeanstalkd_[a-z0-9_]+", text))


class Prometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="haricot-prometheus-")
        cls.addClassCleanup(cls.folder.cleanup)
        binlog = pathlib.Path(cls.folder.name, "binlog")
        binlog.mkdir()
        # All flags that add keys.
        cls.server = Server(HARICOTD, "-b", str(binlog), "--memory-max", "1000000000", "--connections-max", "1000",
                            "--idle-timeout", "3600", "--tries-max", "9")
        cls.addClassCleanup(cls.server.__exit__)
        for tube in ("mail", "work"):
            for i in range(3):
                cls.server.put("x", tube, delay=i * 1000)
        cls.web = Web("--interval", "0.2", cls.server.address)
        cls.addClassCleanup(cls.web.__exit__)
        cls.web.wait_ready()
        wait_until(lambda: 'tube="mail"' in cls.web.text("/metrics/tubes"))

    def exported(self):
        names = set()
        for path, parameters in PAGES[:2]:
            for line in self.web.text(path, **parameters).splitlines():
                if not line.startswith("#"):
                    names.add(re.match("[a-z_]+", line).group(0))
        return names

    def test_promtool_finds_no_fault(self):
        for path, parameters in PAGES[:2]:
            status, printed = promtool("check", "metrics", text=self.web.text(path, **parameters).encode())
            self.assertEqual((status, printed), (0, ""), path)
        # The names of the exporter break promtool's rules, but promtool can read them.
        _, printed = promtool("check", "metrics", text=self.web.text("/metrics", names="exporter").encode())
        self.assertNotIn("error while", printed)

    def test_an_openmetrics_reader_reads_all(self):
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
        from prometheus_client.parser import text_string_to_metric_families as classic
        for path, parameters in PAGES:
            with self.subTest(path=path, **parameters):
                _, headers, text = self.web.fetch(path, headers=OPENMETRICS, **parameters)
                self.assertTrue(headers["Content-Type"].startswith("application/openmetrics-text"))
                families = list(openmetrics(text.decode()))
                self.assertEqual(len({family.name for family in families}), len(families))
                _, headers, text = self.web.fetch(path, **parameters)
                self.assertTrue(headers["Content-Type"].startswith("text/plain; version=0.0.4"))
                self.assertEqual(
                    {sample.name for family in classic(text.decode()) for sample in family.samples},
                    {sample.name for family in families for sample in family.samples})

    def test_the_alerts_are_good_and_come_when_they_should(self):
        status, printed = promtool("check", "rules", str(RULES))
        self.assertEqual(status, 0, printed)
        tests = (ROOT / "tests" / "web" / "prometheus" / "rules_test.yaml").read_text(encoding="utf-8")
        path = pathlib.Path(self.folder.name, "rules_test.yaml")
        path.write_text(tests.replace("RULES", str(RULES)), encoding="utf-8")
        status, printed = promtool("test", "rules", str(path))
        self.assertEqual(status, 0, printed)

    def test_the_page_of_the_manual_has_each_metric(self):
        manual = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
        documented = names_in(manual.partition("## Metrics")[2].partition("## What watching costs")[0])
        self.assertEqual(documented - {"beanstalkd_exporter"}, self.exported() - {"haricot_build_info"})

    def test_alerts_and_dashboard_name_metrics_that_there_are(self):
        exported = self.exported()
        self.assertGreater(len(exported), 50)
        self.assertEqual(names_in(RULES.read_text(encoding="utf-8")) - exported, set())
        dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        expressions += [each["query"] for each in dashboard["templating"]["list"]]
        self.assertEqual(names_in("\n".join(expressions)) - exported, set())
        for expression in expressions[:len(expressions) - 3]:
            tried = re.sub(r"\$__rate_interval", "5m", expression)
            status, printed = promtool("query", "instant", self.prometheus(), tried)
            self.assertEqual(status, 0, f"{expression}: {printed}")

    def test_prometheus_has_an_answer_for_each_metric(self):
        url = self.prometheus()
        for name in sorted(self.exported() - {"beanstalkd_tubes_left_out"}):
            wait_until(lambda name=name: self.query(url, name), f"Prometheus has no {name}")
        probe = f'beanstalkd_up{{server="{self.server.address}",job="probe"}}'
        wait_until(lambda: self.query(url, probe), "the probe has no answer")

    def query(self, url, expression):
        client = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        try:
            client.request("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
            return json.loads(client.getresponse().read())["data"]["result"]
        finally:
            client.close()

    @classmethod
    def prometheus(cls):
        """Starts Prometheus once. Returns its address."""
        if hasattr(cls, "url"):
            return cls.url
        cls.url = f"127.0.0.1:{ports.choose_port()}"
        scrape = "".join(
            f"  - job_name: {job}\n    metrics_path: {path}\n    params: {json.dumps(parameters)}\n"
            f"    static_configs: [{{targets: ['127.0.0.1:{cls.web.port}']}}]\n"
            for job, path, parameters in (("beanstalkd", "/metrics", {}), ("tubes", "/metrics/tubes", {}),
                                          ("probe", "/probe", {"target": [cls.server.address]})))
        config = pathlib.Path(cls.folder.name, "prometheus.yml")
        config.write_text(f"global:\n  scrape_interval: 1s\nrule_files: ['{RULES}']\nscrape_configs:\n{scrape}",
                          encoding="utf-8")
        log = pathlib.Path(cls.folder.name, "prometheus.log")
        with open(log, "wb") as output:
            process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={cls.folder.name}/data",
                 f"--web.listen-address={cls.url}"], stdout=output, stderr=output)

        def stop():
            process.terminate()
            process.wait(60)
        cls.addClassCleanup(stop)

        def is_up():
            if process.poll() is not None:
                raise AssertionError(log.read_text(encoding="utf-8"))
            client = http.client.HTTPConnection(cls.url, timeout=60)
            try:
                client.request("GET", "/-/ready")  # Prometheus listens before it is ready.
                return client.getresponse().status == 200
            except OSError:
                return False
            finally:
                client.close()
        wait_until(is_up)
        cls.url = "http://" + cls.url
        return cls.url


if __name__ == "__main__":
    unittest.main()
