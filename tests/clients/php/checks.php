<?php
// Scenarios and expectations for the programs of the PHP clients.
//
// Each scenario has its own tube and connections, so a failure does not affect the others. run() prints the
// name of each scenario before it starts (if a program hangs, the last line names the scenario), failures,
// and at the end the number of expectations that passed.

declare(strict_types=1);

namespace Checks;

const JOB_BYTES_MAX = 65535;
const PATIENCE_SECONDS = 20;
const POLL_MICROSECONDS = 10000;

class Failed extends \Exception
{
}

/** The arguments: port, style of the YAML answers (plain or quoted), and the server's pid. */
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

    /** Returns a text value in the form of pheanstalk, which keeps the server's quotes. */
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

/** Returns special bodies by description. */
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

/** The expectations of scenarios. Counts those that pass. A failure ends the scenario. */
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

    /** Expects a number from the stats, which are texts in this client: only digits, in a range. */
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
        // Equal bytes have an exclusive or of zero.
        $wrong = strspn($actual ^ $expected, "\0");
        $this->equal($wrong, strlen($expected), "$what, place of the first wrong byte");
    }

    /** Expects that the call throws exactly this class, with a message that contains the text. */
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

    /** Polls until the condition is true, for effects of other connections or of time. */
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

    /** Expects that the call takes at least this time. There is no upper limit, because the machine may be busy. */
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

/** Runs the scenarios, name => function (Expectations $t, string $tube), and ends the program. */
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
