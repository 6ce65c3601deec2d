#!/usr/bin/env python3
"""Tests of the report of scripts/bench.

    report_test.py ROOT
"""

import pathlib
import sys
import unittest
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "bench"))

import chart
import memory
import report
import rows
import stalls


def cell(cpu, rate):
    return {rows.CPU: cpu, rows.RATE: rate, "user": 1, "system": 1, "p50": 1, "p99": 1, "core": 1,
            "client": 1}


def cells(**costs):
    """Returns the cells of all scenarios and their servers, with these costs and the inverse rates."""
    return {(scenario.key, server): cell(costs.get(server, 1.0), 1e6 / costs.get(server, 1.0))
            for scenario in rows.SCENARIOS for server in scenario.servers}


def report_of(measured, figures=(), stalled=()):
    return report.Report(measured, figures, stalled, "not measured", [], [("date", "today")])


class Targets(unittest.TestCase):
    def test_limits_of_targets(self):
        at_most = rows.Target("", rows.CPU, ("a", "b"), ("c", "d"), 1.05)
        self.assertTrue(at_most.is_met(1.05))
        self.assertFalse(at_most.is_met(1.06))
        at_least = rows.Target("", rows.RATE, ("a", "b"), ("c", "d"), 25, True)
        self.assertTrue(at_least.is_met(25))
        self.assertFalse(at_least.is_met(24.9))

    def test_every_target_refers_to_measured_cells(self):
        measured = {(s.key, server) for s in (*rows.SCENARIOS, *rows.BINLOG_SCENARIOS)
                    for server in s.servers}
        for target in (*rows.TARGETS, *rows.BINLOG_TARGETS):
            self.assertIn(target.of, measured)
            self.assertIn(target.to, measured)

    def test_a_missed_target_is_marked(self):
        _, table = report_of(cells(haricotd=10, floor=9, beanstalkd=20)).target_table(rows.TARGETS)
        self.assertEqual(table[0][4:], ["1.11", "<= 1.05", "**no**"])
        self.assertEqual(table[1][4:], ["0.50", "<= 0.68", "yes"])
        self.assertEqual(table[2][4:], ["2.00", ">= 25", "**no**"])

    def test_a_target_without_a_measurement_has_no_row(self):
        _, table = report_of({}).target_table(rows.TARGETS)
        self.assertEqual(table, [])
        _, table = report_of(cells()).target_table(rows.BINLOG_TARGETS)
        self.assertEqual(table, [])

    def test_memory_and_stalls_have_their_limits(self):
        self.assertTrue(memory.Figure("", "", 180, 180).is_met)
        self.assertFalse(memory.Figure("", "", 180, 181).is_met)
        self.assertTrue(stalls.Stall("", 1, 6.9, 9, idle_max_ms=2).is_met)
        self.assertFalse(stalls.Stall("", 1, 7, 9, idle_max_ms=2).is_met)


class Documents(unittest.TestCase):
    def test_only_the_section_between_the_marks_is_replaced(self):
        section = report_of(cells()).for_document()
        document = f"before\n{report.BEGIN}\nold\n{report.END}\nbehind\n"
        written = report.replace_section(document, section)
        self.assertTrue(written.startswith(f"before\n{report.BEGIN}\n"))
        self.assertTrue(written.endswith(f"{report.END}\nbehind\n"))
        self.assertNotIn("old", written)
        self.assertEqual(report.replace_section(written, section), written)

    def test_one_table_has_all_measurements_with_targets(self):
        figures = [memory.Figure("a job", "bytes", 180, 181, 300)]
        stalled = [stalls.Stall("nothing", 1, 2, 3, idle_max_ms=2),
                   stalls.Stall("a kick", 1, 7, 9, idle_max_ms=2)]
        section = report_of(cells(), figures, stalled).for_document()
        self.assertEqual(section.count("\n|---"), 1)
        self.assertIn("| a job | 181.0 bytes | beanstalkd: 300.0 bytes | 0.60 | **missed:** <= 180 |", section)
        self.assertIn("| a kick | 7.00 ms | nothing: 2.00 ms |  | **missed:** < 5 ms more |", section)
        self.assertNotIn("| nothing |", section)

    def test_a_target_that_is_met_has_no_mark(self):
        section = report_of(cells(), [memory.Figure("a job", "bytes", 180, 179)]).for_document()
        self.assertIn("| a job | 179.0 bytes |  |  | <= 180 |", section)

    def test_a_target_names_the_compared_cell(self):
        measured = cells()
        for scenario in rows.BINLOG_SCENARIOS:
            measured |= {(scenario.key, server): cell(1, 1) for server in scenario.servers}
        section = report_of(measured).for_document()
        for compared in ("floor: ", "storing floor: ", "beanstalkd: ", "with -f 50: ",
                         "without: ", "500 on one tube: "):
            self.assertIn(f"| {compared}", section)

    def test_the_terminal_shows_all_cells(self):
        text = report_of(cells()).for_terminal()
        for scenario in rows.SCENARIOS:
            self.assertEqual(sum(line.startswith(scenario.text + " ") for line in text.splitlines()),
                             len(scenario.servers), scenario.text)

    def test_facts_are_wrapped_like_other_prose(self):
        facts = [("one run", "word " * 50)]
        section = report.Report(cells(), [], [], "", [], facts).for_document()
        prose = [line for line in section.splitlines() if not line.startswith("|")]
        self.assertLessEqual(max(map(len, prose)), report.PROSE_WIDTH)

    def test_a_document_without_marks_is_refused(self):
        with self.assertRaises(ValueError):
            report.replace_section("nothing here", "section")

    def test_the_chart_is_well_formed_and_its_bars_to_scale(self):
        texts = dict(report_of(cells(haricotd=2, beanstalkd=4)).charts())
        self.assertEqual(len(texts), 1)
        for text in texts.values():
            xml.fromstring(text)
        text = chart.bars("a < b", "us", [chart.Group("x & y", (("haricotd", 1), ("floor", 4)))], 1)
        bars = [float(element.get("width")) for element in xml.fromstring(text)
                if element.get("x") == str(chart.LABEL_WIDTH) and element.get("height") == "15"]
        self.assertEqual(len(bars), 2)
        self.assertAlmostEqual(bars[1], 4 * bars[0], delta=0.4)


if __name__ == "__main__":
    unittest.main()
