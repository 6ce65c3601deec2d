#!/usr/bin/env python3
"""Tests that check_hardening.py detects each missing protection.

    check_hardening_test.py COMPILER

Builds small programs, each without one protection.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import check_hardening as checker

# Enough functions for the landing marks, and a buffer that the compiler and the C library check.
SOURCE = """
#include <cstdio>
#include <cstring>
template <int n> [[gnu::noinline, gnu::used]] int function(int x) { return x * n + 1; }
template <int... n> int (*table(int i))(int) {
  static int (*const all[])(int) = {function<n>...};
  return all[i % sizeof...(n)];
}
int main(int count, char** words) {
  char text[50];
  if (count > 1) strcpy(text, words[1]); else text[0] = 0;
  return table<0, %s>(count)(count) + std::printf("%%s", text);
}
"""
SOURCE = SOURCE.replace("%s>", ", ".join(map(str, range(1, 150))) + ">").replace("%%s", "%s")
COMPILER = sys.argv.pop(1)
FLAGS = ["-O2", "-fPIE", "-pie", "-fstack-protector-strong", "-fcf-protection=full", "-U_FORTIFY_SOURCE",
         "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now,-z,noexecstack"]


class Missing(unittest.TestCase):
    def findings(self, *more, without=()):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            flags = [flag for flag in FLAGS if flag not in without]
            words = [COMPILER, *flags, *more, "-x", "c++", "-", "-o", str(program)]
            subprocess.run(words, input=SOURCE, text=True, check=True)
            return " ".join(checker.check(checker.Binary(program)))

    def test_nothing_is_missing(self):
        self.assertEqual(self.findings(), "")

    def test_position(self):
        self.assertIn("position independent", self.findings("-fno-pie", "-no-pie"))

    def test_relocations(self):
        self.assertIn("RELRO", self.findings("-Wl,-z,norelro"))
        self.assertIn("BIND_NOW", self.findings("-Wl,-z,lazy"))

    def test_stack(self):
        self.assertIn("executable stack", self.findings("-Wl,-z,execstack"))

    def test_canary(self):
        self.assertIn("stack frames", self.findings("-fno-stack-protector"))

    def test_fortified(self):
        self.assertIn("checked function", self.findings(without=["-D_FORTIFY_SOURCE=2"]))

    def test_landing_marks(self):
        self.assertIn("marks", self.findings("-fcf-protection=none"))


if __name__ == "__main__":
    unittest.main()
