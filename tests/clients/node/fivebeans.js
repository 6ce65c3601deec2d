// fivebeans: callbacks, commands sent at once, answers parsed by js-yaml 3.
// Ids and counts are strings, bodies are buffers, and an error is the first word of the answer.

'use strict';

const fivebeans = require('fivebeans');
const checks = require('./checks');

const { between, equal, kPriorityMax, refused, scenario, secondsSince, server, until } = checks;
const parseYaml = checks.yamlOf('fivebeans');

// Runs a command, whose callback gets (error, ...answer).
function call(client, command, ...args) {
  return new Promise((resolve, reject) => {
    const callback = (error, ...answer) => (error ? reject(new Error(error)) : resolve(answer));
    client[command](...args, callback);
  });
}

function open() {
  return new Promise((resolve, reject) => {
    const client = new fivebeans.client(server.host, server.port);
    client.on('connect', () => resolve(client));
    client.on('error', reject);
    client.connect();
  });
}

const connectTo = t => checks.connectTo(t, call);

async function jobStats(client, id) {
  return (await call(client, 'stats_job', id))[0];
}

async function tubeStats(client, tube) {
  return (await call(client, 'stats_tube', tube))[0];
}

async function serverStats(client) {
  return (await call(client, 'stats'))[0];
}

const overdue = (holder, id) => checks.overdue(async () => (await jobStats(holder, id)).state);

scenario('put, reserve, delete', async t => {
  const client = await connectTo(t);
  const [first] = await call(client, 'put', 10, 0, 60, 'hello');
  const [second] = await call(client, 'put', 10, 0, 60, 'world');
  equal(/^\d+$/.test(first), true, 'an id is digits');
  equal(Number(second), Number(first) + 1, 'the next id');
  const [id, body] = await call(client, 'reserve');
  equal(id, first, 'id of the reserved job');
  equal(body.toString(), 'hello', 'its body');
  equal(await call(client, 'destroy', id), [], 'delete a reserved job');
  await refused(call(client, 'destroy', id), 'NOT_FOUND', 'delete it again');
  equal(await call(client, 'destroy', second), [], 'delete a ready job');
});

scenario('put takes priority, delay and TTR', async t => {
  const client = await connectTo(t);
  const [id] = await call(client, 'put', kPriorityMax, 3600, 86400, 'later');
  const stats = await jobStats(client, id);
  equal(stats.pri, kPriorityMax, 'priority');
  equal(stats.delay, 3600, 'delay');
  equal(stats.ttr, 86400, 'TTR');
  equal(stats.state, 'delayed', 'state');
  between(stats['time-left'], 3500, 3600, 'time-left');
  const [hasty] = await call(client, 'put', 0, 0, 0, 'no TTR');
  equal((await jobStats(client, hasty)).ttr, 1, 'TTR 0 becomes 1');
});

scenario('bodies come back byte for byte', async t => {
  const client = await connectTo(t);
  for (const [name, body] of [...checks.bodies, ['nothing', Buffer.alloc(0)]]) {
    const [put] = await call(client, 'put', 0, 0, 60, body);
    const [peeked, seen] = await call(client, 'peek', put);
    equal(peeked, put, `id peeked (${name})`);
    checks.sameBytes(seen, body, `peeked ${name}`);
    const [reserved, taken] = await call(client, 'reserve');
    equal(reserved, put, `id reserved (${name})`);
    checks.sameBytes(taken, body, `reserved ${name}`);
    await call(client, 'destroy', reserved);
  }
});

scenario('a body that is too big', async t => {
  const client = await connectTo(t);
  const tooBig = call(client, 'put', 0, 0, 60, Buffer.alloc(checks.kJobBytesMax + 1, 'x'));
  await refused(tooBig, 'JOB_TOO_BIG', 'put');
  equal(await call(client, 'list_tube_used'), [t.tube], 'the next command is answered');
});

scenario('reserve with a timeout', async t => {
  const client = await connectTo(t);
  await refused(call(client, 'reserve_with_timeout', 0), 'TIMED_OUT', 'at once');
  const waits = refused(call(client, 'reserve_with_timeout', 1), 'TIMED_OUT', 'after a second');
  await checks.takesAtLeast(900, waits, 'a timeout of 1');
  const [put] = await call(client, 'put', 0, 0, 60, 'there');
  equal((await call(client, 'reserve_with_timeout', 10))[0], put, 'a job that is there');
});

