#!/usr/bin/env python3
"""Compares haricotd with beanstalkd and with the floor, and writes a report.

    measure.py --build DIR [--quick] [--only WORD] [--folder DIR] [--write DOCS]

scripts/bench calls it. In each round the servers take turns. Each load has a fresh server, pinned to one core, and runs
on another core. A figure is the median of its rounds.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import handovers
import loads
import memory
import report
import restarts
import stalls
from machine import STOLEN_SHARE_MAX, Others
import space
from rows import (BEANSTALKD, BINLOG_SCENARIOS, CPU, FLOOR, HARICOT, RATE, SCENARIOS, STORED_BYTES_MIN,
                  STORING)
from servers import Refused, Server, cores

BUSY_SHARE_MAX = 0.05
# The load that many ratios refer to is measured again after this number of other loads, so that a slower phase of the
# machine is not taken for a difference between loads.
REFERENCE_EVERY = 4


def log(text):
    print(f"-- {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Measurement:
    def __init__(self, options):
        self.tool = options.build / "haricot"
        self.binaries = {
            HARICOT: options.build / "haricotd",
            FLOOR: options.build / "bench" / "floor_server",
            STORING: options.build / "bench" / "floor_server",
            BEANSTALKD: pathlib.Path(shutil.which("beanstalkd") or "/usr/bin/beanstalkd"),
        }
        self.quick = options.quick
        self.seconds = 0.4 if options.quick else 1.0
        self.rounds = 2 if options.quick else 4
        self.folder = options.folder or options.build / "bench"
        self.samples = {}
        self.failures = []

    def run_once(self, scenario, server_name, *server_flags):
        """Runs one load against a fresh server, and stores the sample."""
        flags = list(scenario.flags)
        if not any("--warm-up" in flag for flag in flags) and self.quick:
            flags.append("--warm-up=2k")
        if server_name == STORING:
            server_flags = (*server_flags, "-s", str(STORED_BYTES_MIN))
        others = Others()
        with Server(self.binaries[server_name], *server_flags, *scenario.server_flags) as server:
            # --keep: the server ends afterwards, so its jobs need not be deleted.
            try:
                result = loads.run(self.tool, server, *flags, "--keep",
                                   f"--seconds={self.seconds * scenario.share:.3f}")
            except loads.Failed as failed:
                # Continues, because the other figures are still useful. The failure is reported at the end.
                self.failures.append(f"{server_name} {' '.join(server_flags)}: {failed}")
                log(f"FAILED: {self.failures[-1]}")
                return
        cost = result["server"]
        sample = {RATE: result["rate"], CPU: cost["cpu_us_per_command"],
                  "user": cost["user_us_per_command"], "system": cost["system_us_per_command"],
                  "p50": result["all"]["p50_us"], "p99": result["all"]["p99_us"],
                  "core": cost["core_share"], "client": result["client_core_share"],
                  "stolen": others.stolen()}
        self.samples.setdefault((scenario.key, server_name), []).append(sample)

    def compare(self, scenarios):
        for number in range(self.rounds):
            for at, scenario in enumerate(scenarios):
                log(f"round {number + 1} of {self.rounds}: {scenario.text}")
                again = at > 0 and at % REFERENCE_EVERY == 0
                for reference in (scenarios[:1] if again else ()):
                    for server_name in reference.servers:
                        self.run_once(reference, server_name)
                for server_name in scenario.servers:
                    self.run_once(scenario, server_name)

    def compare_binlogs(self):
        """Runs the loads with -b, each in a fresh folder. Returns a note for the report."""
        refusal = self.binlog_refusal()
        if refusal:
            log(f"skipping the binlog: {refusal}")
            return f"skipped, {refusal}"
        for number in range(2 if self.quick else 3):
            for scenario in BINLOG_SCENARIOS:
                log(f"round {number + 1}: binlog, {scenario.text}")
                sync = scenario.key.rpartition("-")[2]
                for server_name in scenario.servers:
                    with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                        self.run_once(scenario, server_name, "-b", folder, "-f", sync)
        return "in a fresh folder on " + filesystem_of(self.folder)

    def binlog_refusal(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            try:
                with Server(self.binaries[HARICOT], "-b", folder):
                    return ""
            except Refused as refused:
                return "haricotd failed: " + str(refused).splitlines()[-1]

    def medians(self):
        """Returns the medians of each cell. If little time was stolen in most of its rounds, only these count."""
        result = {}
        for cell, samples in self.samples.items():
            whole = [sample for sample in samples if sample["stolen"] <= STOLEN_SHARE_MAX]
            counted = whole if len(whole) > len(samples) / 2 else samples
            result[cell] = {metric: statistics.median(sample[metric] for sample in counted)
                            for metric in samples[0]}
        return result


def filesystem_of(folder):
    words = subprocess.run(["df", "--output=fstype", str(folder)], capture_output=True, text=True,
                           check=True).stdout.split()
    return words[-1]


def facts(measurement, busy, stolen, command):
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    versions = [subprocess.run([str(measurement.binaries[name]), "-v"], capture_output=True,
                               text=True).stdout.strip() for name in (HARICOT, BEANSTALKD)]
    server_core, load_core = cores()
    share = f"other programs used {busy:.1%} of it; {stolen:.1%} of its time was stolen"
    is_quiet = max(busy, stolen) <= BUSY_SHARE_MAX
    quiet = f"yes; {share}" if is_quiet else f"NO; {share}; these figures are provisional"
    congestion = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    return [
        ("date", datetime.date.today().isoformat()),
        ("machine", f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores, "
                    f"Linux {platform.release()}, TCP with {congestion}"),
        ("quiet", quiet),
        ("servers", "; ".join(versions)),
        ("cores", f"server on {server_core}, load on {load_core}"),
        ("rounds", f"{measurement.rounds} of {measurement.seconds:g} s each, in turns; if at most "
                   f"{STOLEN_SHARE_MAX:.0%} of the time was stolen in most of them, medians of these, otherwise of all"),
        ("command", f"`{command}`"),
        *(("FAILED", failure) for failure in measurement.failures),
        ("one run", "`haricotd -l 127.0.0.1 -p PORT`, `haricot bench --connections=16 --keep "
                    f"--seconds={measurement.seconds:g} --json --pid PID 127.0.0.1:PORT`"),
    ]


def parse_options():
    parser = argparse.ArgumentParser(description="Compares haricotd, beanstalkd and the floor.")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true", help="under two minutes, less exact")
    parser.add_argument("--only", default="loads,memory,stalls,binlog,restart",
                        help="some of loads,memory,stalls,binlog,restart; writes no documents")
    parser.add_argument("--folder", type=pathlib.Path, help="folder for the binlogs")
    parser.add_argument("--write", type=pathlib.Path, help="folder of the documents to update")
    options = parser.parse_args()
    options.build = options.build.resolve()
    return options


def main():
    options = parse_options()
    parts = set(options.only.split(","))
    measurement = Measurement(options)
    started = time.monotonic()
    others = Others()
    time.sleep(1)
    busy, _ = others.shares()
    if busy > BUSY_SHARE_MAX:
        log(f"other programs use {busy:.0%} of this machine: the figures will be provisional")
    if "loads" in parts:
        measurement.compare(SCENARIOS)
    figures = []
    if "memory" in parts:
        figures = list(memory.measure(measurement.tool, measurement.binaries[HARICOT],
                                      measurement.binaries[BEANSTALKD], options.quick, log))
    stalled = []
    if "stalls" in parts:
        stalled = list(stalls.measure(measurement.tool, measurement.binaries[HARICOT],
                                      options.quick, log))
    # Before the binlogs, because the kernel's time for writing them would count as others'.
    busy, stolen = others.shares()
    binlog_note, restarts_measured = "not measured", []
    if "binlog" in parts:
        binlog_note = measurement.compare_binlogs()
        restarts_measured = list(restarts.measure(measurement.tool, measurement.binaries[HARICOT],
                                                  measurement.binaries[BEANSTALKD],
                                                  measurement.folder, options.quick, log))
        restarts_measured += space.measure(measurement.binaries[HARICOT], measurement.folder,
                                           options.quick, log)
    if "restart" in parts:
        restarts_measured += handovers.measure(measurement.binaries[HARICOT], measurement.folder,
                                               options.quick, log)

    cells = measurement.medians()
    command = "scripts/bench" + (" --quick" if options.quick else "")
    result = report.Report(cells, figures, stalled, binlog_note, restarts_measured,
                           facts(measurement, busy, stolen, command))
    print(result.for_terminal())
    samples = {"/".join(cell): values for cell, values in measurement.samples.items()}
    (options.build / "bench" / "samples.json").write_text(json.dumps(samples, indent=1))
    if options.write and "loads" in parts:
        document = options.write / "performance.md"
        document.write_text(report.replace_section(document.read_text(), result.for_document()))
        for name, text in result.charts():
            (options.write / name).write_text(text)
        log(f"written: {document} and its chart")
    log(f"done after {time.monotonic() - started:.0f} s")
    return 1 if measurement.failures else 0


if __name__ == "__main__":
    sys.exit(main())
