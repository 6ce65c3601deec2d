// jackd: promises, options as an object, stats as the YAML text that the server sent.
// Ids are strings, bodies are buffers, counts are numbers. The message of an error is the answer, or
// `Unexpected response: ` and the answer if jackd does not expect it.
//
// Limitations of jackd 2.2.2 with any server:
//  - it puts a buffer as its JSON text, so binary bodies are put without the library;
//  - it refuses to put an empty body;
//  - it changes a TTR of 0 to 60;
//  - it pauses a tube without sending the CR LF, see the scenario.

'use strict';

const os = require('os');
const Jackd = require('jackd');
const checks = require('./checks');

const {
  between, connectTo, equal, kPriorityMax, refused, scenario, secondsSince, server, until,
} = checks;

function open() {
  return new Jackd().connect({ host: server.host, port: server.port });
}

// Returns a text value in the server's style.
function text(value) {
  return server.quoted ? `"${value}"` : value;
}

// Returns the values of a YAML text, as texts: a program that uses jackd has to do this itself.
function values(yaml) {
  const lines = yaml.split('\n').slice(1, -1);
  return Object.fromEntries(lines.map(line => line.split(/: (.*)/).slice(0, 2)));
}

async function jobStats(client, id) {
  return values(await client.statsJob(id));
}

async function tubeStats(client, tube) {
  return values(await client.statsTube(tube));
}

async function serverStats(client) {
  return values(await client.stats());
}

const overdue = (holder, id) => checks.overdue(async () => (await jobStats(holder, id)).state);

scenario('put, reserve, delete', async t => {
  const client = await connectTo(t);
  const first = await client.put('hello');
  const second = await client.put('world');
  equal(/^\d+$/.test(first), true, 'an id is digits');
  equal(Number(second), Number(first) + 1, 'the next id');
  const job = await client.reserve();
  equal([job.id, job.payload.toString()], [first, 'hello'], 'the reserved job');
  equal(await client.delete(job.id), undefined, 'delete a reserved job');
  await refused(client.delete(job.id), 'NOT_FOUND', 'delete it again');
  equal(await client.delete(second), undefined, 'delete a ready job');
});

scenario('put takes priority, delay and TTR', async t => {
  const client = await connectTo(t);
  const id = await client.put('later', { priority: kPriorityMax, delay: 3600, ttr: 86400 });
  const stats = await jobStats(client, id);
  equal([stats.pri, stats.delay, stats.ttr, stats.state],
    [`${kPriorityMax}`, '3600', '86400', 'delayed'], 'stats');
  between(Number(stats['time-left']), 3500, 3600, 'time-left');
  const plain = await jobStats(client, await client.put('defaults'));
  equal([plain.pri, plain.delay, plain.ttr, plain.state], ['0', '0', '60', 'ready'],
    "jackd's defaults");
});

scenario('bodies that jackd puts', async t => {
  const client = await connectTo(t);
  const letters = String.fromCharCode(...Array.from({ length: 255 }, (_, index) => index + 1));
  for (const [what, body, expected] of [
    ['every letter up to U+00FF, in UTF-8', letters, Buffer.from(letters)],
    ['CR LF inside', 'a\r\nRESERVED 1 3\r\nabc\r\n', Buffer.from('a\r\nRESERVED 1 3\r\nabc\r\n')],
    ['60 KB', 'm\u00fcll'.repeat(12288), Buffer.from('m\u00fcll'.repeat(12288))],
    ['an object', { a: [1, 'b'] }, Buffer.from('{"a":[1,"b"]}')],
    ['a buffer', Buffer.from('ab'), Buffer.from('{"type":"Buffer","data":[97,98]}')],
  ]) {
    const id = await client.put(body);
    const job = await client.reserve();
    equal(job.id, id, `id (${what})`);
    checks.sameBytes(job.payload, expected, what);
  }
});

scenario('bodies that jackd gets', async t => {
  const client = await connectTo(t);
  for (const [what, body] of [...checks.bodies, ['nothing', Buffer.alloc(0)]]) {
    const id = await checks.putOverWire(t.tube, body);
    const seen = await client.peek(id);
    equal(seen.id, id, `id peeked (${what})`);
    checks.sameBytes(seen.payload, body, `peeked ${what}`);
    const job = await client.reserve();
    equal(job.id, id, `id reserved (${what})`);
    checks.sameBytes(job.payload, body, `reserved ${what}`);
    await client.delete(id);
  }
});