scenario('release', async t => {
  const client = await connectTo(t);
  const [id] = await call(client, 'put', 5, 0, 60, 'again');
  await call(client, 'reserve');
  equal(await call(client, 'release', id, 7, 3600), [], 'release with a delay');
  let stats = await jobStats(client, id);
  equal([stats.state, stats.pri, stats.delay, stats.releases], ['delayed', 7, 3600, 1],
    'after that');
  await refused(call(client, 'release', id, 7, 0), 'NOT_FOUND', 'release what is not reserved');
  await call(client, 'kick_job', id);
  await call(client, 'reserve');
  await call(client, 'release', id, 9, 0);
  stats = await jobStats(client, id);
  equal([stats.state, stats.pri, stats.delay, stats.releases], ['ready', 9, 0, 2],
    'release without a delay');
  await call(client, 'reserve');
  await call(client, 'release', id, 9, 1);
  const [back] = await checks.takesAtLeast(900, call(client, 'reserve_with_timeout', 10),
    'a delay of 1');
  equal(back, id, 'comes back when its delay is over');
});

scenario('bury, kick, kick-job', async t => {
  const client = await connectTo(t);
  const ids = [];
  for (const body of ['a', 'b', 'c']) ids.push((await call(client, 'put', 0, 0, 60, body))[0]);
  for (const id of ids) equal((await call(client, 'reserve'))[0], id, 'reserve in order');
  // Buries in another order than that of the puts: kick and peek follow the order of burying.
  for (const id of [ids[1], ids[0], ids[2]]) equal(await call(client, 'bury', id, 3), [], 'bury');
  equal((await tubeStats(client, t.tube))['current-jobs-buried'], 3, 'buried jobs');
  equal((await call(client, 'peek_buried'))[0], ids[1], 'the one buried first');
  equal(await call(client, 'kick', 2), ['2'], 'kick two');
  const stats = await jobStats(client, ids[1]);
  equal([stats.state, stats.pri, stats.buries, stats.kicks], ['ready', 3, 1, 1], 'a kicked job');
  equal((await jobStats(client, ids[2])).state, 'buried', 'the third one');
  equal(await call(client, 'kick_job', ids[2]), [], 'kick-job');
  await refused(call(client, 'kick_job', ids[2]), 'NOT_FOUND', 'kick-job of a ready job');
  equal(await call(client, 'kick', 10), ['0'], 'nothing left to kick');
  await call(client, 'put', 0, 3600, 60, 'late');
  equal(await call(client, 'kick', 10), ['1'], 'kick takes delayed jobs when none is buried');
  await refused(call(client, 'bury', ids[0], 0), 'NOT_FOUND', 'bury what is not reserved');
});

scenario('touch', async t => {
  const client = await connectTo(t);
  const [id] = await call(client, 'put', 0, 0, 60, 'long work');
  await refused(call(client, 'touch', id), 'NOT_FOUND', 'touch a ready job');
  await call(client, 'reserve');
  await until(async () => (await jobStats(client, id))['time-left'] <= 57, 'the TTR runs');
  const touched = Date.now();
  equal(await call(client, 'touch', id), [], 'touch');
  const left = (await jobStats(client, id))['time-left'];
  between(left, 59 - secondsSince(touched), 60, 'time-left after touch');
});

scenario('peek', async t => {
  const client = await connectTo(t);
  for (const state of ['ready', 'delayed', 'buried']) {
    await refused(call(client, `peek_${state}`), 'NOT_FOUND', `peek-${state} of an empty tube`);
  }
  const [buried] = await call(client, 'put', 0, 0, 60, 'buried');
  await call(client, 'reserve');
  await call(client, 'bury', buried, 0);
  const [ready] = await call(client, 'put', 2, 0, 60, 'ready');
  const [urgent] = await call(client, 'put', 1, 0, 60, 'urgent');
  await call(client, 'put', 0, 7200, 60, 'late');
  const [sooner] = await call(client, 'put', 0, 3600, 60, 'sooner');
  const peeked = async (...command) => (await call(client, ...command)).map(String);
  equal(await peeked('peek_ready'), [urgent, 'urgent'], 'peek-ready');
  equal(await peeked('peek_delayed'), [sooner, 'sooner'], 'peek-delayed');
  equal(await peeked('peek_buried'), [buried, 'buried'], 'peek-buried');
  equal(await peeked('peek', ready), [ready, 'ready'], 'peek');
  await refused(call(client, 'peek', 999999999), 'NOT_FOUND', 'peek an unknown id');
});

