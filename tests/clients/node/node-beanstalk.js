// node-beanstalk: promises, one command at a time, stats parsed by js-yaml 4.
// Ids are numbers. A missing job or tube is null or false. Other answers are a BeanstalkError with the
// answer as its code, or a CommandError for answers that any command may get.
//
// A serializer converts bodies (by default to JSON). Here it leaves buffers unchanged, except in one
// scenario.

'use strict';

const { Client, Pool } = require('node-beanstalk');
const checks = require('./checks');

const {
  between, connectTo, equal, kPriorityMax, scenario, secondsSince, server, settle, until,
} = checks;
const parseYaml = checks.yamlOf('node-beanstalk');

const options = {
  host: server.host,
  port: server.port,
  serializer: { serialize: Buffer.from, deserialize: body => body },
  // Timeout from the first line of an answer to its body. The default of 1 s is short on a busy machine.
  dataReadTimeoutMs: 20000,
};

// Returns the code of an error, or its message if only that has the answer.
async function refused(promise, answer, what) {
  const error = await checks.failure(promise, what);
  const found = error.name === 'BeanstalkError' ? error.code : `${error.code}: ${error.message}`;
  equal(found, answer, what);
}

// Returns the message that refused() gets for an answer that any command may get.
function refusal(answer, command) {
  const message = `Error status '${answer}' received in response to '${command}' command`;
  return `ErrErrorResponseStatus: ${message}`;
}

async function openWith(changes) {
  const client = new Client({ ...options, ...changes });
  await client.connect();
  return client;
}

function putWith(client, { priority = 0, delay = 0, ttr = 60, body = 'x' }) {
  return client.put(body, ttr, priority, delay).then(job => job.id);
}

const overdue = (holder, id) => checks.overdue(async () => (await holder.statsJob(id)).state);

scenario('put, reserve, delete', async t => {
  const client = await connectTo(t);
  const first = await client.put('hello');
  const second = await client.put('world');
  equal([typeof first.id, first.state], ['number', 'ready'], 'what put says');
  equal(second.id, first.id + 1, 'the next id');
  const job = await client.reserve();
  equal([job.id, job.payload.toString()], [first.id, 'hello'], 'the reserved job');
  equal(await client.delete(job.id), true, 'delete a reserved job');
  equal(await client.delete(job.id), false, 'delete it again');
  equal(await client.delete(second.id), true, 'delete a ready job');
});

scenario('put takes priority, delay and TTR', async t => {
  const client = await connectTo(t);
  const job = await client.put('later', 86400, kPriorityMax, 3600);
  equal(job.state, 'delayed', 'what put says');
  const stats = await client.statsJob(job.id);
  equal([stats.pri, stats.delay, stats.ttr, stats.state], [kPriorityMax, 3600, 86400, 'delayed'],
    'stats');
  between(stats['time-left'], 3500, 3600, 'time-left');
  const hasty = await putWith(client, { ttr: 0 });
  equal((await client.statsJob(hasty)).ttr, 1, 'TTR 0 becomes 1');
});

scenario('bodies come back byte for byte', async t => {
  const client = await connectTo(t);
  // For this client an empty body ends with the first line, and it drops the bytes that arrived with the
  // line. The test passes because the answer arrives in one piece.
  for (const [what, body] of [...checks.bodies, ['nothing', Buffer.alloc(0)]]) {
    const { id } = await client.put(body);
    const seen = await client.peek(id);
    equal(seen.id, id, `id peeked (${what})`);
    checks.sameBytes(seen.payload, body, `peeked ${what}`);
    const job = await client.reserve();
    equal(job.id, id, `id reserved (${what})`);
    checks.sameBytes(job.payload, body, `reserved ${what}`);
    equal(await client.delete(id), true, `delete (${what})`);
  }
});

scenario('bodies as JSON, which is the default', async t => {
  const client = await openWith({ serializer: undefined });
  const { serializer, ...others } = options;
  const json = new Client(others);
  await json.connect();
  try {
    await settle(client, t.tube);
    await settle(json, t.tube);
    const value = { text: 'm\u00fcll\r\n', numbers: [1, 2.5, null], nested: { yes: true } };
    const { id } = await json.put(value);
    equal((await client.peek(id)).payload.toString(), JSON.stringify(value), 'the body');
    equal((await json.reserve()).payload, value, 'the value');
  } finally {
    await client.disconnect();
    await json.disconnect();
  }
});