scenario('a body that is too big', async t => {
  const client = await connectTo(t);
  const tooBig = client.put('x'.repeat(checks.kJobBytesMax + 1));
  await refused(tooBig, 'JOB_TOO_BIG', 'put');
  equal(await client.listTubeUsed(), t.tube, 'the next command is answered');
});

scenario('reserve with a timeout', async t => {
  const client = await connectTo(t);
  await refused(client.reserveWithTimeout(0), 'TIMED_OUT', 'at once');
  const waits = refused(client.reserveWithTimeout(1), 'TIMED_OUT', 'after a second');
  await checks.takesAtLeast(900, waits, 'a timeout of 1');
  const id = await client.put('there');
  equal((await client.reserveWithTimeout(10)).id, id, 'a job that is there');
});

scenario('reserve-job', async t => {
  const client = await connectTo(t);
  await client.put('first');
  const late = await client.put('late', { delay: 3600 });
  const job = await client.reserveJob(late);
  equal([job.id, job.payload.toString()], [late, 'late'], 'a delayed job');
  equal((await jobStats(client, late)).state, 'reserved', 'its state');
  await refused(client.reserveJob(late), 'NOT_FOUND', 'a reserved job');
  await client.bury(late);
  equal((await client.reserveJob(late)).id, late, 'a buried job');
  await refused(client.reserveJob('999999999'), 'NOT_FOUND', 'an unknown id');
});

scenario('release', async t => {
  const client = await connectTo(t);
  const id = await client.put('again', { priority: 5 });
  await client.reserve();
  equal(await client.release(id, { priority: 7, delay: 3600 }), undefined, 'release with a delay');
  let stats = await jobStats(client, id);
  equal([stats.state, stats.pri, stats.delay, stats.releases], ['delayed', '7', '3600', '1'],
    'after that');
  await refused(client.release(id), 'NOT_FOUND', 'release what is not reserved');
  await client.kickJob(id);
  await client.reserve();
  await client.release(id, { priority: 9 });
  stats = await jobStats(client, id);
  equal([stats.state, stats.pri, stats.delay, stats.releases], ['ready', '9', '0', '2'],
    'without a delay');
  await client.reserve();
  await client.release(id, { delay: 1 });
  const back = await checks.takesAtLeast(900, client.reserveWithTimeout(10), 'a delay of 1');
  equal(back.id, id, 'comes back when its delay is over');
});

scenario('bury, kick, kick-job', async t => {
  const client = await connectTo(t);
  const ids = [];
  for (const body of ['a', 'b', 'c']) ids.push(await client.put(body));
  for (const id of ids) equal((await client.reserve()).id, id, 'reserve in order');
  // Buries in another order than that of the puts: kick and peek follow the order of burying.
  for (const id of [ids[1], ids[0], ids[2]]) equal(await client.bury(id, 3), undefined, 'bury');
  equal((await tubeStats(client, t.tube))['current-jobs-buried'], '3', 'buried jobs');
  equal((await client.peekBuried()).id, ids[1], 'the one buried first');
  equal(await client.kick(2), 2, 'kick two');
  const stats = await jobStats(client, ids[1]);
  equal([stats.state, stats.pri, stats.buries, stats.kicks], ['ready', '3', '1', '1'],
    'a kicked job');
  equal((await jobStats(client, ids[2])).state, 'buried', 'the third one');
  equal(await client.kickJob(ids[2]), undefined, 'kick-job');
  await refused(client.kickJob(ids[2]), 'NOT_FOUND', 'kick-job of a ready job');
  equal(await client.kick(10), 0, 'nothing left to kick');
  await client.put('late', { delay: 3600 });
  equal(await client.kick(10), 1, 'kick takes delayed jobs when none is buried');
  await refused(client.bury(ids[0]), 'NOT_FOUND', 'bury what is not reserved');
});

