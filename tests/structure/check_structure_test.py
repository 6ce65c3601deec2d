#!/usr/bin/env python3
"""Tests that check_structure.py finds violations, and reports nothing else."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import check_structure as checker


def findings(path, *lines):
    return checker.check_file(path, "\n".join(lines) + "\n")


class Includes(unittest.TestCase):
    def allowed(self, path, *lines):
        self.assertEqual(findings(path, *lines), [])

    def refused(self, path, line, word):
        found = findings(path, line)
        self.assertEqual(len(found), 1, found)
        self.assertIn(f"{path}:1: ", found[0])
        self.assertIn(word, found[0])

    def test_a_layer_may_include_itself_and_lower_layers(self):
        self.allowed("src/base/x.cpp", '#include "haricot/base/time.hpp"')
        self.allowed("src/queue/x.cpp", '#include "haricot/base/time.hpp"', "#include <vector>")
        self.allowed("src/service/x.cpp", '#include "haricot/queue/engine.hpp"')
        self.allowed("src/service/x.cpp", '#include "haricot/protocol/reply.hpp"')
        self.allowed("src/os/x.cpp", '#include "haricot/service/service.hpp"', "#include <unistd.h>")
        self.allowed("src/main.cpp", '#include "os/daemon.hpp"', "#include <unistd.h>")
        self.allowed("src/tool/top/x.cpp", '#include "tool/top/y.hpp"', '#include "os/clock.hpp"')
        self.allowed("src/haricot.cpp", '#include "tool/cli/subcommand.hpp"', "#include <unistd.h>")

    def test_no_layer_may_include_a_higher_layer(self):
        self.refused("src/base/x.cpp", '#include "haricot/queue/job.hpp"', "may not include")
        self.refused("src/queue/x.cpp", '#include "haricot/service/service.hpp"', "may not include")
        self.refused("src/queue/x.cpp", '  #  include "os/clock.hpp"', "may not include")
        self.refused("src/service/x.cpp", '#include "os/clock.hpp"', "may not include")
        self.refused("src/os/x.cpp", '#include "tool/cli/flags.hpp"', "may not include")
        self.refused("src/service/x.cpp", '#include "tool/cli/flags.hpp"', "may not include")
        self.refused("src/binlog/x.cpp", '#include "haricot/service/session.hpp"', "may not include")

    def test_queue_and_protocol_do_not_include_each_other(self):
        self.refused("src/queue/x.cpp", '#include "haricot/protocol/reply.hpp"', "may not include")
        self.refused("src/protocol/x.cpp", '#include "haricot/queue/job.hpp"', "may not include")

    def test_a_part_of_the_binlog_includes_only_lower_parts(self):
        self.allowed("src/binlog/write/compaction.cpp", '#include "haricot/binlog/write/compaction.hpp"',
                     '#include "haricot/binlog/write/room_ahead.hpp"', '#include "haricot/binlog/format/record.hpp"')
        self.allowed("src/binlog/write/record_stream.cpp", '#include "haricot/binlog/write/record_stream.hpp"')
        self.allowed("src/binlog/binlog.cpp", '#include "haricot/binlog/binlog.hpp"',
                     '#include "haricot/binlog/write/recovery.hpp"')
        self.refused("src/binlog/write/record_stream.cpp", '#include "haricot/binlog/write/room_ahead.hpp"',
                     "may not include")
        self.refused("src/binlog/write/room_ahead.cpp", '#include "haricot/binlog/write/compaction.hpp"',
                     "may not include")
        self.refused("src/binlog/write/compaction.cpp", '#include "haricot/binlog/write/recovery.hpp"',
                     "may not include")
        self.refused("src/binlog/write/recovery.cpp", '#include "haricot/binlog/binlog.hpp"', "may not include")

    def test_a_folder_of_the_binlog_includes_only_lower_folders(self):
        self.allowed("src/binlog/read/x.cpp", '#include "haricot/binlog/read/replay.hpp"',
                     '#include "haricot/binlog/format/record.hpp"', '#include "haricot/binlog/disk.hpp"')
        self.allowed("src/binlog/folder_run.cpp", '#include "haricot/binlog/read/replay.hpp"',
                     '#include "haricot/binlog/write/quarantine.hpp"')
        self.refused("src/binlog/read/x.cpp", '#include "haricot/binlog/write/spares.hpp"', "may not include")
        self.refused("src/binlog/write/x.cpp", '#include "haricot/binlog/read/file_scan.hpp"', "may not include")
        self.refused("src/binlog/format/x.cpp", '#include "haricot/binlog/disk.hpp"', "may not include")
        self.refused("src/binlog/read/x.cpp", '#include "haricot/binlog/folder_run.hpp"', "may not include")
        self.refused("src/binlog/segments.cpp", '#include "haricot/binlog/read/file_scan.hpp"', "may not include")
        self.assertEqual(findings("src/binlog/attic/x.cpp", "#include <vector>"),
                         ["src/binlog/attic/x.cpp: is in no folder of the binlog"])

    def test_a_part_of_the_engine_includes_only_lower_parts(self):
        self.allowed("src/queue/watching.cpp", '#include "haricot/queue/watching.hpp"',
                     '#include "haricot/queue/watch_index.hpp"')
        self.allowed("src/queue/engine_invariants.cpp", '#include "haricot/queue/engine.hpp"',
                     '#include "haricot/queue/places.hpp"')
        self.refused("src/queue/lanes.cpp", '#include "haricot/queue/places.hpp"', "may not include")
        self.refused("src/queue/backlog_deletions.cpp", '#include "haricot/queue/engine.hpp"',
                     "may not include")

    def test_a_front_includes_only_listed_parts(self):
        self.allowed("include/haricot/queue/engine.hpp", "#pragma once", '#include "haricot/queue/groups.hpp"',
                     '#include "haricot/queue/tube.hpp"', '#include "haricot/base/time.hpp"')
        self.refused("include/haricot/queue/engine.hpp", '#include "haricot/queue/new_part.hpp"\n#pragma once\n',
                     "is in neither PARTS nor NO_PARTS")
        self.refused("include/haricot/binlog/binlog.hpp", '#include "haricot/binlog/write/new_part.hpp"\n#pragma once\n',
                     "is in neither PARTS nor NO_PARTS")

    def test_a_node_of_a_session_is_used_by_its_part_only(self):
        self.allowed("src/service/outbox.cpp", "session.send.until = records;", "session.stop(why);")
        self.allowed("src/service/service_serializer.cpp", "to.value(session.requests.peer);")
        self.allowed("src/service/idle_watch.cpp", "sessions_.front().idle.active = now;")
        self.allowed("src/service/service.cpp", "service.sent(session);  // As session.send says.")
        self.refused("src/service/service.cpp", "session.send.until = records;", "belongs to outbox")
        self.refused("src/service/outbox.cpp", "CHECK(!session->list);", "belongs to long_lists")
        self.refused("src/os/daemon.cpp", "connection.session().requests.input.clear();",
                     "belongs to requests")

    def test_headers_are_checked_like_sources(self):
        found = findings("include/haricot/base/x.hpp", "#pragma once",
                         '#include "haricot/queue/job.hpp"')
        self.assertEqual(len(found), 1, found)

    def test_the_operating_system_is_included_by_its_layer_only(self):
        for header in ("unistd.h", "sys/socket.h", "fcntl.h", "netdb.h", "netinet/in.h", "poll.h",
                       "signal.h", "csignal", "pthread.h", "thread", "mutex", "chrono", "ctime",
                       "time.h", "sys/epoll.h", "atomic", "filesystem", "dirent.h"):
            for layer in ("base", "queue", "protocol", "binlog", "service"):
                self.refused(f"src/{layer}/x.cpp", f"#include <{header}>", "belongs to src/os")
            for folder in ("os", "tool/client"):
                self.allowed(f"src/{folder}/x.cpp", f"#include <{header}>")

    def test_the_wall_clock_is_read_in_one_place_only(self):
        for line in ("::clock_gettime(CLOCK_REALTIME, &now);", "x = time(nullptr);"):
            self.assertEqual(findings("src/os/daemon.cpp", line),
                             ["src/os/daemon.cpp: reads the wall clock"])
            self.allowed("src/os/process.cpp", line)
        self.allowed("src/os/daemon.cpp", "::clock_gettime(CLOCK_MONOTONIC, &now);")

    def test_iostreams_are_included_nowhere(self):
        for header in ("iostream", "fstream", "sstream", "iomanip"):
            self.refused("src/os/x.cpp", f"#include <{header}>", "not used here")
            self.refused("src/base/x.cpp", f"#include <{header}>", "not used here")

    def test_ordinary_headers_are_included_anywhere(self):
        for header in ("cstdint", "string", "vector", "algorithm", "cstring", "compare"):
            self.allowed("src/base/x.cpp", f"#include <{header}>")

    def test_a_file_outside_the_layers_is_reported(self):
        self.refused("src/base/x.cpp", '#include "x.hpp"', "no layer")
        self.refused("src/base/x.cpp", '#include "haricot/nowhere/x.hpp"', "no layer")
        self.assertIn("no layer", findings("src/nowhere/x.cpp", "")[0])
        self.assertIn("no layer", findings("src/x.cpp", "")[0])

    def test_a_source_includes_its_own_header_first(self):
        self.allowed("src/base/x.cpp", '#include "haricot/base/x.hpp"', '#include "haricot/base/a.hpp"')
        found = findings("src/base/x.cpp", '#include "haricot/base/a.hpp"',
                         '#include "haricot/base/x.hpp"')
        self.assertIn("before its own header", found[0])
        for folder in ("os", "tool/cli"):
            found = findings(f"src/{folder}/x.cpp", f'#include "{folder}/a.hpp"',
                             f'#include "{folder}/x.hpp"')
            self.assertIn("before its own header", found[0])

    def test_a_folder_of_the_tool_follows_its_row(self):
        self.allowed("src/tool/client/x.cpp", '#include "tool/cli/flags.hpp"', '#include "os/clock.hpp"')
        self.allowed("src/tool/binlog/x.cpp", '#include "haricot/queue/engine.hpp"')
        for folder, name in (("client", "tool/commands/x.hpp"), ("cli", "tool/client/x.hpp"),
                           ("top", "tool/bench/x.hpp"), ("cli", "os/clock.hpp"),
                           ("commands", "haricot/queue/engine.hpp"), ("client", "tool/x.hpp"),
                           ("binlog", "haricot/service/service.hpp")):
            self.refused(f"src/tool/{folder}/x.cpp", f'#include "{name}"', f"tool/{folder} may not include")

    def test_the_folders_have_no_cycle(self):
        known = set()
        for folder, (others, layers) in checker.FOLDERS.items():
            self.assertLessEqual(others, known, folder)
            self.assertLessEqual(layers, checker.LAYERS["tool"], folder)
            known.add(folder)

    def test_a_folder_of_the_web_follows_its_row(self):
        self.allowed("src/web/serve/x.cpp", '#include "web/http/request.hpp"', '#include "os/poller.hpp"',
                     "#include <unistd.h>")
        self.allowed("src/web/api/x.cpp", '#include "web/observe/x.hpp"', '#include "tool/client/stats_text.hpp"')
        self.allowed("src/web/web.cpp", '#include "web/serve/x.hpp"', '#include "web/api/x.hpp"')
        for folder, name in (("http", "web/serve/x.hpp"), ("observe", "web/http/x.hpp"), ("api", "web/serve/x.hpp"),
                             ("serve", "web/observe/x.hpp"), ("page", "web/observe/x.hpp"), ("http", "os/clock.hpp"),
                             ("serve", "tool/client/x.hpp"), ("api", "tool/top/x.hpp"), ("http", "web/x.hpp")):
            self.refused(f"src/web/{folder}/x.cpp", f'#include "{name}"', f"web/{folder} may not include")
        self.refused("src/web/api/x.cpp", '#include "haricot/queue/engine.hpp"', "web may not include")
        self.refused("src/tool/cli/x.cpp", '#include "web/http/request.hpp"', "may not include")
        self.refused("src/web/http/x.cpp", "#include <unistd.h>", "belongs to web/serve")
        for path in ("src/web/x.cpp", "src/web/attic/x.cpp", "src/web/http/deep/x.cpp"):
            self.assertEqual(findings(path, ""), [f"{path}: is in no folder of haricot web"])

    def test_the_folders_of_the_web_have_no_cycle(self):
        known = set()
        for folder, (others, layers, tools) in checker.WEB_FOLDERS.items():
            self.assertLessEqual(others, known, folder)
            self.assertLessEqual(layers, checker.LAYERS["web"], folder)
            self.assertLessEqual(tools, set(checker.FOLDERS), folder)
            known.add(folder)

    def test_a_file_outside_the_folders_is_reported(self):
        for path in ("src/tool/x.cpp", "src/tool/attic/x.cpp", "src/tool/cli/deep/x.cpp"):
            self.assertEqual(findings(path, ""), [f"{path}: is in no folder of the tool"])


class Files(unittest.TestCase):
    def test_a_long_file_is_reported(self):
        self.assertEqual(findings("src/base/x.cpp", *["//"] * checker.LINES_MAX), [])
        self.assertIn(f"{checker.LINES_MAX + 1} lines", findings("src/base/x.cpp", *["//"] * (checker.LINES_MAX + 1))[0])
        self.assertIn(f"{checker.LINES_MAX + 1} lines", checker.check_lengths("tests/base/x_test.cpp", "//\n" * (checker.LINES_MAX + 1))[0])

    def test_a_long_function_is_reported(self):
        for begin, end, name in (("int Type::act(int x) {", "}", "Type::act has"),
                                 ("Reply act(const Client& client,\n          int x) {", "}", "act has"),
                                 ("  void act() const {", "  }", "act has"),
                                 ("TEST_F(Suite, Fact) {", "}", "Suite.Fact has")):
            most = checker.FUNCTION_LINES_MAX - begin.count("\n") - 2
            body = "        call();\n"
            self.assertEqual(checker.check_lengths("src/base/x.cpp", f"{begin}\n{body * most}{end}\n"), [])
            found = checker.check_lengths("src/base/x.cpp", f"int y;\n{begin}\n{body * (most + 1)}{end}\n")
            self.assertEqual(len(found), 1, begin)
            self.assertIn(f"src/base/x.cpp:2: {name} 61 lines", found[0])

    def test_other_long_blocks_are_not_functions(self):
        for begin, end in (("namespace haricot {", "}  // namespace haricot"), ("struct Row {", "};"),
                           ("constexpr Row kRows[] = {", "};"), ("  switch (kind(x)) {", "  }")):
            text = begin + "\n" + "        call(),\n" * 100 + end + "\n"
            self.assertEqual(checker.check_lengths("src/base/x.cpp", text), [], begin)

    def test_a_row_of_long_functions_needs_one(self):
        with tempfile.TemporaryDirectory() as folder:
            found = checker.check_reasons(pathlib.Path(folder))
        self.assertEqual(len(found), len(checker.LONG_FUNCTIONS))
        self.assertIn("is not a long function", found[0])

    def test_a_header_without_its_guard_is_reported(self):
        self.assertIn("pragma once", findings("include/haricot/base/x.hpp", "int x;")[0])

    def test_a_vague_name_is_reported(self):
        self.assertIn("vague name", findings("src/base/util.cpp", "")[0])

    def test_a_public_header_of_an_outer_layer_is_reported(self):
        for layer in ("os", "tool"):
            found = findings(f"include/haricot/{layer}/x.hpp", "#pragma once")
            self.assertIn("beside their sources", found[0])


class Tests(unittest.TestCase):
    def test_a_header_without_a_test_is_reported(self):
        self.assertEqual(checker.check_tests(["base/x.hpp"], {"base/x_test.cpp"}), [])
        self.assertIn("base/x_test.cpp", checker.check_tests(["base/x.hpp"], {"queue/x_test.cpp"})[0])

    def test_an_unneeded_exception_is_reported(self):
        self.assertEqual(checker.check_tests(["queue/client.hpp"], set()), [])
        found = checker.check_tests(["queue/client.hpp"], {"queue/client_test.cpp"})
        self.assertIn("has a test", found[0])


class FoldersOfTests(unittest.TestCase):
    FOLDERS = {"base", "queue", "os", "fuzz", "damage", "support"}

    def check(self, path, *lines):
        return checker.check_test_file(path, "\n".join(lines) + "\n", self.FOLDERS)

    def test_a_test_may_include_its_own_folder_and_shared_code(self):
        self.assertEqual(self.check("tests/queue/x_test.cpp", '#include "queue/x.hpp"', '#include "y.hpp"',
                                    '#include "support/random.hpp"', '#include "haricot/queue/engine.hpp"',
                                    '#include "os/clock.hpp"'), [])
        self.assertEqual(self.check("tests/damage/x_test.cpp", '#include "fuzz/x.hpp"'), [])

    def test_an_include_of_another_folder_is_reported(self):
        for name in ("base/x.hpp", "fuzz/x.hpp", "../base/x.hpp"):
            self.assertIn("another folder", self.check("tests/queue/x_test.cpp", f'#include "{name}"')[0])

    def test_a_list_of_the_build_names_its_own_files(self):
        self.assertEqual(self.check("tests/queue/CMakeLists.txt", "add_executable(x x_test.cpp)"), [])
        self.assertEqual(self.check("tests/queue/CMakeLists.txt", "add_executable(x", "  ../base/x.cpp)"),
                         ["tests/queue/CMakeLists.txt:2: names a file of another folder"])


class Trees(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            # LONG_FUNCTIONS has functions of the real tree.
            with (contextlib.redirect_stdout(io.StringIO()) as output,
                  unittest.mock.patch.dict(checker.LONG_FUNCTIONS, clear=True)):
                status = checker.main(["check_structure.py", folder])
            return status, output.getvalue()

    GOOD = {
        "include/haricot/base/x.hpp": "#pragma once\n",
        "src/base/x.cpp": '#include "haricot/base/x.hpp"\n',
        "tests/base/x_test.cpp": "\n",
    }

    def test_a_good_tree_passes(self):
        self.assertEqual(self.run_on(self.GOOD), (0, ""))

    def test_one_bad_line_in_a_tree_fails_it(self):
        bad = dict(self.GOOD)
        bad["src/base/x.cpp"] += "#include <unistd.h>\n"
        self.assertEqual(self.run_on(bad), (1, "src/base/x.cpp:2: <unistd.h> belongs to src/os\n"))

    def test_an_empty_tree_fails(self):
        status, output = self.run_on({})
        self.assertEqual(status, 1)
        self.assertIn("no headers or no tests", output)


if __name__ == "__main__":
    unittest.main()
