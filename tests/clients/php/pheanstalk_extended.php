<?php
// Extended commands by pheanstalk's own connection: a command class of this file sends any line and reads the answer.
// PHP's YAML parses the text after an OK.
//
// SERVER_EXTENDED is set if the server has these commands.

declare(strict_types=1);

require 'Pheanstalk/autoload.php';
require __DIR__ . '/checks.php';

use Checks\Expectations;
use Pheanstalk\Command\AbstractCommand;
use Pheanstalk\Connection;
use Pheanstalk\Contract\ResponseParserInterface;
use Pheanstalk\Contract\SocketFactoryInterface;
use Pheanstalk\Contract\SocketInterface;
use Pheanstalk\Exception\ClientException;
use Pheanstalk\Exception\ServerBadFormatException;
use Pheanstalk\Exception\ServerUnknownCommandException;
use Pheanstalk\Response\ArrayResponse;
use Pheanstalk\SocketFactory;

const WORDS = ['flush-tube', 'scan-jobs', 'list-jobs', 'stats-tube-detail', 'stats-tubes', 'reserve-batch',
    'delete-batch', 'watch', 'reserve-mode', 'try', 'con', 'idp'];
const DETAIL_KEYS = ['age-oldest-ready', 'age-oldest-buried', 'queue-time-p50', 'queue-time-p99', 'queue-time-max',
    'work-time-p50', 'work-time-p99', 'work-time-max', 'buried-by-tries',
    'current-jobs-blocked'];
const JOB_KEYS = ['id', 'tube', 'state', 'pri', 'age', 'delay', 'ttr', 'time-left', 'bytes', 'reserves', 'timeouts',
    'releases', 'buries', 'kicks'];

$server = new Checks\Server($argv);

/** A command with any line and an optional body. Its answer is the words of the line, and the bytes after it. */
final class Line extends AbstractCommand implements ResponseParserInterface
{
    public function __construct(private string $line, private ?string $body = null)
    {
    }

    public function getCommandLine(): string
    {
        return $this->line;
    }

    public function hasData(): bool
    {
        return $this->body !== null;
    }

    public function getData(): string
    {
        return (string) $this->body;
    }

    public function getDataLength(): int
    {
        return strlen((string) $this->body);
    }

    public function parseResponse(string $responseLine, ?string $responseData): ArrayResponse
    {
        return $this->createResponse('', ['words' => explode(' ', $responseLine), 'body' => $responseData]);
    }
}

/** Gives the connection a fixed socket, from which a batch is read as well. */
final class OneSocket implements SocketFactoryInterface
{
    public function __construct(private SocketInterface $socket)
    {
    }

    public function create(): SocketInterface
    {
        return $this->socket;
    }
}

final class Link
{
    private SocketInterface $socket;
    private Connection $connection;

    public function __construct(string $tube)
    {
        $this->socket = (new SocketFactory('127.0.0.1', $GLOBALS['server']->port))->create();
        $this->connection = new Connection(new OneSocket($this->socket));
        foreach (["use $tube", "watch $tube", 'ignore default'] as $line) {
            $this->words($line);
        }
    }

    private function send(string $line, ?string $body = null): ArrayResponse
    {
        return $this->connection->dispatchCommand(new Line($line, $body));
    }

    public function words(string $line, ?string $body = null): array
    {
        return $this->send($line, $body)['words'];
    }

    public function body(string $line): ?string
    {
        return $this->send($line)['body'];
    }

    public function text(string $line): array
    {
        return yaml_parse($this->body($line)) ?: [];
    }

    public function put(string $body, int $priority = 0): int
    {
        return (int) $this->words("put $priority 0 60 " . strlen($body), $body)[1];
    }

    /** Returns the words of the server's `capabilities`, as docs/clients.md explains. */
    public function abilities(): array
    {
        try {
            return $this->text('capabilities');
        } catch (ServerUnknownCommandException) {
            return [];
        }
    }

    /** Returns jobs as [id, body]. */
    public function reserveBatch(int $count): array
    {
        $jobs = [];
        $number = (int) $this->words("reserve-batch $count")[1];
        while (count($jobs) < $number) {
            [$word, $id, $bytes] = explode(' ', $this->socket->getLine());
            $body = $bytes === '0' ? '' : $this->socket->read((int) $bytes);
            if ($word !== 'RESERVED' || $this->socket->read(2) !== "\r\n") {
                throw new ClientException("no answer to a reserve: $word");
            }
            $jobs[] = [(int) $id, $body];
        }
        return $jobs;
    }
}