scenario('touch', async t => {
  const client = await connectTo(t);
  const id = await client.put('long work');
  await refused(client.touch(id), 'NOT_FOUND', 'touch a ready job');
  await client.reserve();
  await until(async () => Number((await jobStats(client, id))['time-left']) <= 57, 'the TTR runs');
  const touched = Date.now();
  equal(await client.touch(id), undefined, 'touch');
  const left = Number((await jobStats(client, id))['time-left']);
  between(left, 59 - secondsSince(touched), 60, 'time-left after touch');
});

scenario('peek', async t => {
  const client = await connectTo(t);
  for (const peek of ['peekReady', 'peekDelayed', 'peekBuried']) {
    await refused(client[peek](), 'NOT_FOUND', `${peek} in an empty tube`);
  }
  const buried = await client.put('buried');
  await client.reserve();
  await client.bury(buried);
  const ready = await client.put('ready', { priority: 2 });
  const urgent = await client.put('urgent', { priority: 1 });
  await client.put('late', { delay: 7200 });
  const sooner = await client.put('sooner', { delay: 3600 });
  const pair = job => [job.id, job.payload.toString()];
  equal(pair(await client.peekReady()), [urgent, 'urgent'], 'peek-ready');
  equal(pair(await client.peekDelayed()), [sooner, 'sooner'], 'peek-delayed');
  equal(pair(await client.peekBuried()), [buried, 'buried'], 'peek-buried');
  equal(pair(await client.peek(ready)), [ready, 'ready'], 'peek');
  await refused(client.peek('999999999'), 'NOT_FOUND', 'peek an unknown id');
});

scenario('a job whose TTR ends comes back', async t => {
  const [slow, next] = [await connectTo(t), await connectTo(t)];
  const before = await serverStats(next);
  const id = await slow.put('too slow', { ttr: 1 });
  await slow.reserve();
  await overdue(slow, id);
  equal((await next.reserveWithTimeout(15)).id, id, 'goes to another');
  const stats = await jobStats(next, id);
  equal([stats.state, stats.reserves, stats.timeouts, stats.releases], ['reserved', '2', '1', '0'],
    'its counters');
  const after = await serverStats(next);
  equal(Number(after['job-timeouts']) - Number(before['job-timeouts']), 1, 'job-timeouts');
  for (const command of ['touch', 'release', 'bury', 'delete']) {
    await refused(slow[command](id), 'NOT_FOUND', `${command} by its former holder`);
  }
});

scenario('DEADLINE_SOON', async t => {
  const client = await connectTo(t);
  const id = await client.put('nearly over', { ttr: 2 });
  await client.reserve();
  await refused(client.reserve(), 'DEADLINE_SOON', 'to one who waits for more');
  await overdue(client, id);
  equal((await client.reserveWithTimeout(15)).id, id, 'then the job comes back');
});

scenario('stats of a job', async t => {
  const client = await connectTo(t);
  const id = await client.put('counted', { priority: 1023, ttr: 120 });
  const yaml = await client.statsJob(id);
  equal(yaml.replace(/^age: \d+$/m, 'age: 0'), [
    '---', `id: ${id}`, `tube: ${text(t.tube)}`, 'state: ready', 'pri: 1023', 'age: 0', 'delay: 0',
    'ttr: 120', 'time-left: 0', 'file: 0', 'reserves: 0', 'timeouts: 0', 'releases: 0',
    'buries: 0', 'kicks: 0', '',
  ].join('\n'), 'the text for a ready job');
  equal(Object.keys(values(yaml)), checks.keys.job, 'keys, in order');
  await client.reserve();
  between(Number((await jobStats(client, id))['time-left']), 60, 120,
    'time-left of a reserved job');
  const unknown = await checks.failure(client.statsJob('999999999'), 'unknown');
  equal([unknown.constructor.name, unknown.response], ['InvalidResponseError', 'NOT_FOUND'],
    'of an unknown id');
});

