#!/usr/bin/env python3
"""Checks the includes of all files, and other rules for the tree as a whole.

    check_structure.py ROOT

Prints the violations, one in each line, and exits with 1 if there are any.
"""

import pathlib
import re
import sys

# A layer, and the layers that it may include beside itself.
LAYERS = {
    "base": set(),
    "queue": {"base"},
    "protocol": {"base"},
    "binlog": {"base", "queue", "protocol"},
    "service": {"base", "queue", "protocol", "binlog"},
    "os": {"base", "queue", "protocol", "binlog", "service"},
    "tool": {"base", "queue", "protocol", "binlog", "service", "os"},
    "web": {"base", "protocol", "os", "tool"},
}
# The folders of the tool: the folders that each may include beside itself, and the layers it may use.
FOLDERS = {
    "cli": (set(), {"base", "protocol"}),
    "client": ({"cli"}, {"base", "protocol", "os"}),
    "commands": ({"cli", "client"}, {"base", "protocol", "os"}),
    "bench": ({"cli", "client"}, {"base", "protocol", "os"}),
    "top": ({"cli", "client"}, {"base", "os"}),
    "work": ({"cli", "client"}, {"base", "protocol", "os"}),
    "binlog": ({"cli"}, {"base", "queue", "binlog", "os"}),
}
# The folders of `haricot web`: the folders that each may include beside itself, the layers it may use, and the folders
# of the tool. The subcommand, the files of src/web itself, may include all of them.
WEB_FOLDERS = {
    "http": (set(), {"base"}, set()),
    "observe": (set(), {"base", "protocol", "os"}, {"cli", "client"}),
    "history": ({"observe"}, {"base"}, {"client"}),
    "api": ({"http", "history", "observe"}, {"base", "protocol"}, {"cli", "client"}),
    "metrics": ({"http", "history", "observe"}, {"base", "protocol"}, {"cli", "client"}),
    "page": ({"http"}, {"base"}, set()),
    "serve": ({"http"}, {"base", "os"}, set()),
}
WEB_FRONT = {"web", "web_options", "web_run"}
# The folders of the binlog, and the folders that each may include beside itself. All may include the shared headers
# outside of the folders. The front and the run of a server, which reads and writes, may include all.
BINLOG_FOLDERS = {
    "format": set(),
    "read": {"format"},
    "write": {"format"},
}
BINLOG_FRONT = {"binlog", "folder_run"}
BINLOG_SHARED = {"binlog_state", "disk", "folder_note", "notices", "segments"}
# The parts of a front, and the parts that each may include. Only the front includes all. A header that the front
# includes is a part, unless NO_PARTS lists it.
PARTS = {
    "binlog": {
        "stream_state": set(),
        "record_syncs": {"stream_state"},
        "record_collector": {"stream_state", "record_syncs"},
        "file_sequence": {"stream_state", "record_syncs", "record_collector"},
        "record_stream": {"stream_state", "record_syncs", "record_collector", "file_sequence"},
        "room_ahead": {"record_stream"},
        "large_bodies": {"record_stream", "room_ahead"},
        "compaction": {"record_stream", "room_ahead", "large_bodies"},
        "folder_watch": {"record_stream"},
        "recovery": {"record_stream", "room_ahead", "large_bodies", "folder_watch"},
        "changes": {"record_stream", "room_ahead", "large_bodies", "compaction"},
        "folder_run": {"file_sequence", "record_stream", "room_ahead", "large_bodies", "folder_watch", "recovery",
                       "changes"},
    },
    "queue": {
        "queue_state": set(),
        "times": {"queue_state"},
        "flushes": {"queue_state"},
        "tries": {"queue_state", "flushes"},
        "lanes": {"queue_state", "flushes"},
        "keys": {"queue_state", "flushes"},
        "groups": set(),
        "job_memory": {"queue_state", "extras"},
        "extras": {"queue_state", "lanes", "keys", "groups"},
        "job_waits": {"queue_state"},
        "rules": {"queue_state"},
        "queries": {"queue_state", "flushes", "lanes", "times", "rules"},
        "places": {"queue_state", "times", "extras", "job_waits"},
        "restoring": {"queue_state", "keys", "groups", "extras", "places"},
        "watching": {"queue_state"},
        "engine_serializer": {"queue_state", "lanes", "times", "keys", "groups", "places", "restoring", "watching",
                           "serving", "job_waits"},
        "serving": {"queue_state", "flushes", "tries", "groups", "places", "watching"},
        "backlog": {"queue_state", "flushes", "tries", "keys", "groups", "places", "watching", "serving",
                    "lanes", "job_waits"},
    },
    "service": {
        "admission": set(),
        "run_queue": set(),
        "page_limit": set(),
        "outbox": {"run_queue"},
        "long_lists": {"run_queue", "outbox"},
        "idle_watch": {"outbox"},
        "requests": {"admission", "run_queue", "page_limit", "outbox", "long_lists", "idle_watch"},
    },
}
PARTS_FRONTS = {"binlog": "haricot/binlog/binlog.hpp", "queue": "haricot/queue/engine.hpp",
                "service": "haricot/service/service.hpp"}