scenario('a job whose TTR ends comes back', async t => {
  const [slow, next] = [await connectTo(t), await connectTo(t)];
  const before = await serverStats(next);
  const [id] = await call(slow, 'put', 0, 0, 1, 'too slow');
  await call(slow, 'reserve');
  await overdue(slow, id);
  equal((await call(next, 'reserve_with_timeout', 15))[0], id, 'goes to another');
  const stats = await jobStats(next, id);
  equal([stats.state, stats.reserves, stats.timeouts, stats.releases], ['reserved', 2, 1, 0],
    'its counters');
  equal((await serverStats(next))['job-timeouts'] - before['job-timeouts'], 1, 'job-timeouts');
  for (const command of [['touch', id], ['release', id, 0, 0], ['bury', id, 0], ['destroy', id]]) {
    await refused(call(slow, ...command), 'NOT_FOUND', `${command[0]} by its former holder`);
  }
});

scenario('DEADLINE_SOON', async t => {
  const client = await connectTo(t);
  const [id] = await call(client, 'put', 0, 0, 2, 'nearly over');
  await call(client, 'reserve');
  await refused(call(client, 'reserve'), 'DEADLINE_SOON', 'to one who waits for more');
  await overdue(client, id);
  equal((await call(client, 'reserve_with_timeout', 15))[0], id, 'then the job comes back');
});

scenario('stats of a job', async t => {
  const client = await connectTo(t);
  const [id] = await call(client, 'put', 1023, 0, 120, 'counted');
  const stats = await jobStats(client, id);
  equal(Object.keys(stats), checks.keys.job, 'keys, in order');
  between(stats.age, 0, 60, 'age');
  equal({ ...stats, age: 0 }, {
    id: Number(id), tube: t.tube, state: 'ready', pri: 1023, age: 0, delay: 0, ttr: 120,
    'time-left': 0, file: 0, reserves: 0, timeouts: 0, releases: 0, buries: 0, kicks: 0,
  }, 'all of a ready job');
  await call(client, 'reserve');
  between((await jobStats(client, id))['time-left'], 60, 120, 'time-left of a reserved job');
  await refused(call(client, 'stats_job', 999999999), 'NOT_FOUND', 'of an unknown id');
});

scenario('stats of a tube', async t => {
  const client = await connectTo(t);
  const ids = [];
  for (const pri of [0, 1023, 1024, 2000]) {
    ids.push((await call(client, 'put', pri, 0, 60, 'x'))[0]);
  }
  await call(client, 'put', 0, 3600, 60, 'late');
  await call(client, 'reserve');
  await call(client, 'destroy', ids[3]);
  const stats = await tubeStats(client, t.tube);
  equal(Object.keys(stats), checks.keys.tube, 'keys, in order');
  equal(stats, {
    name: t.tube, 'current-jobs-urgent': 1, 'current-jobs-ready': 2, 'current-jobs-reserved': 1,
    'current-jobs-delayed': 1, 'current-jobs-buried': 0, 'total-jobs': 5, 'current-using': 1,
    'current-watching': 1, 'current-waiting': 0, 'cmd-delete': 1, 'cmd-pause-tube': 0, pause: 0,
    'pause-time-left': 0,
  }, 'all of a tube');
  await refused(call(client, 'stats_tube', 'nowhere'), 'NOT_FOUND', 'of an unknown tube');
});

scenario('stats of the server', async t => {
  const client = await t.connect();
  checks.checkServerStats(await serverStats(client), parseYaml);
  await until(async () => (await serverStats(client))['current-connections'] === 1,
    'the others are gone');
  const [producer, worker] = [await connectTo(t), await connectTo(t)];
  const before = await serverStats(client);
  const [id] = await call(producer, 'put', 0, 0, 60, 'x');
  await call(worker, 'reserve');
  await call(worker, 'touch', id);
  await call(worker, 'release', id, 0, 0);
  await call(producer, 'peek_ready');
  await call(producer, 'peek', id);
  await call(producer, 'kick', 1);
  await call(worker, 'reserve_with_timeout', 0);
  await call(worker, 'bury', id, 0);
  await call(producer, 'list_tubes');
  await call(producer, 'list_tube_used');
  await call(producer, 'list_tubes_watched');
  await call(producer, 'stats_job', id);
  await call(producer, 'destroy', id);
  const waiting = call(worker, 'reserve');
  await until(async () => (await serverStats(client))['current-waiting'] === 1, 'a worker waits');
  const after = await serverStats(client);
  const counted = checks.countedSince(before, after);
  delete counted['cmd-stats'];  // Depends on the polls of until().
  equal(counted, {
    'cmd-put': 1, 'cmd-peek': 1, 'cmd-peek-ready': 1, 'cmd-reserve': 2,
    'cmd-reserve-with-timeout': 1, 'cmd-delete': 1, 'cmd-release': 1, 'cmd-bury': 1, 'cmd-kick': 1,
    'cmd-touch': 1, 'cmd-stats-job': 1,
    'cmd-list-tubes': 1, 'cmd-list-tube-used': 1, 'cmd-list-tubes-watched': 1,
  }, 'commands counted');
  equal(after['total-jobs'] - before['total-jobs'], 1, 'total-jobs');
  equal([after['current-connections'], after['current-producers'], after['current-workers']],
    [3, 1, 1], 'connections, producers, workers');
  await call(producer, 'put', 0, 0, 60, 'for the one who waits');
  await waiting;
});

