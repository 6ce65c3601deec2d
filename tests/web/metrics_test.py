#!/usr/bin/env python3
"""Tests the metrics of `haricot web` with a server: metrics_test.py HARICOT SERVER [FLAG...]."""

import re
import unittest

from watch_case import BINARY, FLAGS, Scripted, Server, Web, WatchTest, wait_until

# The metrics of messagebird's beanstalkd_exporter for beanstalkd 1.12: a gauge for each key of `stats` except hostname,
# id and pid, and one with the prefix tube_ for each key of `stats-tube` except name.
EXPORTER_NAMES = """
current_jobs_urgent current_jobs_ready current_jobs_reserved current_jobs_delayed current_jobs_buried
cmd_put cmd_peek cmd_peek_ready cmd_peek_delayed cmd_peek_buried cmd_reserve cmd_reserve_with_timeout
cmd_delete cmd_release cmd_use cmd_watch cmd_ignore cmd_bury cmd_kick cmd_touch cmd_stats cmd_stats_job
cmd_stats_tube cmd_list_tubes cmd_list_tube_used cmd_list_tubes_watched cmd_pause_tube job_timeouts
total_jobs max_job_size current_tubes current_connections current_producers current_workers
current_waiting total_connections version rusage_utime rusage_stime uptime binlog_oldest_index
binlog_current_index binlog_records_migrated binlog_records_written binlog_max_size draining
tube_current_jobs_urgent tube_current_jobs_ready tube_current_jobs_reserved tube_current_jobs_delayed
tube_current_jobs_buried tube_total_jobs tube_current_using tube_current_watching tube_current_waiting
tube_cmd_delete tube_cmd_pause_tube tube_pause tube_pause_time_left
""".split()