# Headers that a front includes and that are not parts: values, interfaces, and structures that parts use.
NO_PARTS = {
    "binlog": BINLOG_SHARED | {"large_body", "replay"},
    "queue": {"client", "engine_results", "job", "job_store", "journal", "spent_jobs", "tube"},
    "service": {"dispatcher", "server_info", "session"},
}
# The nodes of a session (service/session.hpp), and the part that uses each. Only the session itself and ServiceSerializer
# may use all of them.
SESSION_NODES = {
    "requests": "requests",
    "to_run": "run_queue",
    "send": "outbox",
    "idle": "idle_watch",
    "has_page": "page_limit",
    "list": "long_lists",
}
SESSION_FILES = {"session", "service_serializer"}
NODE = re.compile(r"\b\w*[Ss]ession\w*(?:\(\)|\[[^]]*\])?(?:\.|->)(" + "|".join(SESSION_NODES) + r")\b(?!\()")
TOP = "main"  # The layer of TOP_FILES, which may include all headers.
TOP_FILES = {"src/main.cpp", "src/haricot.cpp"}
# Layers that may make system calls, and that keep their headers beside their sources.
OUTER = {"os", "tool", "web"}
# Folders of these layers that make no system calls.
PURE_FOLDERS = ("src/web/http/", "src/web/history/", "src/web/api/", "src/web/metrics/", "src/web/page/")

# Headers of system calls, clocks and threads, which only the outer layers and the top may include.
OS_HEADERS = re.compile(
    r"""^(
      (sys|netinet|arpa|net|linux|asm|bits|rpc|mqueue)/.*
    | (unistd|fcntl|netdb|poll|signal|pthread|sched|semaphore|dirent|pwd|grp|time|utime|dlfcn
       |syslog|termios|spawn|aio|ucontext|ifaddrs|glob|ftw|wait|resource|mman|socket|errno)\.h
    | csignal | ctime | cerrno | chrono | thread | mutex | shared_mutex | condition_variable
    | future | atomic | semaphore | latch | barrier | stop_token
    | filesystem | fstream | iostream | system_error | random
    )$""",
    re.VERBOSE,
)
# iostreams are forbidden everywhere.
REFUSED_HEADERS = {"iostream", "fstream", "sstream", "iomanip"}

# Headers without a test of their name, and the reason.
WITHOUT_TEST = {
    "queue/client.hpp": "only the engine changes a client: engine_clients_test",
    "queue/engine_results.hpp": "plain values, which the engine answers with: engine_test",
    "service/commands.hpp": "run by the dispatcher: dispatcher_test, and the conformance scripts",
    "service/server_info.hpp": "plain values, read by the reports: report_test",
}

# The wall clock may be set while the server runs, so no deadline may depend on it. It is read for the
# records of the binlog, which have to survive a reboot, and for the id of an instance if the system has no
# random numbers.
WALL_CLOCK = re.compile(r"CLOCK_REALTIME|\bgettimeofday\b|\bsystem_clock\b|[^_\w.:]time\(")
MAY_READ_WALL_CLOCK = {"src/os/process.cpp", "src/os/clock.hpp"}

# tests/support has the code that tests of several folders share. These folders may also include others:
SHARED_TESTS = "support"
TESTS_OF_TESTS = {
    "damage": {"fuzz"},  # Inputs of the fuzzer, which are damaged folders.
    "faults": {"fuzz"},  # The state of a server that has all kinds of objects.
}