scenario('tubes: use, watch, ignore, list', async t => {
  const client = await t.connect();
  equal(await call(client, 'list_tube_used'), ['default'], 'used at first');
  equal(await call(client, 'list_tubes_watched'), [['default']], 'watched at first');
  equal(await call(client, 'use', t.tube), [t.tube], 'use');
  equal(await call(client, 'list_tube_used'), [t.tube], 'used after that');
  equal(await call(client, 'watch', t.tube), ['2'], 'watch');
  equal(await call(client, 'watch', t.tube), ['2'], 'watch twice counts once');
  equal(await call(client, 'watch', `${t.tube}/b`), ['3'], 'watch another');
  equal(await call(client, 'ignore', 'default'), ['2'], 'ignore');
  const [watched] = await call(client, 'list_tubes_watched');
  equal(watched.sort(), [t.tube, `${t.tube}/b`], 'watched after that');
  await call(client, 'ignore', t.tube);
  const last = call(client, 'ignore', `${t.tube}/b`);
  await refused(last, 'NOT_IGNORED', 'ignore the last one');
  const [all] = await call(client, 'list_tubes');
  equal(['default', t.tube, `${t.tube}/b`].every(name => all.includes(name)), true,
    'list-tubes has them');
  const [elsewhere] = await call(client, 'put', 0, 0, 60, 'not watched');
  await refused(call(client, 'reserve_with_timeout', 0), 'TIMED_OUT', 'a tube not watched');
  equal((await jobStats(client, elsewhere)).tube, t.tube, 'tube of the job');
});

scenario('a tube whose name is a number', async t => {
  const client = await t.connect();
  equal(await call(client, 'use', '12345'), ['12345'], 'use');
  equal((await tubeStats(client, '12345')).name, server.quoted ? '12345' : 12345,
    'its name in stats');
  const [id] = await call(client, 'put', 0, 0, 60, 'x');
  equal((await jobStats(client, id)).tube, server.quoted ? '12345' : 12345, 'tube of its job');
  equal((await call(client, 'list_tubes'))[0].includes(12345), true, 'in the list, never quoted');
});

scenario('pause', async t => {
  const client = await connectTo(t);
  const [id] = await call(client, 'put', 0, 0, 60, 'held back');
  equal(await call(client, 'pause_tube', t.tube, 3600), [], 'pause');
  await refused(call(client, 'reserve_with_timeout', 0), 'TIMED_OUT', 'no job of a paused tube');
  const stats = await tubeStats(client, t.tube);
  equal([stats.pause, stats['cmd-pause-tube'], stats['current-jobs-ready']], [3600, 1, 1],
    'its stats');
  between(stats['pause-time-left'], 3500, 3600, 'pause-time-left');
  await call(client, 'pause_tube', t.tube, 0);
  equal((await call(client, 'reserve_with_timeout', 10))[0], id, 'a pause of 0 ends it');
  await call(client, 'release', id, 0, 0);
  await call(client, 'pause_tube', t.tube, 1);
  const [back] = await checks.takesAtLeast(900, call(client, 'reserve'), 'a pause of 1');
  equal(back, id, 'one who waits gets the job when the pause ends');
  await refused(call(client, 'pause_tube', 'nowhere', 1), 'NOT_FOUND', 'an unknown tube');
});

scenario('errors', async t => {
  const client = await connectTo(t);
  for (const [what, ...command] of [
    ['a name with a blank', 'use', 'two words'],
    ['a name that starts with a hyphen', 'watch', '-x'],
    ['a name of 201 bytes', 'use', 'n'.repeat(201)],
    ['a negative priority', 'bury', '1', -1],
    ['a letter for an id', 'touch', 'x'],
    ['a delay beyond 32 bits', 'release', '1', 0, 4294967296],
  ]) {
    await refused(call(client, ...command), 'BAD_FORMAT', what);
  }
  equal(await call(client, 'list_tube_used'), [t.tube], 'the connection stays usable');
});

