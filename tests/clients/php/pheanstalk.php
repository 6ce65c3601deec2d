<?php
// pheanstalk 4: blocking calls, jobs as objects, stats as an array of texts.
// Ids are numbers. A missing job is null for peeks and timed reserves; all other errors are exceptions.
//
// It parses stats with a regular expression that does not remove double quotes, so its users run a server in
// the style of 1.12.

declare(strict_types=1);

require 'Pheanstalk/autoload.php';
require __DIR__ . '/checks.php';

use Checks\Expectations;
use Pheanstalk\Exception\DeadlineSoonException;
use Pheanstalk\Exception\JobNotFoundException;
use Pheanstalk\Exception\JobTooBigException;
use Pheanstalk\Exception\ServerBadFormatException;
use Pheanstalk\Exception\ServerDrainingException;
use Pheanstalk\Exception\ServerException;
use Pheanstalk\Job;
use Pheanstalk\JobId;
use Pheanstalk\Pheanstalk;
use Pheanstalk\SocketFactory;

const HOST = '127.0.0.1';
const PRIORITY_MAX = 4294967295;
const CHILD_SECONDS_MAX = 60;

$server = new Checks\Server($argv);

function connect(): Pheanstalk
{
    return Pheanstalk::create(HOST, $GLOBALS['server']->port);
}

/** Opens a connection that uses and watches only the scenario's tube. */
function connectTo(string $tube): Pheanstalk
{
    return connect()->useTube($tube)->watchOnly($tube);
}

/** Returns the values of the keys, in their order. */
function pick(iterable $stats, string ...$keys): array
{
    $all = iterator_to_array($stats);
    return array_map(fn (string $key) => $all[$key] ?? null, $keys);
}

/**
 * Waits until the TTR of a job has ended. The holder itself has to poll the state, because beanstalkd 1.12
 * may forget the deadlines of a silent connection while others are active.
 */
function overdue(Expectations $t, Pheanstalk $holder, Job $job): void
{
    $t->until(fn () => $holder->statsJob($job)->state === 'ready', 'the TTR ends');
}

/**
 * Starts a worker in another process: it reserves a job of the tube, reports its body and keeps the job.
 * Returns the end of a socket pair from which the body can be read. Closing it ends the worker.
 */
function startWorker(string $tube)
{
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    if (pcntl_fork() === 0) {
        fclose($ours);
        // pheanstalk reads forever if the server ends. The alarm ends the process then.
        pcntl_alarm(CHILD_SECONDS_MAX);
        try {
            $client = connectTo($tube);  // PHP closes a connection that no variable holds.
            fwrite($theirs, $client->reserve()->getData() . "\n");
            fgets($theirs);
        } finally {
            posix_kill(getmypid(), SIGKILL);  // Only the parent runs the rest of the program.
        }
    }
    fclose($theirs);
    stream_set_timeout($ours, CHILD_SECONDS_MAX);
    return $ours;
}

$scenarios = [];

$scenarios['put, reserve, delete'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $first = $client->put('hello');
    $second = $client->put('world');
    $t->equal($second->getId(), $first->getId() + 1, 'the next id');
    $job = $client->reserve();
    $t->equal([$job->getId(), $job->getData()], [$first->getId(), 'hello'], 'the reserved job');
    $client->delete($job);
    $t->refused(JobNotFoundException::class, 'NOT_FOUND', fn () => $client->delete($job),
        'delete it again');
    $client->delete($second);
    $t->equal($client->peekReady(), null, 'nothing is left');
};

$scenarios['put takes priority, delay and TTR'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $job = $client->put('later', PRIORITY_MAX, 3600, 86400);
    $stats = $client->statsJob($job);
    $t->equal(pick($stats, 'pri', 'delay', 'ttr', 'state'),
        ['4294967295', '3600', '86400', 'delayed'], 'stats');
    $t->between($stats['time-left'], 3500, 3600, 'time-left');
    $hasty = $client->statsJob($client->put('no TTR', 0, 0, 0));
    $t->equal($hasty->ttr, '1', 'TTR 0 becomes 1');
    $plain = $client->statsJob($client->put('defaults'));
    $t->equal(pick($plain, 'pri', 'delay', 'ttr'), ['1024', '0', '60'], "pheanstalk's defaults");
};