# A longer file has to be split by subject.
LINES_MAX = 700
# A longer function has to be split, or needs a reason in LONG_FUNCTIONS.
FUNCTION_LINES_MAX = 60
LONG_FUNCTIONS = {
    ("tests/simulation/model_commands.cpp", "Model::run_command"): "a switch with a line for each command",
    ("tests/faults/scenario.cpp", "extended"): "a list of steps",
    ("tests/service/report_test.cpp", "ServerReport.HasAllKeysInOrder"): "a list of keys",
}
VAGUE_NAMES = {"util", "utils", "misc", "common", "helper", "helpers", "manager"}

# Matches the first line of a block at the outer indentation that is not a function.
NO_FUNCTION = re.compile(r"\s*(namespace|class|struct|enum|union|if|for|while|switch|do|else|try|catch|case|default"
                         r"|extern|public|private|protected|\}|//)\b|\s*[}/]")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes_of(text):
    """Yields the line number, is_quoted and the name of each include in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def layer_of(path):
    """Returns the layer of a path relative to the root, or None."""
    parts = pathlib.PurePosixPath(path).parts
    if "/".join(parts) in TOP_FILES:
        return TOP
    if parts[:2] == ("include", "haricot") and len(parts) > 3:
        return parts[2]
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return None


def layer_of_include(name):
    parts = pathlib.PurePosixPath(name).parts
    if parts[0] == "haricot" and len(parts) > 2:
        return parts[1]
    return parts[0] if len(parts) > 1 else None


def folder_of(name):
    """Returns the folder of a file of the tool below src/, such as tool/cli/flags.hpp, or None."""
    parts = pathlib.PurePosixPath(name).parts
    is_in_folder = len(parts) == 3 or parts[1:3] == ("binlog", "repair")
    return parts[1] if is_in_folder and parts[1] in FOLDERS else None


def check_folder(folder, name):
    """Returns the violation of an include in a folder of the tool, or None."""
    folders, layers = FOLDERS[folder]
    if layer_of_include(name) != "tool":
        is_good = layer_of_include(name) in layers
    else:
        is_good = folder_of(name) == folder or folder_of(name) in folders
    return None if is_good else f'tool/{folder} may not include "{name}"'


def web_folder_of(name):
    """Returns the folder of a file of `haricot web` below src/, such as web/http/request.hpp, or None."""
    parts = pathlib.PurePosixPath(name).parts
    return parts[1] if len(parts) == 3 and parts[0] == "web" and parts[1] in WEB_FOLDERS else None


def check_web_folder(folder, name):
    """Returns the violation of an include in a folder of `haricot web`, or None."""
    folders, layers, tools = WEB_FOLDERS[folder]
    wanted = layer_of_include(name)
    if wanted == "web":
        is_good = web_folder_of(name) == folder or web_folder_of(name) in folders
    elif wanted == "tool":
        is_good = folder_of(name) in tools
    else:
        is_good = wanted in layers
    return None if is_good else f'web/{folder} may not include "{name}"'


def binlog_folder_of(name):
    """Returns the folder of a file of the binlog below src/ or include/haricot/: empty if it is outside of the folders,
    None if it is not a file of the binlog."""
    parts = pathlib.PurePosixPath(name).parts
    if "binlog" not in parts or "tool" in parts:
        return None
    below = parts[parts.index("binlog") + 1:]
    return below[0] if len(below) > 1 else ""


def check_binlog_folder(path, name):
    """Returns the violation of an include in a file of the binlog, or None."""
    own, wanted = binlog_folder_of(path), binlog_folder_of(name)
    stem = pathlib.PurePosixPath(name).stem
    if wanted is None or own is None or pathlib.PurePosixPath(path).stem in BINLOG_FRONT:
        return None
    if own == "":
        is_good = wanted == "format" or stem in BINLOG_SHARED
    elif wanted == "":
        is_good = own != "format" and stem in BINLOG_SHARED
    else:
        is_good = wanted == own or wanted in BINLOG_FOLDERS.get(own, set())
    return None if is_good else f'binlog/{own} may not include "{name}"'


def part_of(path):
    """Returns the front and the part of a file, whose name begins with that of the part, or None."""
    pure = pathlib.PurePosixPath(path)
    front = next((name for name in reversed(pure.parts[:-1]) if name in PARTS), None)
    for part in PARTS.get(front, {}):
        if pure.stem == part or pure.stem.startswith(part + "_"):
            return front, part
    return None


def check_part(part, name):
    """Returns the violation of an include in a part, or None."""
    front, own = part
    other = part_of(name)
    is_good = other in (None, part) or other[0] != front or other[1] in PARTS[front][own]
    return None if is_good and name != PARTS_FRONTS[front] else f'the part {own} may not include "{name}"'


def check_front(front, name):
    """Returns the violation of an include in a front's header, or None."""
    is_known = layer_of_include(name) != front or part_of(name) or pathlib.PurePosixPath(name).stem in NO_PARTS[front]
    return None if is_known else f'"{name}" is in neither PARTS nor NO_PARTS'


