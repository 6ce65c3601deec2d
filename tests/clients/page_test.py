#!/usr/bin/env python3
"""Runs the programs of docs/clients.md against haricotd.

    page_test.py HARICOTD [--kind=KIND] [language ...]

The comment after a line has to be the output of the line. The class of each language sends the lines under "What to
send" to a new server, and the answers have to be those of the page. The lines have to use every word that the server's
`capabilities` lists. KIND: one of `run`, whose flags haricotd gets.
"""

import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "docs"), str(HERE.parent / "monitors")]

import documents
from servers import Connection, Server, load_runner

PAGE = "clients.md"
NODE = HERE / "node" / "node_modules"
SECONDS_MAX = 60
BLOCK_LINES_MAX = 50
# A minimal application for the tests of Laravel's queue.
LARAVEL = """
require 'Illuminate/Bus/autoload.php';
require 'Illuminate/Events/autoload.php';
require 'Illuminate/Queue/autoload.php';
$capsule = new Illuminate\\Queue\\Capsule\\Manager();
$capsule->addConnection(['driver' => 'haricot', 'host' => '127.0.0.1', 'port' => 11300, 'queue' => 'default']);
$app = $capsule->getContainer();
$app->instance(Illuminate\\Contracts\\Container\\Container::class, $app);
$app->instance('queue', $capsule->getQueueManager());
$app->bind(Illuminate\\Contracts\\Bus\\Dispatcher::class, fn () => new Illuminate\\Bus\\Dispatcher($app));
$app->singleton(Illuminate\\Contracts\\Events\\Dispatcher::class, fn () => new Illuminate\\Events\\Dispatcher($app));
$app->alias(Illuminate\\Contracts\\Events\\Dispatcher::class, 'events');
Illuminate\\Container\\Container::setInstance($app);
Illuminate\\Support\\Facades\\Facade::setFacadeApplication($app);
"""
SYMFONY = """
require 'Symfony/Component/Messenger/Bridge/Beanstalkd/autoload.php';
require 'Symfony/Component/EventDispatcher/autoload.php';
require 'Psr/Container/autoload.php';
"""
# An imitation of the library's next major version, which returns bytes as Uint8Array.
JACKD_3 = """
import Jackd2 from 'jackd'

class Jackd extends Jackd2 {
  constructor() {
    super()
    this.buffer = new Uint8Array()
    this.socket.removeAllListeners('data')
    this.socket.on('data', bytes => {
      this.buffer = new Uint8Array([...this.buffer, ...bytes])
      this.processChunk(this.buffer)
    })
  }

  processChunk(bytes) { return super.processChunk(Buffer.from(bytes)) }
}
"""
# Methods of pheanstalk that take a string in version 4 and another type in later ones.
PHEANSTALK_CHANGED = r"->(useTube|watch\w*|ignore|statsTube|pauseTube|peek\w*|putInTube|reserveFromTube)\("
GO = """
func show(words []string, _ error) {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, fmt.Sprintf("%q", word))
	}
	fmt.Println("[" + strings.Join(quoted, ",") + "]")
}

func main() {
{}
}
"""


