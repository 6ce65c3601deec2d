#!/usr/bin/env python3
"""Shows that check_rows.py names each list that lacks a row."""

import functools
import pathlib
import unittest

import check_rows as checker

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A row with a name of its own, for each table.
NEW_ROWS = {
    checker.COMMANDS: 'HARICOT_COMMAND(new_one, "new-one ", id, "", {set}, cheap, at_once,\n                "help")\n',
    checker.TAGS: 'HARICOT_TAG(new_one, "nwo", number(&JobTags::x, 9), none, NoNode, always,\n'
                  '            "new-one", "N", "help", "meaning")\n',
    checker.FLAGS: '    {{0, "new-one", "N", "help"}, &Parser::x},\n',
    checker.KEYS: '    Server::integer(\n        "new-one", [](const ServerFacts&) { return 1; }, "meaning"),\n',
}


@functools.cache
def read(path):
    return checker.read(ROOT, path)


def findings_with(table, row):
    return checker.check(lambda path: read(path) + (row if path == table else ""))


class Rows(unittest.TestCase):
    def test_the_tree_has_all_rows_in_all_lists(self):
        self.assertEqual(checker.check(read), [])

    def test_a_new_row_is_missed_in_each_list_of_its_kind(self):
        for table, row in NEW_ROWS.items():
            kinds = {kind for kind, (path, _) in checker.ROWS.items() if path == table}
            for own_set in ("standard", "extended", "operators") if table == checker.COMMANDS else (None,):
                wanted = sorted(checker.name_of(path) for kind, path, _, sets in checker.LISTS
                                if kind in kinds and (sets is None or own_set in sets))
                found = findings_with(table, row.replace("{set}", str(own_set)))
                self.assertEqual(sorted(finding.split(":")[0] for finding in found), wanted)
                self.assertTrue(wanted)
                for finding in found:
                    self.assertRegex(finding, rf"lacks the [a-z ]+ (new-one|nwo), which has a row in {table}$")

    def test_a_table_whose_rows_cannot_be_read_is_reported(self):
        found = checker.check(lambda path: "" if path == checker.TAGS else read(path))
        self.assertEqual([finding for finding in found if "only 0 rows" not in finding], [])
        self.assertEqual(len(found), 2)


if __name__ == "__main__":
    unittest.main()