def check_node(path, line):
    """Returns the violation of a line that uses a node of a session, or None."""
    stem = pathlib.PurePosixPath(path).stem
    for node in NODE.findall(re.sub(r"//.*", "", line)):
        if stem not in SESSION_FILES | {SESSION_NODES[node]}:
            return f"the node {node} of a session belongs to {SESSION_NODES[node]}"
    return None


def check_include(layer, is_quoted, name):
    """Returns the violation of an include in a layer, or None."""
    if name in REFUSED_HEADERS:
        return f"<{name}> is not used here"
    if not is_quoted:
        if layer not in OUTER | {TOP} and OS_HEADERS.match(name):
            return f"<{name}> belongs to src/os"
        return None
    wanted = layer_of_include(name)
    if wanted not in LAYERS:
        return f'"{name}" is in no layer'
    if layer == TOP or wanted == layer or wanted in LAYERS[layer]:
        return None
    return f'{layer} may not include "{name}"'


def check_file(path, text):
    """Returns the violations in a file below include/ or src/."""
    layer = layer_of(path)
    if layer is None or (layer != TOP and layer not in LAYERS):
        return [f"{path}: is in no layer"]
    folder = folder_of(path.removeprefix("src/")) if layer == "tool" else None
    if layer == "binlog" and binlog_folder_of(path) not in {"", *BINLOG_FOLDERS}:
        return [f"{path}: is in no folder of the binlog"]
    if layer == "tool" and path.startswith("src/") and folder is None:
        return [f"{path}: is in no folder of the tool"]
    web_folder = web_folder_of(path.removeprefix("src/")) if layer == "web" else None
    is_front = pathlib.PurePosixPath(path).parent.as_posix() == "src/web" and pathlib.PurePosixPath(path).stem in WEB_FRONT
    if layer == "web" and web_folder is None and not is_front:
        return [f"{path}: is in no folder of haricot web"]
    part = part_of(path)
    front = next((name for name, header in PARTS_FRONTS.items() if path == f"include/{header}"), None)
    findings = []
    for number, is_quoted, name in includes_of(text):
        wrong = check_include(layer, is_quoted, name)
        if not wrong and is_quoted and layer == "binlog":
            wrong = check_binlog_folder(path, name)
        if not wrong and part and is_quoted:
            wrong = check_part(part, name)
        if not wrong and front and is_quoted:
            wrong = check_front(front, name)
        if not wrong and folder and is_quoted:
            wrong = check_folder(folder, name)
        if not wrong and web_folder and is_quoted:
            wrong = check_web_folder(web_folder, name)
        if not wrong and path.startswith(PURE_FOLDERS) and not is_quoted and OS_HEADERS.match(name):
            wrong = f"<{name}> belongs to web/serve or web/observe"
        if wrong:
            findings.append(f"{path}:{number}: {wrong}")
    if layer in ("service", "os"):
        findings += [f"{path}:{number}: {wrong}" for number, line in enumerate(text.splitlines(), 1)
                     if (wrong := check_node(path, line))]
    if path.startswith("include/") and layer in OUTER:
        findings.append(f"{path}: headers of src/{layer} stay beside their sources")
    if WALL_CLOCK.search(text) and path not in MAY_READ_WALL_CLOCK:
        findings.append(f"{path}: reads the wall clock")
    findings += check_lengths(path, text)
    if path.endswith(".hpp") and "#pragma once\n" not in text:
        findings.append(f"{path}: has no #pragma once")
    if pathlib.PurePosixPath(path).stem in VAGUE_NAMES:
        findings.append(f"{path}: vague name")
    own = own_header(path)
    if own:
        first = next((name for _, is_quoted, name in includes_of(text) if is_quoted), None)
        if f'#include "{own}"' in text and first != own:
            findings.append(f"{path}: includes {first} before its own header")
    return findings


def function_name(line):
    """Returns the name of the function that begins in a line: Type::name, name, or Suite.Test."""
    test = re.match(r"\s*TEST(?:_F|_P)?\((\w+), (\w+)\)", line)
    if test:
        return f"{test.group(1)}.{test.group(2)}"
    named = re.search(r"([\w:~]+)\(", line)
    return named.group(1) if named else line.strip()


