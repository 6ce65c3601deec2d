<?php
// Symfony's Messenger 5.4 with its beanstalkd transport, which uses pheanstalk: messages through its worker
// loop, with delays, retries and a transport for failed messages.
//
// It reads only one number of stats-tube, so it works with both styles of YAML.

declare(strict_types=1);

require 'Symfony/Component/Messenger/Bridge/Beanstalkd/autoload.php';
require 'Symfony/Component/EventDispatcher/autoload.php';
require 'Psr/Container/autoload.php';  // Debian 13's messenger does not load it.
require __DIR__ . '/checks.php';

use Checks\Expectations;
use Pheanstalk\Pheanstalk;
use Psr\Container\ContainerInterface;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdTransport;
use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdTransportFactory;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\EventListener\SendFailedMessageForRetryListener;
use Symfony\Component\Messenger\EventListener\SendFailedMessageToFailureTransportListener;
use Symfony\Component\Messenger\Exception\TransportException;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
use Symfony\Component\Messenger\Stamp\DelayStamp;
use Symfony\Component\Messenger\Stamp\RedeliveryStamp;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Worker;

const CHILD_SECONDS_MAX = 60;

$server = new Checks\Server($argv);

final class Note
{
    public function __construct(public string $text)
    {
    }
}

/** Returns objects by name, in place of Symfony's container. */
final class Named implements ContainerInterface
{
    public function __construct(private array $things)
    {
    }

    public function get(string $id)
    {
        return $this->things[$id];
    }

    public function has(string $id): bool
    {
        return isset($this->things[$id]);
    }
}

function transport(string $tube, array $options = []): BeanstalkdTransport
{
    $dsn = "beanstalkd://127.0.0.1:{$GLOBALS['server']->port}";
    $factory = new BeanstalkdTransportFactory();
    return $factory->createTransport($dsn, ['tube_name' => $tube] + $options, new PhpSerializer());
}

function tubeStats(string $tube): array
{
    $client = Pheanstalk::create('127.0.0.1', $GLOBALS['server']->port);
    return iterator_to_array($client->statsTube($tube));
}

/** Sends texts as messages of the type Note. */
function send(BeanstalkdTransport $to, string ...$texts): void
{
    foreach ($texts as $text) {
        $to->send(new Envelope(new Note($text)));
    }
}

/**
 * Runs the worker loop on transports by name until the handler returns `true`. The handler gets a text; the
 * message fails if it throws.
 */
function work(array $transports, callable $handler, ?EventDispatcher $events = null): void
{
    $worker = null;
    $handle = function (Note $note) use (&$worker, $handler) {
        if ($handler($note->text) === true) {
            $worker->stop();
        }
    };
    $bus = new MessageBus([new HandleMessageMiddleware(new HandlersLocator([Note::class => [$handle]]))]);
    $worker = new Worker($transports, $bus, $events);
    $worker->run(['sleep' => 10000]);
}

$scenarios['messages go through the worker in order'] = function (Expectations $t, string $tube) {
    $transport = transport($tube);
    send($transport, 'one', 'two', 'three');
    $t->equal($transport->getMessageCount(), 3, 'messages that wait');
    $seen = [];
    work([$tube => $transport], function (string $text) use (&$seen) {
        $seen[] = $text;
        return $text === 'three';
    });
    $t->equal($seen, ['one', 'two', 'three'], 'what was handled');
    $t->equal($transport->getMessageCount(), 0, 'messages that wait now');
    $stats = tubeStats($tube);
    $t->equal([$stats['total-jobs'], $stats['cmd-delete'], $stats['current-jobs-reserved']],
        ['3', '3', '0'], 'the tube');
};

$scenarios['a message is what it was'] = function (Expectations $t, string $tube) {
    $transport = transport($tube);
    foreach (Checks\bodies() as $name => $text) {
        if (strlen($text) > 30000) {
            continue;  // In base64 and JSON it would exceed the maximum size of a job.
        }
        send($transport, $text);
        $got = iterator_to_array((function () use ($transport) { yield from $transport->get(); })());
        $t->equal(count($got), 1, "one message ($name)");
        $t->sameBytes($got[0]->getMessage()->text, $text, $name);
        $transport->ack($got[0]);
    }
    $t->equal([...$transport->get()], [], 'no message is left');
};

