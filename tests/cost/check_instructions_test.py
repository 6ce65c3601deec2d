#!/usr/bin/env python3
"""Tests that check_instructions.py detects a rise, and prints how to find its cause."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True

import check_instructions as checker

LOAD = pathlib.Path("build/load")


class Verdicts(unittest.TestCase):
    def test_a_rise_of_a_tenth_passes(self):
        self.assertIsNone(checker.verdict(LOAD, "single", 1100, 1000))
        self.assertIsNone(checker.verdict("load", "single", 500, 1000))
        self.assertIsNotNone(checker.verdict(LOAD, "single", 1101, 1000))

    def test_a_failure_prints_how_to_find_the_cause(self):
        text = checker.verdict(LOAD, "batches", 1500, 1000)
        self.assertIn("50% more than the 1000", text)
        self.assertIn("--toggle-collect=counted_turns", text)
        self.assertIn("build/load batches", text)
        self.assertIn("callgrind_annotate", text)

    def test_a_start_has_its_own_program(self):
        self.assertIn("build/start_load start", checker.verdict(LOAD, "start", 1500, 1000))


class Figures(unittest.TestCase):
    def test_written_figures_keep_the_heading_and_can_be_read(self):
        text = checker.write_figures("# head\nold single 1\n", {("new", "single"): 12.4})
        self.assertEqual(text, "# head\nnew single 12\n")
        self.assertEqual(checker.read_figures(text), {("new", "single"): 12})


if __name__ == "__main__":
    unittest.main()