scenario('stats of a tube', async t => {
  const client = await connectTo(t);
  const ids = [];
  for (const priority of [0, 1023, 1024, 2000]) ids.push(await client.put('x', { priority }));
  await client.put('late', { delay: 3600 });
  await client.reserve();
  await client.delete(ids[3]);
  const yaml = await client.statsTube(t.tube);
  equal(yaml, [
    '---', `name: ${text(t.tube)}`, 'current-jobs-urgent: 1', 'current-jobs-ready: 2',
    'current-jobs-reserved: 1',
    'current-jobs-delayed: 1', 'current-jobs-buried: 0', 'total-jobs: 5', 'current-using: 1',
    'current-watching: 1', 'current-waiting: 0', 'cmd-delete: 1', 'cmd-pause-tube: 0', 'pause: 0',
    'pause-time-left: 0', '',
  ].join('\n'), 'the text');
  equal(Object.keys(values(yaml)), checks.keys.tube, 'keys, in order');
  const unknown = client.statsTube('nowhere');
  await refused(unknown, 'Unexpected response: NOT_FOUND', 'of an unknown tube');
});

scenario('stats of the server', async t => {
  const client = await t.connect();
  const stats = await serverStats(client);
  equal(Object.keys(stats).slice(0, checks.keys.server.length), checks.keys.server,
    'keys, in order');
  // beanstalkd 1.12 quotes only the version.
  equal(stats.version, server.quoted ? '"1.13"' : '"1.12"', 'version');
  equal(stats.hostname, text(os.hostname()), 'hostname');
  equal(stats.os, text(os.version()), 'os');
  equal(stats.platform, text(os.machine()), 'platform');
  equal([stats.pid, stats['max-job-size'], stats.draining], [`${server.pid}`, '65535', 'false'],
    'others');
  equal(/^[0-9a-f]{16}$/.test(stats.id), true, 'id is 16 hex digits');
  equal(/^\d+\.\d{6}$/.test(stats['rusage-utime']), true,
    'rusage-utime is seconds with six digits');
  await until(async () => (await serverStats(client))['current-connections'] === '1',
    'the others are gone');
  const [producer, worker] = [await connectTo(t), await connectTo(t)];
  const before = await serverStats(client);
  await producer.put('x');
  await worker.delete((await worker.reserve()).id);
  await worker.close();
  await until(async () => (await serverStats(client))['current-connections'] === '2',
    'the worker is gone');
  const after = await serverStats(client);
  const grown = key => Number(after[key]) - Number(before[key]);
  equal(['total-jobs', 'cmd-put', 'cmd-reserve', 'cmd-delete', 'cmd-use'].map(grown),
    [1, 1, 1, 1, 0], 'counters');
  equal([after['current-producers'], after['current-workers']], ['1', '0'], 'producers, workers');
});

scenario('tubes: use, watch, ignore, list', async t => {
  const client = await t.connect();
  equal(await client.listTubeUsed(), 'default', 'used at first');
  equal(await client.listTubesWatched(), '---\n- default\n', 'watched at first');
  equal(await client.use(t.tube), t.tube, 'use');
  equal(await client.getCurrentTube(), t.tube, 'used after that');
  equal(await client.watch(t.tube), 2, 'watch');
  equal(await client.watch(t.tube), 2, 'watch twice counts once');
  equal(await client.watch(`${t.tube}/b`), 3, 'watch another');
  equal(await client.ignore('default'), 2, 'ignore');
  const watched = (await client.listTubesWatched()).split('\n').sort();
  equal(watched, ['', `- ${t.tube}`, `- ${t.tube}/b`, '---'], 'watched after that');
  await client.ignore(t.tube);
  const last = client.ignore(`${t.tube}/b`);
  await refused(last, 'NOT_IGNORED', 'ignore the last one');
  const all = (await client.listTubes()).split('\n');
  equal(['- default', `- ${t.tube}`, `- ${t.tube}/b`].every(line => all.includes(line)), true,
    'list-tubes');
  const elsewhere = await client.put('not watched');
  await refused(client.reserveWithTimeout(0), 'TIMED_OUT', 'a tube not watched');
  equal((await jobStats(client, elsewhere)).tube, text(t.tube), 'tube of the job');
});