$extended = [];

$extended['capabilities lists what the server has'] = function (Expectations $t, string $tube) {
    $words = (new Link($tube))->abilities();
    foreach (WORDS as $word) {
        $t->equal(in_array($word, $words, true), true, $word);
    }
};

$extended['jobs are listed and scanned'] = function (Expectations $t, string $tube) {
    $link = new Link($tube);
    $late = $link->put('later', 5);
    $first = $link->put("a\r\n: b", 1);
    $jobs = $link->text("list-jobs $tube ready 10")['jobs'];
    $t->equal(array_column($jobs, 'id'), [$first, $late], 'the order of service');
    $t->equal(array_keys($jobs[0]), JOB_KEYS, 'keys of a job');
    $t->equal([$jobs[0]['tube'], $jobs[0]['state'], $jobs[0]['pri'], $jobs[0]['bytes']], [$tube, 'ready', 1, 6],
        'a job');
    $page = $link->text("scan-jobs 0 1 $tube");
    $t->equal([array_column($page['jobs'], 'id'), $page['next']], [[$late], $first], 'a page');
    $page = $link->text("scan-jobs {$page['next']} 1 $tube ready");
    $t->equal(array_column($page['jobs'], 'id'), [$first], 'the next page');
    $t->equal($link->text("list-jobs $tube buried 10"), ['jobs' => []], 'no job');
    $t->equal($link->words('list-jobs nowhere ready 1'), ['NOT_FOUND'], 'no tube');
    $t->refused(ServerBadFormatException::class, 'BAD_FORMAT', fn () => $link->words("list-jobs $tube sleepy 1"),
        'no state');
};

$extended['a tube is flushed'] = function (Expectations $t, string $tube) {
    $link = new Link($tube);
    foreach (['x', 'y', 'z'] as $body) {
        $link->put($body);
    }
    $t->equal($link->words("flush-tube $tube buried"), ['FLUSHED', '0'], 'no buried job');
    $t->equal($link->words("flush-tube $tube"), ['FLUSHED', '3'], 'all of them');
    $t->equal($link->words('flush-tube nowhere'), ['FLUSHED', '0'], 'no tube');
};

$extended['batches are reserved and deleted'] = function (Expectations $t, string $tube) {
    $link = new Link($tube);
    $t->equal($link->reserveBatch(5), [], 'no job');
    $t->equal($link->words('reserve-batch 5 0'), ['RESERVED_BATCH', '0'], 'no job in time');
    $put = array_map(fn (string $body) => [$link->put($body), $body], array_values(Checks\bodies()));
    $taken = [];
    // A batch has at most 1 MiB, so it may have fewer jobs than requested.
    while ($jobs = $link->reserveBatch(1000)) {
        array_push($taken, ...$jobs);
    }
    $ids = array_column($taken, 0);
    $t->equal($ids, array_column($put, 0), 'the jobs');
    foreach (array_keys(Checks\bodies()) as $at => $what) {
        $t->sameBytes($taken[$at][1], $put[$at][1], $what);
    }
    $t->equal($link->words('delete-batch ' . implode(' ', [...$ids, $ids[0]])),
        ['DELETED_BATCH', (string) count($ids), '1'], 'deleted, and one that was gone');
    $t->refused(ServerBadFormatException::class, 'BAD_FORMAT', fn () => $link->words('delete-batch x'), 'no id');
};

$extended['a put is unique as long as its job lives'] = function (Expectations $t, string $tube) {
    $link = new Link($tube);
    $id = $link->words('put 5 0 60 4 idp:order-7', 'once')[1];
    $t->equal($link->words('put 5 0 60 5 idp:order-7', 'twice'), ['INSERTED', $id, 'READY'], 'the job that is there');
    $t->equal($link->words('put 1 0 60 0 idp:order-7', ''), ['INSERTED', $id, 'READY', '1'], 'more urgent');
    $jobs = $link->text("list-jobs $tube ready 10")['jobs'];
    $t->equal(array_keys($jobs[0]), [...JOB_KEYS, 'idp'], 'keys of a unique job');
    $t->equal([count($jobs), $jobs[0]['pri'], $jobs[0]['idp']], [1, 1, 'order-7'], 'one job');
    $t->equal($link->body('reserve'), 'once', 'the first body');
    $t->equal($link->words('put 1 0 60 1 idp:order-7', 'x'), ['INSERTED', $id, 'RESERVED'], 'while it is worked on');
    $t->equal($link->words("delete $id"), ['DELETED'], 'deleted');
    $t->equal(count($link->words('put 1 0 60 1 idp:order-7', 'x')), 2, 'a new job');
    $kept = $link->words('put 1 0 60 1 idp:order-8:60', 'x')[1];
    $t->equal($link->words("delete $kept"), ['DELETED'], 'deleted, too');
    $t->equal($link->words('put 1 0 60 1 idp:order-8', 'x'), ['INSERTED', $kept, 'DELETED'], 'its key is there still');
    $t->refused(ServerBadFormatException::class, 'BAD_FORMAT', fn () => $link->words('put 1 0 60 1 idp:'), 'no key');
};