$bodies = function (Expectations $t, Pheanstalk $client) {
    foreach (Checks\bodies() as $what => $body) {
        $id = $client->put($body)->getId();
        $seen = $client->peek(new JobId($id));
        $t->equal($seen->getId(), $id, "id peeked ($what)");
        $t->sameBytes($seen->getData(), $body, "peeked $what");
        $job = $client->reserve();
        $t->equal($job->getId(), $id, "id reserved ($what)");
        $t->sameBytes($job->getData(), $body, "reserved $what");
        $client->delete($job);
    }
};

// pheanstalk has three ways to connect to a server, and uses the first by default.
$ways = [
    'PHP sockets' => SocketFactory::SOCKET,
    'PHP streams' => SocketFactory::STREAM,
    'fsockopen' => SocketFactory::FSOCKOPEN,
];
foreach ($ways as $way => $implementation) {
    $factory = new SocketFactory(HOST, $server->port, 10, $implementation);
    $scenarios["bodies come back byte for byte ($way)"] = fn (Expectations $t, string $tube) =>
        $bodies($t, Pheanstalk::createWithFactory($factory)->useTube($tube)->watchOnly($tube));
}

$scenarios['a body that is too big'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $tooBig = fn () => $client->put(str_repeat('x', Checks\JOB_BYTES_MAX + 1));
    $t->refused(JobTooBigException::class, 'JOB_TOO_BIG', $tooBig, 'put');
    $t->equal($client->listTubeUsed(true), $tube, 'the next command is answered');
};

$scenarios['reserve with a timeout'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $t->equal($client->reserveWithTimeout(0), null, 'at once');
    $t->equal($t->takesAtLeast(0.9, fn () => $client->reserveWithTimeout(1), 'a timeout of 1'),
        null, 'after a second');
    $job = $client->put('there');
    $t->equal($client->reserveWithTimeout(10)->getId(), $job->getId(), 'a job that is there');
};

$scenarios['release'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $client->put('again', 5);
    $job = $client->reserve();
    $client->release($job, 7, 3600);
    $keys = ['state', 'pri', 'delay', 'releases'];
    $t->equal(pick($client->statsJob($job), ...$keys), ['delayed', '7', '3600', '1'],
        'release with a delay');
    $t->refused(JobNotFoundException::class, 'NOT_FOUND', fn () => $client->release($job),
        'what is not reserved');
    $client->kickJob($job);
    $client->release($client->reserve(), 9);
    $t->equal(pick($client->statsJob($job), ...$keys), ['ready', '9', '0', '2'],
        'release without a delay');
    $client->release($client->reserve(), 9, 1);
    $back = $t->takesAtLeast(0.9, fn () => $client->reserveWithTimeout(10), 'a delay of 1');
    $t->equal($back->getId(), $job->getId(), 'comes back when its delay is over');
};

$scenarios['bury, kick, kick-job'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $jobs = [];
    foreach (['a', 'b', 'c'] as $body) {
        $client->put($body);
    }
    foreach (['a', 'b', 'c'] as $body) {
        $jobs[$body] = $client->reserve();
        $t->equal($jobs[$body]->getData(), $body, 'reserve in order');
    }
    // Buries in another order than that of the puts: kick and peek follow the order of burying.
    foreach (['b', 'a', 'c'] as $body) {
        $client->bury($jobs[$body], 3);
    }
    $t->equal($client->statsTube($tube)['current-jobs-buried'], '3', 'buried jobs');
    $t->equal($client->peekBuried()->getData(), 'b', 'the one buried first');
    $t->equal($client->kick(2), 2, 'kick two');
    $kicked = pick($client->statsJob($jobs['b']), 'state', 'pri', 'buries', 'kicks');
    $t->equal($kicked, ['ready', '3', '1', '1'], 'a kicked job');
    $t->equal($client->statsJob($jobs['c'])->state, 'buried', 'the third one');
    $client->kickJob($jobs['c']);
    $t->equal($client->statsJob($jobs['c'])->state, 'ready', 'kick-job');
    $again = fn () => $client->kickJob($jobs['c']);
    $t->refused(JobNotFoundException::class, 'NOT_FOUND', $again, 'kick-job of a ready job');
    $t->equal($client->kick(10), 0, 'nothing left to kick');
    $client->put('late', 0, 3600);
    $t->equal($client->kick(10), 1, 'kick takes delayed jobs when none is buried');
    $t->refused(JobNotFoundException::class, 'NOT_FOUND', fn () => $client->bury($jobs['a']),
        'bury a ready job');
};