scenario('pause', async t => {
  const client = await connectTo(t);
  const id = await client.put('held back');
  let pauses = 0;
  const pause = async options => {
    const answered = client.pauseTube(t.tube, options);
    // jackd leaves the end of the line to its user, so no command has been sent yet.
    equal((await tubeStats(await t.connect(), t.tube))['cmd-pause-tube'], String(pauses++),
      'not paused yet');
    await client.write(Buffer.from('\r\n'));
    return answered;
  };
  equal(await pause({ delay: 3600 }), undefined, 'pause');
  await refused(client.reserveWithTimeout(0), 'TIMED_OUT', 'no job of a paused tube');
  const stats = await tubeStats(client, t.tube);
  equal([stats.pause, stats['current-jobs-ready']], ['3600', '1'], 'its stats');
  between(Number(stats['pause-time-left']), 3500, 3600, 'pause-time-left');
  await pause();
  equal((await client.reserveWithTimeout(10)).id, id, 'a pause of 0 ends it');
  await client.release(id);
  await pause({ delay: 1 });
  const back = await checks.takesAtLeast(900, client.reserve(), 'a pause of 1');
  equal(back.id, id, 'one who waits gets the job when the pause ends');
});

scenario('errors', async t => {
  const client = await connectTo(t);
  for (const [what, answer] of [
    ['a name with a blank', () => client.use('two words')],
    ['a name that starts with a hyphen', () => client.watch('-x')],
    ['a name of 201 bytes', () => client.use('n'.repeat(201))],
    ['a negative priority', () => client.bury('1', -1)],
    ['a letter for an id', () => client.touch('x')],
    ['a priority beyond 32 bits', () => client.release('1', { priority: 4294967296 })],
  ]) {
    await refused(answer(), 'BAD_FORMAT', what);
  }
  equal(await client.listTubeUsed(), t.tube, 'the connection stays usable');
});

scenario('jobs leave by priority, then by age', async t => {
  const client = await connectTo(t);
  const put = priority => client.put(String(priority), { priority });
  const low = await put(30);
  const high = await put(10);
  const middle = await put(20);
  const highToo = await put(10);
  const lowest = await put(kPriorityMax);
  const highest = await put(0);
  const order = [];
  for (let count = 0; count < 6; count++) order.push((await client.reserve()).id);
  equal(order, [highest, high, highToo, middle, low, lowest], 'order');
});

scenario('the worker who came first is served first', async t => {
  const [producer, first, second] = [await connectTo(t), await connectTo(t), await connectTo(t)];
  const waiting = count => async () =>
    (await tubeStats(producer, t.tube))['current-waiting'] === String(count);
  const toFirst = first.reserve();
  await until(waiting(1), 'the first worker waits');
  const toSecond = second.reserveWithTimeout(60);
  await until(waiting(2), 'the second worker waits');
  const a = await producer.put('a');
  const b = await producer.put('b');
  const pair = job => [job.id, job.payload.toString()];
  equal(pair(await toFirst), [a, 'a'], 'the first worker');
  equal(pair(await toSecond), [b, 'b'], 'the second worker');
});

scenario('a closed connection gives its jobs back', async t => {
  const [leaving, staying] = [await connectTo(t), await connectTo(t)];
  const id = await leaving.put('left behind', { ttr: 3600 });
  await leaving.reserve();
  await leaving.quit();
  equal((await staying.reserveWithTimeout(15)).id, id, 'the job');
  const stats = await jobStats(staying, id);
  equal([stats.reserves, stats.timeouts, stats.releases], ['2', '0', '0'], 'its counters');
});

scenario('many puts in flight', async t => {
  const client = await connectTo(t);
  const numbers = Array.from({ length: 100 }, (_, index) => index);
  const put = index => client.put(`job ${index}`, { priority: index });
  const ids = await Promise.all(numbers.map(put));
  equal(new Set(ids).size, 100, 'ids differ');
  for (const index of numbers) {
    const job = await client.reserve();
    equal([job.id, job.payload.toString()], [ids[index], `job ${index}`], `job ${index}`);
  }
});

// Last, because the server stays in this mode.
scenario('drain mode', async t => {
  const client = await connectTo(t);
  process.kill(server.pid, 'SIGUSR1');
  await until(async () => (await serverStats(client)).draining === 'true', 'draining is true');
  await refused(client.put('too late'), 'DRAINING', 'put');
  await refused(client.reserveWithTimeout(0), 'TIMED_OUT', 'other commands work');
});

checks.run(open, client => client.quit());
