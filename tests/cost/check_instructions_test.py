#!/usr/bin/env python3
"""Shows that check_instructions.py sees a rise, and where to look for it."""

import sys
import unittest

sys.dont_write_bytecode = True

import check_instructions as checker


class Verdicts(unittest.TestCase):
    def test_a_rise_of_a_tenth_is_the_last_that_passes(self):
        self.assertIsNone(checker.verdict("load", "single", 1100, 1000))
        self.assertIsNone(checker.verdict("load", "single", 500, 1000))
        self.assertIsNotNone(checker.verdict("load", "single", 1101, 1000))

    def test_a_failure_says_how_to_look(self):
        text = checker.verdict("build/load", "batches", 1500, 1000)
        self.assertIn("50% more than the 1000", text)
        self.assertIn("--toggle-collect=counted_turns", text)
        self.assertIn("build/load batches", text)
        self.assertIn("callgrind_annotate", text)


class Figures(unittest.TestCase):
    def test_what_is_written_is_read_again_below_the_same_head(self):
        text = checker.write_figures("# head\nold single 1\n", {("new", "single"): 12.4})
        self.assertEqual(text, "# head\nnew single 12\n")
        self.assertEqual(checker.read_figures(text), {("new", "single"): 12})


if __name__ == "__main__":
    unittest.main()
