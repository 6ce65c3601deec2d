<?php
// What the program of the PHP client is made of: scenarios and expectations.
//
// Each scenario has a tube and connections of its own, so one that fails leaves the others
// meaningful. run() prints every scenario's name before it starts (when a program hangs, the last
// line says where), what failed, and at the end the number of expectations that held.

declare(strict_types=1);

namespace Checks;

const JOB_BYTES_MAX = 65535;
const PATIENCE_SECONDS = 20;
const POLL_MICROSECONDS = 10000;

class Failed extends \Exception
{
}

/** The command line: port, style of the YAML answers (plain or quoted), the server's pid. */
final class Server
{
    public readonly int $port;
    public readonly bool $quoted;
    public readonly int $pid;

    public function __construct(array $arguments)
    {
        if (count($arguments) !== 4 || !in_array($arguments[2], ['plain', 'quoted'], true)) {
            fwrite(STDERR, "usage: $arguments[0] <port> plain|quoted <pid>\n");
            exit(2);
        }
        $this->port = (int) $arguments[1];
        $this->quoted = $arguments[2] === 'quoted';
        $this->pid = (int) $arguments[3];
    }

    /** A text value as pheanstalk hands it out: the server's quotes, where there are any, stay. */
    public function text(string $value): string
    {
        return $this->quoted ? "\"$value\"" : $value;
    }
}

function keys(string $of): array
{
    $text = file_get_contents(__DIR__ . '/../stats-keys.json');
    return json_decode($text, true, 8, JSON_THROW_ON_ERROR)[$of];
}

/** Bodies by what is special about them. */
function bodies(): array
{
    $everyByte = implode('', array_map('chr', range(0, 255)));
    $long = '';
    for ($index = 0; $index < 60 * 1024; $index++) {
        $long .= chr(($index * 31 + ($index >> 8)) & 255);
    }
    return [
        'every byte' => $everyByte,
        'every byte backwards' => strrev($everyByte),
        'CR LF inside, and what looks like an answer' => "a\r\nRESERVED 1 3\r\nabc\r\n",
        'only CR LF' => "\r\n",
        '60 KB' => $long,
        'as large as allowed' => str_repeat('x', JOB_BYTES_MAX),
        'nothing' => '',
    ];
}

/** What a scenario can expect. Counts what held; the first that does not hold ends the scenario. */
final class Expectations
{
    public int $held = 0;

    public function equal($actual, $expected, string $what): void
    {
        if ($actual !== $expected) {
            $this->fail($what, $this->show($expected), $actual);
        }
        $this->held++;
    }

    /** A number from the stats, which are text in this client: digits only, in a range. */
    public function between($actual, int $low, int $high, string $what): void
    {
        $digits = is_string($actual) && ctype_digit($actual);
        if (!$digits || (int) $actual < $low || (int) $actual > $high) {
            $this->fail($what, "a number from $low to $high", $actual);
        }
        $this->held++;
    }

    public function sameBytes(string $actual, string $expected, string $what): void
    {
        $this->equal(strlen($actual), strlen($expected), "$what, length");
        // The exclusive or of equal bytes is zero.
        $wrong = strspn($actual ^ $expected, "\0");
        $this->equal($wrong, strlen($expected), "$what, place of the first wrong byte");
    }

    /** That the call throws this very class, with a message that contains the text. */
    public function refused(string $class, string $text, callable $call, string $what): void
    {
        try {
            $call();
        } catch (Failed $failed) {
            throw $failed;
        } catch (\Throwable $thrown) {
            $this->equal(get_class($thrown), $class, $what);
            $told = str_contains($thrown->getMessage(), $text);
            $this->equal($told, true, "$what, '$text' in its message");
            return;
        }
        throw new Failed("$what: expected $class, but nothing was thrown");
    }

    /** Asks until the condition holds; for what happens on another connection or after a while. */
    public function until(callable $condition, string $what): void
    {
        $deadline = microtime(true) + PATIENCE_SECONDS;
        while (!$condition()) {
            if (microtime(true) > $deadline) {
                throw new Failed("$what: not within " . PATIENCE_SECONDS . ' s');
            }
            usleep(POLL_MICROSECONDS);
        }
        $this->held++;
    }

    /** That the call takes so long at least; a busy machine may always take longer. */
    public function takesAtLeast(float $seconds, callable $call, string $what)
    {
        $start = microtime(true);
        $value = $call();
        $taken = microtime(true) - $start;
        if ($taken < $seconds) {
            throw new Failed("$what: came after $taken s, not before $seconds");
        }
        $this->held++;
        return $value;
    }

    private function fail(string $what, string $expected, $actual): never
    {
        throw new Failed("$what: expected $expected, got {$this->show($actual)}");
    }

    private function show($value): string
    {
        $binary = is_string($value) && $value !== '' && !ctype_print($value);
        $text = $binary ? 'hex ' . bin2hex($value) : var_export($value, true);
        return strlen($text) > 400 ? substr($text, 0, 400) . '...' : $text;
    }
}

/** Runs scenarios, name => function (Expectations $t, string $tube), and ends the program. */
function run(array $scenarios): never
{
    $t = new Expectations();
    $failed = 0;
    $number = 0;
    foreach ($scenarios as $name => $scenario) {
        echo "$name\n";
        try {
            $scenario($t, 'scenario-' . $number++);
        } catch (\Throwable $thrown) {
            $failed++;
            $kind = $thrown instanceof Failed ? '' : get_class($thrown) . ': ';
            echo "  FAILED $kind{$thrown->getMessage()}\n";
            echo '    ', str_replace("\n", "\n    ", $thrown->getTraceAsString()), "\n";
        }
    }
    $all = count($scenarios);
    echo $failed ? "$failed of $all scenarios failed\n" : "{$t->held} checks\n";
    exit($failed ? 1 : 0);
}