scenario('a body that is too big', async t => {
  const client = await connectTo(t);
  const tooBig = client.put(Buffer.alloc(checks.kJobBytesMax + 1, 'x'));
  await refused(tooBig, 'JOB_TOO_BIG', 'put');
  equal(await client.listTubeUsed(), t.tube, 'the next command is answered');
});

scenario('reserve with a timeout', async t => {
  const client = await connectTo(t);
  equal(await client.reserveWithTimeout(0), null, 'at once');
  equal(await checks.takesAtLeast(900, client.reserveWithTimeout(1), 'a timeout of 1'), null,
    'after a second');
  const id = await putWith(client, {});
  equal((await client.reserveWithTimeout(10)).id, id, 'a job that is there');
});

scenario('reserve-job', async t => {
  const client = await connectTo(t);
  await putWith(client, {});
  const late = await putWith(client, { delay: 3600, body: 'late' });
  const job = await client.reserveJob(late);
  equal([job.id, job.payload.toString()], [late, 'late'], 'a delayed job');
  equal((await client.statsJob(late)).state, 'reserved', 'its state');
  equal(await client.reserveJob(late), null, 'a reserved job');
  await client.bury(late, 0);
  equal((await client.reserveJob(late)).id, late, 'a buried job');
  equal(await client.reserveJob(999999999), null, 'an unknown id');
});

scenario('release', async t => {
  const client = await connectTo(t);
  const id = await putWith(client, { priority: 5 });
  await client.reserve();
  equal(await client.release(id, 7, 3600), 'delayed', 'release with a delay');
  let stats = await client.statsJob(id);
  equal([stats.state, stats.pri, stats.delay, stats.releases], ['delayed', 7, 3600, 1],
    'after that');
  equal(await client.release(id, 7, 0), null, 'release what is not reserved');
  await client.kickJob(id);
  await client.reserve();
  equal(await client.release(id, 9, 0), 'ready', 'release without a delay');
  stats = await client.statsJob(id);
  equal([stats.state, stats.pri, stats.delay, stats.releases], ['ready', 9, 0, 2], 'after that');
  await client.reserve();
  await client.release(id, 9, 1);
  const back = await checks.takesAtLeast(900, client.reserveWithTimeout(10), 'a delay of 1');
  equal(back.id, id, 'comes back when its delay is over');
});

scenario('bury, kick, kick-job', async t => {
  const client = await connectTo(t);
  const ids = [];
  for (const body of ['a', 'b', 'c']) ids.push(await putWith(client, { body }));
  for (const id of ids) equal((await client.reserve()).id, id, 'reserve in order');
  // Buries in another order than that of the puts: kick and peek follow the order of burying.
  for (const id of [ids[1], ids[0], ids[2]]) equal(await client.bury(id, 3), true, 'bury');
  equal((await client.statsTube(t.tube))['current-jobs-buried'], 3, 'buried jobs');
  equal((await client.peekBuried()).id, ids[1], 'the one buried first');
  equal(await client.kick(2), 2, 'kick two');
  const stats = await client.statsJob(ids[1]);
  equal([stats.state, stats.pri, stats.buries, stats.kicks], ['ready', 3, 1, 1], 'a kicked job');
  equal((await client.statsJob(ids[2])).state, 'buried', 'the third one');
  equal(await client.kickJob(ids[2]), true, 'kick-job');
  equal(await client.kickJob(ids[2]), false, 'kick-job of a ready job');
  equal(await client.kick(10), 0, 'nothing left to kick');
  await putWith(client, { delay: 3600 });
  equal(await client.kick(10), 1, 'kick takes delayed jobs when none is buried');
  equal(await client.bury(ids[0], 0), false, 'bury what is not reserved');
});