$scenarios['touch'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $job = $client->put('long work');
    $t->refused(JobNotFoundException::class, 'NOT_FOUND', fn () => $client->touch($job),
        'touch a ready job');
    $client->reserve();
    $t->until(fn () => (int) $client->statsJob($job)['time-left'] <= 57, 'the TTR runs');
    $touched = microtime(true);
    $client->touch($job);
    $left = $client->statsJob($job)['time-left'];
    $seconds = (int) ceil(microtime(true) - $touched);
    $t->between($left, 59 - $seconds, 60, 'time-left after touch');
};

$scenarios['peek'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $t->equal([$client->peekReady(), $client->peekDelayed(), $client->peekBuried()],
        [null, null, null], 'empty tube');
    $client->put('buried');
    $client->bury($client->reserve());
    $ready = $client->put('ready', 2);
    $client->put('urgent', 1);
    $client->put('late', 0, 7200);
    $client->put('sooner', 0, 3600);
    $t->equal($client->peekReady()->getData(), 'urgent', 'peek-ready');
    $t->equal($client->peekDelayed()->getData(), 'sooner', 'peek-delayed');
    $t->equal($client->peekBuried()->getData(), 'buried', 'peek-buried');
    $t->equal($client->peek($ready)->getData(), 'ready', 'peek');
    $unknown = fn () => $client->peek(new JobId(999999999));
    $t->refused(JobNotFoundException::class, 'NOT_FOUND', $unknown, 'peek an unknown id');
};

$scenarios['a job whose TTR ends comes back'] = function (Expectations $t, string $tube) {
    [$slow, $next] = [connectTo($tube), connectTo($tube)];
    $before = (int) $next->stats()['job-timeouts'];
    $job = $slow->put('too slow', 0, 0, 1);
    $slow->reserve();
    overdue($t, $slow, $job);
    $t->equal($next->reserveWithTimeout(15)->getId(), $job->getId(), 'goes to another');
    $found = pick($next->statsJob($job), 'state', 'reserves', 'timeouts', 'releases');
    $t->equal($found, ['reserved', '2', '1', '0'], 'its counters');
    $t->equal((int) $next->stats()['job-timeouts'] - $before, 1, 'job-timeouts');
    foreach (['touch', 'release', 'bury', 'delete'] as $command) {
        $refused = fn () => $slow->$command($job);
        $t->refused(JobNotFoundException::class, 'NOT_FOUND', $refused,
            "$command by its former holder");
    }
};

$scenarios['DEADLINE_SOON'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $job = $client->put('nearly over', 0, 0, 2);
    $client->reserve();
    $t->refused(DeadlineSoonException::class, '', fn () => $client->reserve(),
        'to one who waits for more');
    overdue($t, $client, $job);
    $t->equal($client->reserveWithTimeout(15)->getId(), $job->getId(), 'then the job comes back');
    $job = $client->put('once more', 0, 0, 2);
    $client->reserve();
    $refused = fn () => $client->reserveWithTimeout(15);
    $t->refused(DeadlineSoonException::class, '', $refused, 'to one who waits with a timeout');
};

$scenarios['stats of a job'] = function (Expectations $t, string $tube) use ($server) {
    $client = connectTo($tube);
    $job = $client->put('counted', 1023, 0, 120);
    $stats = iterator_to_array($client->statsJob($job));
    $t->equal(array_keys($stats), Checks\keys('job'), 'keys, in order');
    $t->between($stats['age'], 0, 60, 'age');
    $t->equal(['age' => '0'] + $stats, ['age' => '0'] + [
        'id' => (string) $job->getId(), 'tube' => $server->text($tube), 'state' => 'ready',
        'pri' => '1023', 'delay' => '0', 'ttr' => '120', 'time-left' => '0', 'file' => '0',
        'reserves' => '0', 'timeouts' => '0',
        'releases' => '0', 'buries' => '0', 'kicks' => '0',
    ], 'all of a ready job');
    $client->reserve();
    $t->between($client->statsJob($job)->time_left, 60, 120, 'time-left of a reserved job');
    $unknown = fn () => $client->statsJob(new JobId(999999999));
    $t->refused(ServerException::class, 'NOT_FOUND', $unknown, 'of an unknown id');
};