$scenarios['a delay'] = function (Expectations $t, string $tube) {
    $transport = transport($tube);
    // Measured from before the message is sent, because sending may take a part of the delay.
    $t->takesAtLeast(0.9, function () use ($t, $tube, $transport) {
        $transport->send(new Envelope(new Note('late'), [new DelayStamp(1000)]));
        $t->equal([...$transport->get()], [], 'not yet');
        $t->equal(tubeStats($tube)['current-jobs-delayed'], '1', 'it is delayed');
        work([$tube => $transport], fn () => true);
    }, 'the delay');
    $t->equal(tubeStats($tube)['current-jobs-delayed'], '0', 'then it is handled');
};

$scenarios['what fails is sent again, and then put aside'] = function (Expectations $t, string $tube) {
    [$transport, $failed] = [transport($tube), transport("$tube-failed")];
    $events = new EventDispatcher();
    $strategy = new MultiplierRetryStrategy(2, 1000, 1);
    $events->addSubscriber(new SendFailedMessageForRetryListener(
        new Named([$tube => $transport]), new Named([$tube => $strategy])));
    $events->addSubscriber(new SendFailedMessageToFailureTransportListener(
        new Named([$tube => $failed])));
    send($transport, 'bad');
    $tries = 0;
    $handler = function (string $text) use (&$tries, $transport) {
        if ($text === 'end') {
            return true;
        }
        if (++$tries === 3) {
            send($transport, 'end');
        }
        throw new \RuntimeException('on purpose');
    };
    $t->takesAtLeast(1.8, fn () => work([$tube => $transport], $handler, $events), 'two delays');
    $t->equal($tries, 3, 'tries');
    $t->equal([$transport->getMessageCount(), $failed->getMessageCount()], [0, 1],
        'messages that wait, and those put aside');
    $aside = [...$failed->get()];
    $t->equal($aside[0]->getMessage()->text, 'bad', 'the one put aside');
    $t->equal($aside[0]->last(RedeliveryStamp::class)->getRetryCount(), 0, 'it may be tried anew');
    $failed->reject($aside[0]);
    $t->equal(tubeStats($tube)['total-jobs'], '4', 'each try was a job of its own');
};

$scenarios['transports in front are served first'] = function (Expectations $t, string $tube) {
    [$high, $low] = [transport("$tube-high"), transport("$tube-low")];
    send($low, 'low 1', 'low 2');
    send($high, 'high 1', 'high 2');
    $seen = [];
    work(['high' => $high, 'low' => $low], function (string $text) use (&$seen) {
        $seen[] = $text;
        return count($seen) === 4;
    });
    $t->equal($seen, ['high 1', 'high 2', 'low 1', 'low 2'], 'order');
};

$scenarios['a worker that dies loses nothing'] = function (Expectations $t, string $tube) {
    $transport = transport($tube);
    send($transport, 'precious');
    $child = pcntl_fork();
    if ($child === 0) {
        pcntl_alarm(CHILD_SECONDS_MAX);
        work([$tube => transport($tube)], fn () => posix_kill(posix_getpid(), SIGKILL));
    }
    pcntl_waitpid($child, $status);
    $t->equal(pcntl_wifsignaled($status), true, 'it died in its handler');
    $t->until(fn () => $transport->getMessageCount() === 1, 'the message waits again');
    work([$tube => $transport], function (string $text) use ($t) {
        $t->equal($text, 'precious', 'the next worker gets it');
        return true;
    });
};

$scenarios['a message whose TTR ends comes back'] = function (Expectations $t, string $tube) {
    $slow = transport($tube, ['ttr' => 1]);
    send($slow, 'slow');
    $held = [...$slow->get()];
    // Polls, because beanstalkd 1.12 may forget the deadlines of a silent connection.
    $t->until(fn () => $slow->getMessageCount() === 1, 'it waits again');
    $other = transport($tube, ['timeout' => 10]);
    $t->equal(count([...$other->get()]), 1, 'it goes to another');
    $t->refused(TransportException::class, 'NOT_FOUND', fn () => $slow->ack($held[0]),
        'its former holder');
};

$scenarios['errors'] = function (Expectations $t, string $tube) {
    $t->refused(TransportException::class, 'JOB_TOO_BIG',
        fn () => send(transport($tube), str_repeat('x', 70000)), 'a message that is too big');
    $t->refused(TransportException::class, 'BAD_FORMAT',
        fn () => send(transport('two words'), 'x'), 'a name that is none');
};

// Last, because the server stays in this mode.
$scenarios['drain mode'] = function (Expectations $t, string $tube) use ($server) {
    posix_kill($server->pid, SIGUSR1);
    $client = Pheanstalk::create('127.0.0.1', $server->port);
    $t->until(fn () => $client->stats()->draining === 'true', 'draining is true');
    $t->refused(TransportException::class, 'DRAINING', fn () => send(transport($tube), 'x'), 'send');
};

Checks\run($scenarios);