def functions_of(text):
    """Yields line number, number of lines and name of each function. Relies on the layout of clang-format: a function
    is a block that ends with a line of a single brace, at the outer indentation or in a class."""
    lines = text.split("\n")
    for end, line in enumerate(lines):
        if line not in ("}", "  }"):
            continue
        indent = len(line) - 1
        begin = end - 1
        while begin >= 0 and (not lines[begin].strip() or lines[begin].startswith("#")
                              or len(lines[begin]) - len(lines[begin].lstrip()) > indent):
            begin -= 1
        if begin >= 0 and "(" in lines[begin] and not NO_FUNCTION.match(lines[begin]):
            yield begin + 1, end - begin + 1, function_name(lines[begin])


def check_lengths(path, text):
    """Returns the violations of lengths in a file of src/, include/ or tests/."""
    findings = []
    lines = text.count("\n")
    if lines > LINES_MAX:
        findings.append(f"{path}: {lines} lines, more than {LINES_MAX}")
    for number, length, name in functions_of(text):
        if length > FUNCTION_LINES_MAX and (path, name) not in LONG_FUNCTIONS:
            findings.append(f"{path}:{number}: {name} has {length} lines, more than {FUNCTION_LINES_MAX}")
    return findings


def check_reasons(root):
    """Returns the rows of LONG_FUNCTIONS whose function is not too long or does not exist."""
    findings = []
    for path, name in LONG_FUNCTIONS:
        file = root / path
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        if not any(found == name and length > FUNCTION_LINES_MAX for _, length, found in functions_of(text)):
            findings.append(f"{path}: {name} is in LONG_FUNCTIONS, but is not a long function")
    return findings


def own_header(path):
    """Returns the header that a source implements by its name, in the form of an include."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] != "src" or not path.endswith(".cpp") or len(parts) < 3:
        return None
    prefix = "" if parts[1] in OUTER else "haricot/"
    return prefix + "/".join(parts[1:])[: -len(".cpp")] + ".hpp"


def check_tests(headers, tests):
    """Returns the public headers without a test, and unneeded exceptions. Names are those of WITHOUT_TEST."""
    findings = []
    for header in headers:
        has_test = header[: -len(".hpp")] + "_test.cpp" in tests
        if not has_test and header not in WITHOUT_TEST:
            findings.append(f"include/haricot/{header}: has no tests/{header[:-4]}_test.cpp")
        if has_test and header in WITHOUT_TEST:
            findings.append(f"include/haricot/{header}: is in WITHOUT_TEST, but has a test")
    return findings


def check_test_file(path, text, folders):
    """Returns the includes, or the names in a list of the build, that belong to another folder of tests."""
    own = pathlib.PurePosixPath(path).parts[1]
    if path.endswith("CMakeLists.txt"):
        return [f"{path}:{number}: names a file of another folder"
                for number, line in enumerate(text.splitlines(), 1) if "../" in line]
    others = folders - OUTER - {own, SHARED_TESTS} - TESTS_OF_TESTS.get(own, set())
    return [f'{path}:{number}: "{name}" belongs to another folder, not to tests/{SHARED_TESTS}'
            for number, is_quoted, name in includes_of(text)
            if is_quoted and (name.split("/")[0] in others or name.startswith("../"))]


def check_all_tests(root):
    findings = []
    folders = {path.name for path in (root / "tests").iterdir() if path.is_dir()}
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in (".hpp", ".cpp") or path.name == "CMakeLists.txt":
            relative = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8")
            findings += check_test_file(relative, text, folders)
            if path.suffix != ".txt":
                findings += check_lengths(relative, text)
    return findings


def check_tree(root):
    findings = []
    for folder in ("include", "src"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h", ".cc"):
                relative = path.relative_to(root).as_posix()
                findings += check_file(relative, path.read_text(encoding="utf-8"))
    public = root / "include" / "haricot"
    headers = sorted(p.relative_to(public).as_posix() for p in public.rglob("*.hpp"))
    tests = {p.relative_to(root / "tests").as_posix() for p in (root / "tests").rglob("*_test.cpp")}
    if not headers or not tests:
        return findings + [f"{root}: has no headers or no tests"]
    return findings + check_tests(headers, tests) + check_all_tests(root) + check_reasons(root)


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    findings = check_tree(pathlib.Path(arguments[1]))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