$scenarios['stats of a tube'] = function (Expectations $t, string $tube) use ($server) {
    $client = connectTo($tube);
    $jobs = array_map(fn (int $priority) => $client->put('x', $priority), [0, 1023, 1024, 2000]);
    $client->put('late', 0, 3600);
    $client->reserve();
    $client->delete($jobs[3]);
    $t->equal(iterator_to_array($client->statsTube($tube)), [
        'name' => $server->text($tube), 'current-jobs-urgent' => '1', 'current-jobs-ready' => '2',
        'current-jobs-reserved' => '1', 'current-jobs-delayed' => '1', 'current-jobs-buried' => '0',
        'total-jobs' => '5', 'current-using' => '1', 'current-watching' => '1',
        'current-waiting' => '0',
        'cmd-delete' => '1', 'cmd-pause-tube' => '0', 'pause' => '0', 'pause-time-left' => '0',
    ], 'all of a tube, in order');
    $found = array_keys(iterator_to_array($client->statsTube($tube)));
    $t->equal($found, Checks\keys('tube'), 'keys, in order');
    $t->refused(ServerException::class, 'NOT_FOUND', fn () => $client->statsTube('nowhere'),
        'of an unknown tube');
};

$scenarios['stats of the server'] = function (Expectations $t, string $tube) use ($server) {
    $client = connect();
    $stats = iterator_to_array($client->stats());
    $keys = Checks\keys('server');
    $t->equal(array_slice(array_keys($stats), 0, count($keys)), $keys, 'keys, in order');
    // beanstalkd 1.12 quotes only the version, and this client keeps the quotes.
    $t->equal($stats['version'], $server->quoted ? '"1.13"' : '"1.12"', 'version');
    $t->equal($stats['hostname'], $server->text(php_uname('n')), 'hostname');
    $t->equal($stats['os'], $server->text(php_uname('v')), 'os');
    $t->equal($stats['platform'], $server->text(php_uname('m')), 'platform');
    $others = pick($stats, 'pid', 'max-job-size', 'draining');
    $t->equal($others, [(string) $server->pid, '65535', 'false'], 'others');
    $t->equal(preg_match('/^[0-9a-f]{16}$/', $stats['id']), 1, 'id is 16 hex digits');
    $t->equal(preg_match('/^\d+\.\d{6}$/', $stats['rusage-utime']), 1,
        'rusage-utime is seconds with six digits');
    $t->until(fn () => $client->stats()->current_connections === '1', 'the others are gone');
    $other = connectTo($tube);
    $counters = [
        'cmd-put', 'cmd-reserve', 'cmd-reserve-with-timeout', 'cmd-delete', 'cmd-bury', 'cmd-kick',
        'cmd-peek', 'cmd-peek-ready', 'cmd-stats-job', 'cmd-list-tubes', 'total-jobs',
    ];
    $before = pick($client->stats(), ...$counters);
    $job = $other->put('x');
    $other->peekReady();
    $other->peek($job);
    $other->bury($other->reserve());
    $other->kick(1);
    $other->statsJob($job);
    $other->listTubes();
    $other->delete($other->reserveWithTimeout(0));
    $after = pick($client->stats(), ...$counters);
    $grown = array_map(fn ($now, $then) => (int) $now - (int) $then, $after, $before);
    $t->equal($grown, array_fill(0, count($counters), 1), 'each command counted once');
    $who = ['current-connections', 'current-producers', 'current-workers', 'current-waiting'];
    $found = pick($client->stats(), ...$who);
    $t->equal($found, ['2', '1', '1', '0'], 'connections, producers, workers, waiting');
};

$scenarios['use, watch, ignore, list'] = function (Expectations $t, string $tube) use ($server) {
    $client = connect();
    $t->equal([$client->listTubeUsed(true), $client->listTubesWatched(true)],
        ['default', ['default']], 'at first');
    $client->useTube($tube)->watch($tube)->watch("$tube/b")->ignore('default');
    $t->equal($client->listTubeUsed(true), $tube, 'used after that');
    $watched = $client->listTubesWatched(true);
    sort($watched);
    $t->equal($watched, [$tube, "$tube/b"], 'watched after that');
    $client->ignore($tube);
    $last = fn () => $client->ignore("$tube/b");
    $t->refused(ServerException::class, 'NOT_IGNORED', $last, 'ignore the last one');
    $t->equal(array_diff(['default', $tube, "$tube/b"], $client->listTubes()), [],
        'list-tubes has them');
    $elsewhere = $client->put('not watched');
    $t->equal($client->reserveWithTimeout(0), null, 'a tube not watched');
    $t->equal($client->statsJob($elsewhere)->tube, $server->text($tube), 'tube of the job');
    $t->equal($client->watchOnly($tube)->reserve()->getData(), 'not watched', 'once it is watched');
    $t->equal($client->listTubesWatched(true), [$tube], 'the only one watched');
};