scenario('touch', async t => {
  const client = await connectTo(t);
  const id = await putWith(client, {});
  equal(await client.touch(id), false, 'touch a ready job');
  await client.reserve();
  await until(async () => (await client.statsJob(id))['time-left'] <= 57, 'the TTR runs');
  const touched = Date.now();
  equal(await client.touch(id), true, 'touch');
  const left = (await client.statsJob(id))['time-left'];
  between(left, 59 - secondsSince(touched), 60, 'time-left after touch');
});

scenario('peek', async t => {
  const client = await connectTo(t);
  for (const peek of ['peekReady', 'peekDelayed', 'peekBuried']) {
    equal(await client[peek](), null, `${peek} in an empty tube`);
  }
  const buried = await putWith(client, { body: 'buried' });
  await client.reserve();
  await client.bury(buried, 0);
  const ready = await putWith(client, { priority: 2, body: 'ready' });
  const urgent = await putWith(client, { priority: 1, body: 'urgent' });
  await putWith(client, { delay: 7200 });
  const sooner = await putWith(client, { delay: 3600, body: 'sooner' });
  const pair = job => [job.id, job.payload.toString()];
  equal(pair(await client.peekReady()), [urgent, 'urgent'], 'peek-ready');
  equal(pair(await client.peekDelayed()), [sooner, 'sooner'], 'peek-delayed');
  equal(pair(await client.peekBuried()), [buried, 'buried'], 'peek-buried');
  equal(pair(await client.peek(ready)), [ready, 'ready'], 'peek');
  equal(await client.peek(999999999), null, 'peek an unknown id');
});

scenario('a job whose TTR ends comes back', async t => {
  const [slow, next] = [await connectTo(t), await connectTo(t)];
  const before = await next.stats();
  const id = await putWith(slow, { ttr: 1 });
  await slow.reserve();
  await overdue(slow, id);
  equal((await next.reserveWithTimeout(15)).id, id, 'goes to another');
  const stats = await next.statsJob(id);
  equal([stats.state, stats.reserves, stats.timeouts, stats.releases], ['reserved', 2, 1, 0],
    'its counters');
  equal((await next.stats())['job-timeouts'] - before['job-timeouts'], 1, 'job-timeouts');
  equal(await slow.touch(id), false, 'touch by its former holder');
  equal(await slow.release(id, 0, 0), null, 'release by its former holder');
  equal(await slow.bury(id, 0), false, 'bury by its former holder');
  equal(await slow.delete(id), false, 'delete by its former holder');
});

scenario('DEADLINE_SOON', async t => {
  const client = await connectTo(t);
  const id = await putWith(client, { ttr: 2 });
  await client.reserve();
  await refused(client.reserve(), 'DEADLINE_SOON', 'to one who waits for more');
  await overdue(client, id);
  equal((await client.reserveWithTimeout(15)).id, id, 'then the job comes back');
});

scenario('stats of a job', async t => {
  const client = await connectTo(t);
  const id = await putWith(client, { priority: 1023, ttr: 120 });
  const stats = await client.statsJob(id);
  equal(Object.keys(stats), checks.keys.job, 'keys, in order');
  between(stats.age, 0, 60, 'age');
  equal({ ...stats, age: 0 }, {
    id, tube: t.tube, state: 'ready', pri: 1023, age: 0, delay: 0, ttr: 120, 'time-left': 0,
    file: 0,
    reserves: 0, timeouts: 0, releases: 0, buries: 0, kicks: 0,
  }, 'all of a ready job');
  await client.reserve();
  between((await client.statsJob(id))['time-left'], 60, 120, 'time-left of a reserved job');
  equal(await client.statsJob(999999999), null, 'of an unknown id');
});

scenario('stats of a tube', async t => {
  const client = await connectTo(t);
  const ids = [];
  for (const priority of [0, 1023, 1024, 2000]) ids.push(await putWith(client, { priority }));
  await putWith(client, { delay: 3600 });
  await client.reserve();
  await client.delete(ids[3]);
  const stats = await client.statsTube(t.tube);
  equal(Object.keys(stats), checks.keys.tube, 'keys, in order');
  equal(stats, {
    name: t.tube, 'current-jobs-urgent': 1, 'current-jobs-ready': 2, 'current-jobs-reserved': 1,
    'current-jobs-delayed': 1, 'current-jobs-buried': 0, 'total-jobs': 5, 'current-using': 1,
    'current-watching': 1, 'current-waiting': 0, 'cmd-delete': 1, 'cmd-pause-tube': 0, pause: 0,
    'pause-time-left': 0,
  }, 'all of a tube');
  equal(await client.statsTube('nowhere'), null, 'of an unknown tube');
});