scenario('jobs leave by priority, then by age', async t => {
  const client = await connectTo(t);
  const put = async pri => (await call(client, 'put', pri, 0, 60, String(pri)))[0];
  const low = await put(30);
  const high = await put(10);
  const middle = await put(20);
  const highToo = await put(10);
  const lowest = await put(kPriorityMax);
  const highest = await put(0);
  const order = [];
  for (let count = 0; count < 6; count++) order.push((await call(client, 'reserve'))[0]);
  equal(order, [highest, high, highToo, middle, low, lowest], 'order');
});

scenario('the worker who came first is served first', async t => {
  const [producer, first, second] = [await connectTo(t), await connectTo(t), await connectTo(t)];
  const waiting = count => async () =>
    (await tubeStats(producer, t.tube))['current-waiting'] === count;
  const toFirst = call(first, 'reserve');
  await until(waiting(1), 'the first worker waits');
  const toSecond = call(second, 'reserve_with_timeout', 60);
  await until(waiting(2), 'the second worker waits');
  const [a] = await call(producer, 'put', 0, 0, 60, 'a');
  const [b] = await call(producer, 'put', 0, 0, 60, 'b');
  equal((await toFirst).map(String), [a, 'a'], 'the first worker');
  equal((await toSecond).map(String), [b, 'b'], 'the second worker');
});

scenario('a closed connection gives its jobs back', async t => {
  const [leaving, staying] = [await connectTo(t), await connectTo(t)];
  const [id] = await call(leaving, 'put', 0, 0, 3600, 'left behind');
  await call(leaving, 'reserve');
  leaving.end();
  equal((await call(staying, 'reserve_with_timeout', 15))[0], id, 'the job');
  const stats = await jobStats(staying, id);
  equal([stats.reserves, stats.timeouts, stats.releases], [2, 0, 0], 'its counters');
});

scenario('many commands in flight', async t => {
  const client = await connectTo(t);
  const body = index => `job ${index} ${'.'.repeat(index * 7)}`;
  const numbers = Array.from({ length: 100 }, (_, index) => index);
  const put = index => call(client, 'put', index, 0, 60, body(index));
  const ids = (await Promise.all(numbers.map(put))).flat();
  const jobs = await Promise.all(numbers.map(() => call(client, 'reserve')));
  equal(jobs.map(([id]) => id), ids, 'ids, in order');
  equal(jobs.map(([, text]) => text.toString()), numbers.map(body), 'bodies, in order');
  const deleted = await Promise.all(ids.map(id => call(client, 'destroy', id)));
  equal(deleted.length, 100, 'all deleted');
  const stats = await tubeStats(client, t.tube);
  equal([stats['total-jobs'], stats['current-jobs-reserved'], stats['cmd-delete']], [100, 0, 100],
    'the tube');
});

scenario('the worker loop of the library', async t => {
  const client = await connectTo(t);
  const seen = [];
  const worker = new fivebeans.worker({
    id: 'w', host: server.host, port: server.port, ignoreDefault: true, timeout: 1,
    handlers: {
      fine: { work: (payload, done) => { seen.push(payload); done('success'); } },
      wrong: { work: () => { throw new Error('on purpose'); } },
      later: { work: (payload, done) => done('release', 3600) },
    },
  });
  const put = (type, payload) => call(client, 'put', 0, 0, 60, JSON.stringify({ type, payload }));
  await put('fine', { n: 1, text: 'h\u00e9\r\n' });
  const [wrong] = await put('wrong');
  const [later] = await put('later');
  const [unknown] = await put('unheard of');
  worker.start([t.tube]);
  const done = async () => (await jobStats(client, unknown)).state === 'buried';
  await until(done, 'the worker goes through all jobs');
  equal(seen, [{ n: 1, text: 'h\u00e9\r\n' }], 'payloads');
  equal((await jobStats(client, wrong)).state, 'buried', 'a handler that throws');
  equal((await jobStats(client, later)).state, 'delayed', 'a handler that releases');
  const stopped = new Promise(resolve => worker.on('stopped', resolve));
  worker.stop();
  await stopped;
});

// Last, because the server stays in this mode.
scenario('drain mode', async t => {
  const client = await connectTo(t);
  process.kill(server.pid, 'SIGUSR1');
  await until(async () => (await serverStats(client)).draining === true, 'draining is true');
  await refused(call(client, 'put', 0, 0, 60, 'too late'), 'DRAINING', 'put');
  await refused(call(client, 'reserve_with_timeout', 0), 'TIMED_OUT', 'other commands work');
});

checks.run(open, client => client.end());