def samples(text):
    """Returns {"name{labels}": value}."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        series, _, value = line.rpartition(" ")
        if series in found:
            raise AssertionError(f"{series} comes twice")
        found[series] = float(value)
    return found


class Metrics(WatchTest):
    WORDS = ["--interval", "0.2", "--tube-label", "emails-[0-9]+=emails"]

    def metrics(self, path="/metrics", **parameters):
        return samples(self.web.text(path, **parameters))

    def wait_metric(self, series, value, path="/metrics", **parameters):
        wait_until(lambda: self.metrics(path, **parameters).get(series) == value,
                   lambda: f"{series} is {self.metrics(path, **parameters).get(series)}")

    def of(self, name, **labels):
        more = "".join(f',{key}="{value}"' for key, value in labels.items())
        return f'{name}{{server="{self.name}"{more}}}'

    @staticmethod
    def ready(found):
        return sum(value for series, value in found.items()
                   if series.startswith("beanstalkd_tube_current_jobs{") and 'state="ready"' in series)

    def test_a_server_is_summed(self):
        for i in range(3):
            self.server.put("x", f"tube-{i}", priority=0)
        self.server.put("x", "tube-1", delay=1000)
        self.wait_metric(self.of("beanstalkd_jobs_total"), 4)
        found = self.metrics()
        self.assertEqual(found[self.of("beanstalkd_up")], 1)
        self.assertEqual(found[self.of("beanstalkd_current_jobs", state="ready")], 3)
        self.assertEqual(found[self.of("beanstalkd_current_jobs", state="delayed")], 1)
        self.assertEqual(found[self.of("beanstalkd_current_urgent_jobs")], 3)
        self.assertEqual(found[self.of("beanstalkd_commands_total", command="put")], 4)
        self.assertEqual(found[self.of("beanstalkd_draining")], 0)
        self.assertEqual(found[self.of("beanstalkd_max_job_size_bytes")], 65535)
        self.assertLess(found[self.of("beanstalkd_sample_age_seconds")], 30)
        self.assertFalse([series for series in found if "tube=" in series])

    def test_a_server_that_is_down_has_only_that(self):
        self.server.stop()
        self.wait_metric(self.of("beanstalkd_up"), 0)
        own = [series for series in self.metrics() if self.name in series]
        self.assertEqual(sorted(name.partition("{")[0] for name in own),
                         ["beanstalkd_sample_age_seconds", "beanstalkd_up"])

    def test_tubes_come_where_they_are_asked_for_and_go(self):
        self.server.put("x", "mail")
        self.server.put("x", "emails-1")
        self.server.put("x", "emails-22")
        self.server.put("x", "emails-x")
        ready = self.of("beanstalkd_tube_current_jobs", tube="mail", state="ready")
        # A sample that has the last job has the others.
        last = self.of("beanstalkd_tube_current_jobs", tube="emails-x", state="ready")
        self.wait_metric(last, 1, "/metrics/tubes")
        found = self.metrics("/metrics/tubes")
        self.assertEqual(found[self.of("beanstalkd_tube_current_jobs", tube="emails", state="ready")], 2)
        self.assertEqual(found[self.of("beanstalkd_tube_jobs_total", tube="emails")], 2)
        self.assertEqual(found[ready], 1)
        self.assertEqual(self.of("beanstalkd_tube_oldest_ready_seconds", tube="mail") in found, self.is_haricot)
        self.assertEqual(found[self.of("beanstalkd_tubes_left_out")], 0)
        some = self.metrics("/metrics/tubes", match="mai.")
        self.assertIn(ready, some)
        self.assertFalse([series for series in some if "default" in series])
        self.server.ask("delete 1")
        wait_until(lambda: ready not in self.metrics("/metrics/tubes"))

    def test_a_label_counts_on_when_a_tube_goes(self):
        self.server.put("x", "emails-1")
        total = self.of("beanstalkd_tube_jobs_total", tube="emails")
        self.wait_metric(total, 1, "/metrics/tubes")
        self.server.ask("delete 1")
        self.server.put("x", "emails-2")
        self.wait_metric(total, 2, "/metrics/tubes")

    def test_a_thousand_tubes_are_series_and_the_rest_is_one(self):
        lines = []
        for i in range(1500):
            lines += [f"use t-{i}", "put 5 0 60 1", "x"]
        self.server.ask(*lines)
        rest = self.of("beanstalkd_tube_current_jobs", tube="*", state="ready")
        wait_until(lambda: rest in self.metrics("/metrics/tubes"))
        # A sample may have the last tube without its job.
        wait_until(lambda: self.ready(self.metrics("/metrics/tubes")) == 1500)
        found = self.metrics("/metrics/tubes")
        self.assertEqual(found[self.of("beanstalkd_tubes_left_out")], 501)
        tubes = {re.search('tube="([^"]*)"', series).group(1) for series in found if "tube=" in series}
        self.assertEqual(len(tubes), 1001)
        self.assertNotIn(self.of("beanstalkd_tube_jobs_total", tube="*"), found)

    def test_the_names_of_the_exporter(self):
        self.server.put("x", "mail")
        tube = f'tube_current_jobs_ready{{instance="{self.name}",tube="mail"}}'
        self.wait_metric(tube, 1, names="exporter")
        self.wait_metric(f'current_jobs_ready{{instance="{self.name}"}}', 1, names="exporter")
        found = self.metrics(names="exporter")
        names = {series.partition("{")[0] for series in found}
        self.assertEqual(set(EXPORTER_NAMES) - names, set())
        self.assertEqual(found[f'version{{instance="{self.name}"}}'], float(self.server.stat("version")[:4]))
        self.assertFalse({"id", "pid", "hostname", "tube_name"} & names)
        self.assertEqual(self.web.fetch("/metrics", names="other")[0], 400)

    def test_probes_need_no_token_and_nothing_else(self):
        with Server(BINARY, *FLAGS) as other:
            with Web("--probe-target", other.address, self.name) as web:
                web.wait_ready()
                wait_until(lambda: f'beanstalkd_up{{server="{other.address}"}} 1'
                           in web.text("/probe", target=other.address))
                self.assertIn(f'beanstalkd_up{{server="{self.name}"}} 1', web.text("/probe", target=self.name))
                self.assertNotIn(other.address, web.text("/metrics"))
                self.assertNotIn(other.address, web.text("/api/servers"))
                self.assertEqual(web.fetch("/probe", target="127.0.0.1:22")[0], 403)
                self.assertEqual(web.fetch("/probe")[0], 400)

    def test_a_tube_with_the_name_of_a_label_is_one_of_its_tubes(self):
        self.server.put("x", "emails")
        self.server.put("x", "emails-1")
        self.wait_metric(self.of("beanstalkd_tube_current_jobs", tube="emails", state="ready"), 2, "/metrics/tubes")
        self.wait_metric(f'tube_current_jobs_ready{{instance="{self.name}",tube="emails"}}', 2, names="exporter")

    def test_hostile_patterns_take_no_memory(self):
        lines = []
        for i in range(400):
            lines += [f"use {i:03}-" + "0123456789" * 19, "put 5 0 60 1", "x"]
        self.server.ask(*lines)
        wait_until(lambda: "beanstalkd_tube_jobs" in self.web.text("/metrics/tubes", match="399-.*"))
        before = self.web.memory_kb()
        for pattern in (".*[0-7]" + "." * 36, "(.*[0-7]){60}x", ".*[0-4]" + "." * 190, "(((.*)*)*)*x"):
            self.assertEqual(self.web.fetch("/metrics/tubes", match=pattern)[0], 200, pattern)
        if not self.web.is_sanitized():
            self.assertLess(self.web.memory_kb() - before, 16 * 1024)

    def test_other_sites_cannot_ask_for_a_scrape(self):
        for path in ("/metrics", "/metrics/tubes", "/metrics/tubes?match=a", f"/probe?target={self.name}"):
            for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
                self.assertEqual(self.web.fetch(path, headers={"Sec-Fetch-Site": site})[0], status, (path, site))

    def test_patterns_that_are_none_are_refused(self):
        for pattern in ("(", "a" * 201, "a{1000}", "", "(.*)*" * 41, "a**"):
            self.assertEqual(self.web.fetch("/metrics/tubes", match=pattern)[0], 400, pattern)


class Hostile(unittest.TestCase):
    """Tests a server with invalid statistics."""

    KEYS = ["a key", "<b>", "x\"y", "1st", "x" * 3000 + "{", "Big", "tab\there", "up_down"]

    def answer(self, line):
        if line != "stats":
            return b"UNKNOWN_COMMAND\r\n"
        lines = [f"{key}: 1" for key in self.KEYS] + [f"key-{i}: 1" for i in range(2000)]
        lines += ["current-jobs-ready: 3", 'version: "<b>\x1b[31m1.13\\\""', 'hostname: "caf\udce9\x1b[2J"']
        text = "---\n" + "\n".join(lines) + "\n"
        body = text.encode("utf-8", "surrogateescape")
        return b"OK %d\r\n%s\r\n" % (len(body), body)

    def test_no_answer_of_a_server_breaks_a_scrape(self):
        with Scripted(self.answer) as server, Web("--interval", "0.2", server.address) as web:
            wait_until(lambda: "beanstalkd_server_info" in web.text("/metrics"))
            for parameters in ({}, {"names": "exporter"}):
                text = web.text("/metrics", **parameters)
                self.assertFalse([c for c in text if ord(c) < 0x20 and c != "\n"])
                for series in samples(text):
                    self.assertRegex(series, r'^[a-z_][a-z0-9_]*(\{([a-z]+="([^"\\\n]|\\["\\n])*",?)+\})?$')
                self.assertLess(len(samples(text)), 600)
            self.assertIn("caf\ufffd", web.text("/metrics"))


if __name__ == "__main__":
    unittest.main()