scenario('stats of the server', async t => {
  const client = await t.connect();
  checks.checkServerStats(await client.stats(), parseYaml);
  await until(async () => (await client.stats())['current-connections'] === 1,
    'the others are gone');
  const [producer, worker] = [await connectTo(t), await connectTo(t)];
  const before = await client.stats();
  const id = await putWith(producer, {});
  await worker.reserve();
  await worker.touch(id);
  await worker.release(id, 0, 0);
  await producer.peekReady();
  await producer.peekDelayed();
  await producer.peekBuried();
  await producer.kickJob(id);
  await worker.reserveWithTimeout(0);
  await worker.bury(id, 0);
  await producer.listTubes();
  await producer.statsTube(t.tube);
  await producer.pauseTube(t.tube, 0);
  await producer.delete(id);
  const waiting = worker.reserve();
  await until(async () => (await client.stats())['current-waiting'] === 1, 'a worker waits');
  const after = await client.stats();
  const counted = checks.countedSince(before, after);
  delete counted['cmd-stats'];  // Depends on the polls of until().
  equal(counted, {
    'cmd-put': 1, 'cmd-peek-ready': 1, 'cmd-peek-delayed': 1, 'cmd-peek-buried': 1,
    'cmd-reserve': 2,
    'cmd-reserve-with-timeout': 1, 'cmd-delete': 1, 'cmd-release': 1, 'cmd-bury': 1, 'cmd-touch': 1,
    'cmd-stats-tube': 1, 'cmd-list-tubes': 1, 'cmd-pause-tube': 1,
  }, 'commands counted');
  equal(after['total-jobs'] - before['total-jobs'], 1, 'total-jobs');
  equal([after['current-connections'], after['current-producers'], after['current-workers']],
    [3, 1, 1], 'connections, producers, workers');
  await putWith(producer, {});
  await waiting;
});

scenario('tubes: use, watch, ignore, list', async t => {
  const client = await t.connect();
  equal(await client.listTubeUsed(), 'default', 'used at first');
  equal(await client.listTubesWatched(), ['default'], 'watched at first');
  equal(await client.use(t.tube), t.tube, 'use');
  equal(await client.listTubeUsed(), t.tube, 'used after that');
  equal(await client.watch(t.tube), 2, 'watch');
  equal(await client.watch(t.tube), 2, 'watch twice counts once');
  equal(await client.watch(`${t.tube}/b`), 3, 'watch another');
  equal(await client.ignore('default'), true, 'ignore');
  equal((await client.listTubesWatched()).sort(), [t.tube, `${t.tube}/b`], 'watched after that');
  equal(await client.ignore(t.tube), true, 'ignore one more');
  equal(await client.ignore(`${t.tube}/b`), false, 'ignore the last one');
  const all = await client.listTubes();
  equal(['default', t.tube, `${t.tube}/b`].every(name => all.includes(name)), true,
    'list-tubes has them');
  const elsewhere = await putWith(client, {});
  equal(await client.reserveWithTimeout(0), null, 'a tube not watched');
  equal((await client.statsJob(elsewhere)).tube, t.tube, 'tube of the job');
});

scenario('tubes whose names are something else in YAML', async t => {
  const client = await t.connect();
  const names = { 12345: 12345, '1.50': 1.5, true: true, null: null, '0x1F': 31 };
  for (const [name, bare] of Object.entries(names)) {
    equal(await client.use(name), name, 'use');
    equal((await client.statsTube(name)).name, server.quoted ? name : bare, `stats of ${name}`);
    const id = await putWith(client, {});
    equal((await client.statsJob(id)).tube, server.quoted ? name : bare,
      `tube of a job in ${name}`);
    equal((await client.listTubes()).includes(bare), true, `${name} in the list, never quoted`);
  }
});