$scenarios['pause'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $job = $client->put('held back');
    $client->pauseTube($tube, 3600);
    $t->equal($client->reserveWithTimeout(0), null, 'no job of a paused tube');
    $stats = $client->statsTube($tube);
    $t->equal(pick($stats, 'pause', 'cmd-pause-tube', 'current-jobs-ready'), ['3600', '1', '1'],
        'its stats');
    $t->between($stats['pause-time-left'], 3500, 3600, 'pause-time-left');
    $client->resumeTube($tube);
    $t->equal($client->reserveWithTimeout(10)->getId(), $job->getId(), 'a pause of 0 ends it');
    $client->release($job);
    $client->pauseTube($tube, 1);
    $back = $t->takesAtLeast(0.9, fn () => $client->reserve(), 'a pause of 1');
    $t->equal($back->getId(), $job->getId(), 'one who waits gets the job when the pause ends');
    $unknown = fn () => $client->pauseTube('nowhere', 1);
    $t->refused(ServerException::class, 'NOT_FOUND', $unknown, 'an unknown tube');
};

$scenarios['errors'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $mistakes = [
        'a name with a blank' => fn () => $client->useTube('two words'),
        'a name that starts with a hyphen' => fn () => $client->watch('-x'),
        'a name of 201 bytes' => fn () => $client->useTube(str_repeat('n', 201)),
        'a priority beyond 32 bits' => fn () => $client->bury(new JobId(1), PRIORITY_MAX + 1),
        // Sent as 18446744073709551615.
        'a negative delay' => fn () => $client->release(new JobId(1), 0, -1),
    ];
    foreach ($mistakes as $what => $mistake) {
        $t->refused(ServerBadFormatException::class, 'BAD_FORMAT', $mistake, $what);
    }
    $t->equal($client->listTubeUsed(true), $tube, 'the connection stays usable');
};

$scenarios['jobs leave by priority, then by age'] = function (Expectations $t, string $tube) {
    $client = connectTo($tube);
    $jobs = [
        ['low', 30], ['high', 10], ['middle', 20], ['high too', 10],
        ['lowest', PRIORITY_MAX], ['highest', 0],
    ];
    foreach ($jobs as [$body, $priority]) {
        $client->put($body, $priority);
    }
    $order = [];
    for ($count = 0; $count < 6; $count++) {
        $order[] = $client->reserve()->getData();
    }
    $t->equal($order, ['highest', 'high', 'high too', 'middle', 'low', 'lowest'], 'order');
};

$scenarios['the worker who came first is served first'] = function (Expectations $t, string $tube) {
    $producer = connect()->useTube($tube);
    $waiting = fn (string $count) =>
        fn () => $producer->statsTube($tube)->current_waiting === $count;
    $first = startWorker($tube);
    $t->until($waiting('1'), 'the first worker waits');
    $second = startWorker($tube);
    $t->until($waiting('2'), 'the second worker waits');
    $producer->put('a');
    $producer->put('b');
    $t->equal([fgets($first), fgets($second)], ["a\n", "b\n"], 'who got what');
    fclose($first);
    fclose($second);
    // Both processes end without a command, and the server returns the jobs to the tube.
    $t->until(fn () => $producer->statsTube($tube)['current-jobs-ready'] === '2',
        'their jobs are ready again');
    while (pcntl_wait($status) > 0) {
    }
};

$scenarios['a closed connection gives its jobs back'] = function (Expectations $t, string $tube) {
    $leaving = connectTo($tube);
    $staying = connectTo($tube);
    $job = $leaving->put('left behind', 0, 0, 3600);
    $leaving->reserve();
    unset($leaving);  // PHP closes the socket with the last reference.
    $t->equal($staying->reserveWithTimeout(15)->getId(), $job->getId(), 'the job');
    $found = pick($staying->statsJob($job), 'reserves', 'timeouts', 'releases');
    $t->equal($found, ['2', '0', '0'], 'its counters');
};

// Last, because the server stays in this mode.
$scenarios['drain mode'] = function (Expectations $t, string $tube) use ($server) {
    $client = connectTo($tube);
    posix_kill($server->pid, SIGUSR1);
    $t->until(fn () => $client->stats()->draining === 'true', 'draining is true');
    $t->refused(ServerDrainingException::class, 'DRAINING', fn () => $client->put('too late'),
        'put');
    $t->equal($client->reserveWithTimeout(0), null, 'other commands work');
};

Checks\run($scenarios);