class Language:
    """Makes programs from a section of the page."""

    def __init__(self, section, file, command, needs, lines=None, quote="'", frame="{}", variant=None):
        self.section = section
        self.file = file
        self.command = command
        self.needs = needs
        # Lines that are not on the page: one that connects, one that sends {}, and one that prints the words of the
        # answer as JSON. The page's examples have `ask`.
        self.connect, self.send, self.show = lines or (None, None, None)
        self.quote = quote
        self.frame = frame  # The text around these lines.
        self.variant = variant  # Replacements of words of the page, for another version.

    def blocks(self):
        text = documents.section(PAGE, self.section)
        return re.findall(r"^```[a-z]+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def all_of(*needs):
    return lambda: next(filter(None, (need() for need in needs)), "")


# The languages of the page: section, file, command, needs, lines.
def languages():
    runner = load_runner()
    debian = runner.needs_debian
    return {
        "pheanstalk": Language(
            "PHP: pheanstalk", "page.php", ["php", "page.php"],
            debian("php", "php-pda-pheanstalk", "/usr/share/php/Pheanstalk/autoload.php"),
            ["$line = new Line(new SocketFactory('127.0.0.1', 11300));",
             "$line->send({});",
             'echo json_encode($line->answer()), "\\n";']),
        "laravel": Language(
            "PHP: Laravel", "page.php", ["php", "page.php"],
            all_of(debian("php", "php-illuminate-queue", "/usr/share/php/Illuminate/Queue/autoload.php"),
                   debian("php", "php-illuminate-bus", "/usr/share/php/Illuminate/Bus/autoload.php"),
                   debian("php", "php-illuminate-events", "/usr/share/php/Illuminate/Events/autoload.php"))),
        "symfony": Language(
            "PHP: Symfony Messenger", "page.php", ["php", "page.php"],
            debian("php", "php-symfony-beanstalkd-messenger",
                   "/usr/share/php/Symfony/Component/Messenger/Bridge/Beanstalkd/autoload.php")),
        # No package has the library: its example is only parsed.
        "yii": Language("PHP: Yii 2", "page.php", ["php", "-l", "page.php"], lambda: ""),
        "beaneater": Language(
            "Ruby: beaneater", "page.rb", ["ruby", "-rjson", "page.rb"],
            debian("ruby", "ruby-beaneater", "/usr/lib/ruby/vendor_ruby/beaneater.rb"),
            ["line = Beaneater.new('127.0.0.1:11300').connection",
             "line.send_lines({})",
             "puts JSON.generate(line.answer)"]),
        "jackd": Language(
            "Node.js: jackd", "page.mjs", ["node", "page.mjs"], runner.needs_npm("jackd"),
            ["const address = { host: '127.0.0.1', port: 11300 }, asked = []\n"
             "const line = new Client({ ...address, autoconnect: false, autoReconnect: false })\nawait line.connect(address)",
             "asked.push(line.ask({}))",
             "console.log(JSON.stringify(await asked.shift(), (_, v) => v?.data ? Buffer.from(v.data).toString() : v))"],
            frame="{}\nawait line.quit()", variant=("import Jackd from 'jackd'\n", JACKD_3)),
        "python": Language(
            "Python: greenstalk, pystalk", "page.py", [sys.executable, "page.py"], lambda: "",
            ["import json\nline = Line(socket.create_connection(('127.0.0.1', 11300)))",
             "line.send({})",
             "print(json.dumps(line.answer(), default=bytes.decode))"]),
        "go": Language(
            "Go: go-beanstalk", "page.go", ["go", "run", "page.go"], debian("go", "golang-go", "/usr/bin/go"),
            ['conn, _ := net.Dial("tcp", "127.0.0.1:11300")\nline := Line{textproto.NewConn(conn)}',
             "line.Send({})",
             "show(line.Answer())"],
            quote='"', frame=GO),
    }


# The page ----------------------------------------------------------------------------------


def session():
    """Returns the commands and the expected answers: [[[line, body], ...], [answer, ...]], ..."""
    (text,) = documents.blocks(PAGE, "text")
    steps, body_follows = [], False
    for line in text.splitlines():
        sign, words = line[0], line[2:]
        assert sign in "><" and line[1] == " ", line
        if sign == "<":
            steps[-1][1].append(words)
        elif body_follows:
            steps[-1][0][-1].append(words)
        else:
            if not steps or steps[-1][1]:
                steps.append([[], []])
            steps[-1][0].append([words])
        body_follows = sign == ">" and words.startswith(("put ", "note ")) and not body_follows
    return steps


def missing_words(port, steps):
    """Returns the server's capabilities that the page does not use."""
    with Connection(port) as client:
        offered = set(re.findall(r"^- (\S+)\r?$", client.ask("capabilities"), re.MULTILINE))
    sent = {words.split()[0] for commands, _ in steps for words, *_ in commands}
    tags = {tag for commands, _ in steps for words, *_ in commands for tag in re.findall(r" ([a-z]+):", words)}
    return sorted(offered - sent - tags)


# Programs ----------------------------------------------------------------------------------


def run(language, program, port):
    """Runs a program. Returns its output, and an error or an empty text."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / language.file).write_text(program.replace("11300", str(port)), encoding="utf-8")
        (folder / "node_modules").symlink_to(NODE)
        # The compiler of Go caches its results.
        environment = os.environ | {"GOCACHE": str(folder / "cache"), "GO111MODULE": "off"}
        try:
            done = subprocess.run(language.command, cwd=folder, env=environment, timeout=SECONDS_MAX,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except subprocess.TimeoutExpired as late:
            return "", f"not done after {SECONDS_MAX} s, {late.stdout}{late.stderr}"
    trouble = f"status {done.returncode}, {done.stdout}{done.stderr}" if done.returncode or done.stderr else ""
    return done.stdout, trouble


def flat(words):
    for word in words:
        if isinstance(word, list):
            yield from flat(word)
        else:
            yield word


def try_example(language, helper, example, port):
    expected = re.findall(r"(?://|#) (.+)$", example, re.MULTILINE)
    if not expected:
        return "its example says nothing"
    output, trouble = run(language, helper + example, port)
    if trouble or output.splitlines() != expected:
        return f"its example: expected {expected}, {trouble or output}"
    return None


def try_session(language, helper, steps, port):
    lines = [language.connect]
    for commands, answers in steps:
        # Sends all commands of a step before it reads answers: the second one ends the wait of the first.
        for command in commands:
            text = ", ".join(language.quote + part + language.quote for part in command)
            lines.append(language.send.replace("{}", text))
        lines += [language.show] * len(commands)
    output, trouble = run(language, helper + language.frame.replace("{}", "\n".join(lines)), port)
    if trouble:
        return f"what to send: {trouble}"
    # The answer of a batch includes the answers of its jobs.
    wanted = [answer for commands, answers in steps
              for answer in (answers if len(commands) > 1 else [" ".join(answers)])]
    got = [" ".join(flat(json.loads(line))) for line in output.splitlines()]
    for one, other in zip(got, wanted):
        if not fnmatch.fnmatchcase(one, other):
            return f"what to send: expected {other!r}, got {one!r}"
    return None if len(got) == len(wanted) else f"what to send: {len(got)} answers, not {len(wanted)}"


def try_language(name, language, haricotd, every, flags):
    trouble = language.needs()
    if trouble:
        return trouble
    blocks = language.blocks()
    helper, example = "".join(blocks[:-1]), blocks[-1]
    for block in blocks:
        lines = [line for line in block.splitlines() if line.strip()]
        if len(lines) > BLOCK_LINES_MAX:
            return f"a block has {len(lines)} lines, at most {BLOCK_LINES_MAX} are good"
    frame = {"laravel": LARAVEL, "symfony": SYMFONY}.get(name)
    if frame is not None:
        helper = "".join(every["pheanstalk"].blocks()[:2]) + frame + helper
    if name == "yii":
        _, trouble = run(language, helper + example, 0)
        return trouble
    if name == "pheanstalk" and (changed := re.search(PHEANSTALK_CHANGED, example)):
        return f"its example: other versions want another type: {changed[1]}"
    trouble = try_programs(language, helper, example, haricotd, flags)
    if trouble or language.variant is None:
        return trouble
    words, other = language.variant
    assert words in helper, words
    trouble = try_programs(language, helper.replace(words, other), example, haricotd, flags)
    return f"with the other version: {trouble}" if trouble else None


def try_programs(language, helper, example, haricotd, flags):
    with Server(haricotd, flags) as server:
        trouble = try_example(language, helper, example, server.port)
    if trouble or language.connect is None:
        return trouble
    steps = session()
    with Server(haricotd, flags) as server:
        missing = missing_words(server.port, steps)
        if missing:
            return f"the page does not send {missing}"
        return try_session(language, helper, steps, server.port)


def main(haricotd, words):
    kinds = [word.removeprefix("--kind=") for word in words if word.startswith("--kind=")]
    flags = [flag for kind in kinds for flag in load_runner().FLAGS[kind]]
    names = [word for word in words if not word.startswith("--kind=")]
    every = languages()
    failed = 0
    for name in names or every:
        trouble = try_language(name, every[name], haricotd, every, flags)
        print(f"FAIL {name}: {trouble}" if trouble else f"ok {name}", flush=True)
        failed += bool(trouble)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