scenario('pause', async t => {
  const client = await connectTo(t);
  const id = await putWith(client, {});
  equal(await client.pauseTube(t.tube, 3600), true, 'pause');
  equal(await client.reserveWithTimeout(0), null, 'no job of a paused tube');
  const stats = await client.statsTube(t.tube);
  equal([stats.pause, stats['cmd-pause-tube'], stats['current-jobs-ready']], [3600, 1, 1],
    'its stats');
  between(stats['pause-time-left'], 3500, 3600, 'pause-time-left');
  await client.pauseTube(t.tube, 0);
  equal((await client.reserveWithTimeout(10)).id, id, 'a pause of 0 ends it');
  await client.release(id, 0, 0);
  await client.pauseTube(t.tube, 1);
  const back = await checks.takesAtLeast(900, client.reserve(), 'a pause of 1');
  equal(back.id, id, 'one who waits gets the job when the pause ends');
  equal(await client.pauseTube('nowhere', 1), false, 'an unknown tube');
});

scenario('errors', async t => {
  const client = await connectTo(t);
  const bad = command => refusal('BAD_FORMAT', command);
  // The client itself refuses most errors, but sends these.
  await refused(client.use('-x'), bad('use'), 'a name that starts with a hyphen');
  await refused(client.touch(1.5), bad('touch'), 'an id with a fraction');
  await refused(client.bury(1, 1.5), bad('bury'), 'a priority with a fraction');
  await refused(client.release(1, 0, 1.5), bad('release'), 'a delay with a fraction');
  await refused(client.pauseTube(t.tube, 1.5), bad('pause-tube'), 'a pause with a fraction');
  equal(await client.listTubeUsed(), t.tube, 'the connection stays usable');
});

scenario('jobs leave by priority, then by age', async t => {
  const client = await connectTo(t);
  const put = priority => putWith(client, { priority });
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
    (await producer.statsTube(t.tube))['current-waiting'] === count;
  const toFirst = first.reserve();
  await until(waiting(1), 'the first worker waits');
  const toSecond = second.reserveWithTimeout(60);
  await until(waiting(2), 'the second worker waits');
  const a = await putWith(producer, { body: 'a' });
  const b = await putWith(producer, { body: 'b' });
  const pair = job => [job.id, job.payload.toString()];
  equal(pair(await toFirst), [a, 'a'], 'the first worker');
  equal(pair(await toSecond), [b, 'b'], 'the second worker');
});

scenario('a closed connection gives its jobs back', async t => {
  const leaving = await settle(await openWith({}), t.tube);
  const staying = await connectTo(t);
  const id = await putWith(leaving, { ttr: 3600 });
  await leaving.reserve();
  await leaving.disconnect();
  equal((await staying.reserveWithTimeout(15)).id, id, 'the job');
  const stats = await staying.statsJob(id);
  equal([stats.reserves, stats.timeouts, stats.releases], [2, 0, 0], 'its counters');
});

scenario('a pool of connections', async t => {
  const pool = new Pool({ capacity: 4, clientOptions: options });
  const numbers = Array.from({ length: 40 }, (_, index) => index);
  const withClient = async work => {
    const client = await pool.connect();
    try {
      return await work(client);
    } finally {
      client.releaseClient();
    }
  };
  const put = index => withClient(async client => {
    await client.use(t.tube);
    return putWith(client, { priority: index, body: `job ${index}` });
  });
  const ids = await Promise.all(numbers.map(put));
  equal(new Set(ids).size, 40, 'ids differ');
  const taker = await connectTo(t);
  for (const index of numbers) {
    const job = await taker.reserve();
    equal([job.id, job.payload.toString()], [ids[index], `job ${index}`], `job ${index}`);
  }
  await pool.disconnect();
});

// Last, because the server stays in this mode.
scenario('drain mode', async t => {
  const client = await connectTo(t);
  process.kill(server.pid, 'SIGUSR1');
  await until(async () => (await client.stats()).draining === true, 'draining is true');
  await refused(client.put('too late'), refusal('DRAINING', 'put'), 'put');
  equal(await client.reserveWithTimeout(0), null, 'other commands work');
});

checks.run(() => openWith({}), client => client.disconnect());