$extended['reserves are shared out by weights'] = function (Expectations $t, string $tube) {
    $link = new Link($tube);
    $weights = ["$tube-a" => 4, "$tube-b" => 2, "$tube-c" => 1];
    foreach ($weights as $name => $weight) {
        $link->words("use $name");
        for ($i = 0; $i < 7; $i++) {
            $link->put($name);
        }
        $link->words("watch $name $weight");
    }
    $t->equal($link->words('reserve-mode weighted'), ['USING', 'weighted'], 'the mode');
    $taken = [];
    for ($i = 0; $i < 7; $i++) {
        $taken[] = $link->body('reserve');
    }
    $taken = array_count_values($taken);
    ksort($taken);
    $t->equal($taken, $weights, 'seven jobs');
    $t->equal($link->words('reserve-mode fifo'), ['USING', 'fifo'], 'back');
    $t->refused(ServerBadFormatException::class, 'BAD_FORMAT', fn () => $link->words("watch $tube 0"),
        'a weight of 0');
};

$extended['tubes tell how long their jobs wait'] = function (Expectations $t, string $tube) {
    $link = new Link($tube);
    $link->put('x');
    $t->equal(array_keys($link->text("stats-tube-detail $tube")), DETAIL_KEYS, 'keys of the detail');
    $t->equal($link->words('stats-tube-detail nowhere'), ['NOT_FOUND'], 'no tube');
    $found = [];
    $from = '*';
    do {
        $page = $link->text("stats-tubes $from 1");
        foreach ($page['tubes'] as $row) {
            $found[$row['name']] = $row;
        }
        $from = $page['next'];
    } while ($from !== '*');
    $names = $link->text('list-tubes');
    sort($names);
    ksort($found);
    $t->equal(array_keys($found), $names, 'every tube, once');
    $t->equal(array_keys($found[$tube]), [...Checks\keys('tube'), ...DETAIL_KEYS], 'keys of a tube');
    $t->equal($found[$tube]['current-jobs-ready'], 1, 'its ready jobs');
};

// The answers of beanstalkd: it knows the first word of some of these commands with other arguments.
const REFUSALS = [
    'flush-tube default' => ServerUnknownCommandException::class,
    'scan-jobs 0 10' => ServerUnknownCommandException::class,
    'list-jobs default ready 10' => ServerUnknownCommandException::class,
    'delete-batch 1 2' => ServerUnknownCommandException::class,
    'stats-tube-detail default' => ServerBadFormatException::class,
    'stats-tubes * 10' => ServerBadFormatException::class,
    'reserve-batch 3' => ServerBadFormatException::class,
    'reserve-batch 3 0' => ServerBadFormatException::class,
    'reserve-mode weighted' => ServerBadFormatException::class,
    'watch other 4' => ServerBadFormatException::class,
];

$none = [];

$none['capabilities is unknown, and the connection stays usable'] = function (Expectations $t, string $tube) {
    $link = new Link($tube);
    $t->refused(ServerUnknownCommandException::class, 'UNKNOWN_COMMAND', fn () => $link->words('capabilities'),
        'capabilities');
    $t->equal($link->abilities(), [], 'so there are none');
    $link->put('still here');
    $t->equal($link->body('reserve'), 'still here', 'a job');
};

$none['each of them is refused, and the connection stays usable'] = function (Expectations $t, string $tube) {
    $link = new Link($tube);
    foreach (REFUSALS as $line => $class) {
        $t->refused($class, 'in response to', fn () => $link->words($line), $line);
        $t->equal($link->text('list-tubes-watched'), [$tube], "after $line");
    }
};

Checks\run(getenv('SERVER_EXTENDED') === 'yes' ? $extended : $none);
