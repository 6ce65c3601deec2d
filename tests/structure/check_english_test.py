#!/usr/bin/env python3
"""Tests that check_english.py finds sentences in each kind of file, and that each rule finds violations."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import check_english

# A sentence that breaks each rule, in their order, and its correction.
SENTENCES = [
    ("What a client holds is counted here.", "Counts the jobs that a client holds."),
    ("Of a tube that is paused.", "Deadline of a paused tube."),
    ("Reads all files, but for the last one.", "Reads all files except the last one."),
    ("It tells the caller why.", "It reports the reason to the caller."),
    ("The scan goes on behind it.", "The scan continues behind it."),
    ("The server lets go of the lock.", "The server releases the lock."),
    ("Returns false if nobody waits.", "Returns false if no client waits."),
    ("A copy of what was read.", "A copy of the bytes that were read."),
    ("It sleeps for so long.", "It sleeps for that time."),
]


class English(unittest.TestCase):
    def test_each_rule_finds_its_sentence_only(self):
        broken = set()
        for bad, good in SENTENCES:
            broken.add(check_english.rule_broken_by(bad))
            self.assertIsNone(check_english.rule_broken_by(good), good)
        self.assertEqual(broken, {rule for rule, _ in check_english.RULES})

    def test_questions_may_begin_with_a_question_word(self):
        self.assertIsNone(check_english.rule_broken_by("Who holds the job?"))

    def texts(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.write_text(text, encoding="utf-8")
            return [tuple(found) for found in check_english.texts_of(path)]

    def test_comments_are_found(self):
        self.assertEqual(self.texts("a.cpp", "int a;  // Behind code.\n// A block\n// of lines.\nint b = \"// no\";\n"),
                         [(1, "Behind code."), (2, "A block of lines.")])
        self.assertEqual(self.texts("script", "#!/bin/sh\n# Of a script.\necho '# no'\n"), [(2, "Of a script.")])
        self.assertEqual(self.texts("data", "# Of no script.\n"), [])
        self.assertEqual(self.texts("a.py", 'x = 1\n\n"""Documents\n\nit."""\n# A comment.\n'),
                         [(6, "A comment."), (3, "Documents it.")])

    def test_pages_have_paragraphs_points_and_cells(self):
        self.assertEqual(self.texts("a.md", "# Head\n\nOne\nline.\n\n- Point\n  more.\n- Other.\n\n| a | b c |\n\n    code\n"),
                         [(3, "One line."), (6, "Point more."), (8, "Other."), (10, "a"), (10, "b c")])

    def test_a_tree_with_a_violation_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("src/a", "build/b", "src/later"):
                (root / name).mkdir(parents=True)
                (root / name / "a.cpp").write_text("// Closes the file.\n", encoding="utf-8")
            (root / "socket").symlink_to("nowhere")

            def check():
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    status = check_english.main([folder])
                return status, output.getvalue()

            self.assertEqual(check(), (0, ""))
            (root / "build/b/a.cpp").write_text("// Of no file.\n", encoding="utf-8")
            self.assertEqual(check(), (0, ""))
            (root / "src/later/a.cpp").write_text("// Of a file.\n", encoding="utf-8")
            self.assertEqual(check(), (1, "src/later/a.cpp:1: begin with the subject: Of a file.\n"))


if __name__ == "__main__":
    unittest.main()
