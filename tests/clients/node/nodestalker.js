// nodestalker: events, one command at a time, answers parsed by js-yaml 3. Except for a reserve, an answer
// must arrive in one piece. A job is { id, data }, other answers are lists of words.

'use strict';

const nodestalker = require('nodestalker');
const checks = require('./checks');

const { between, equal, kPriorityMax, refused, scenario, server, until } = checks;
const parseYaml = checks.yamlOf('nodestalker');

// Runs a command, which emits the event success or error with the answer.
function call(client, command, ...args) {
  return new Promise((resolve, reject) => {
    client[command](...args).onSuccess(resolve)
      .onError(words => reject(new Error(words.join(' '))));
  });
}

async function connectTo(t, isRaw = false) {
  const client = await checks.connectTo(t, call);
  client.isRaw = isRaw;  // Bodies are buffers instead of texts.
  return client;
}

scenario('put, reserve, delete', async t => {
  const client = await connectTo(t);
  const [first] = await call(client, 'put', 'hello');
  const [second] = await call(client, 'put', 'world');
  equal(Number(second), Number(first) + 1, 'the next id');
  equal(await call(client, 'reserve'), { id: first, data: 'hello' }, 'the reserved job');
  equal(await call(client, 'deleteJob', first), ['DELETED'], 'delete a reserved job');
  await refused(call(client, 'deleteJob', first), 'NOT_FOUND', 'delete it again');
  equal(await call(client, 'deleteJob', second), ['DELETED'], 'delete a ready job');
});

scenario('put takes priority, delay and TTR', async t => {
  const client = await connectTo(t);
  const [id] = await call(client, 'put', 'later', kPriorityMax, 3600, 86400);
  const stats = await call(client, 'stats_job', id);
  equal([stats.pri, stats.delay, stats.ttr, stats.state], [kPriorityMax, 3600, 86400, 'delayed'],
    'a delayed job');
  between(stats['time-left'], 3500, 3600, 'time-left');
  const [plain] = await call(client, 'put', 'as the library likes it');
  const likes = await call(client, 'stats_job', plain);
  equal([likes.pri, likes.delay, likes.ttr], [10, 0, 100000], 'its defaults');
});

scenario('bodies come back byte for byte', async t => {
  const client = await connectTo(t, true);
  for (const [name, body] of checks.bodies) {
    // The client counts characters instead of bytes to find the end of an answer.
    if (body.length > 4096 && name !== 'as large as allowed') continue;
    const [put] = await call(client, 'put', body, 0, 0, 60);
    const job = await call(client, 'reserve');
    equal(job.id, put, `id reserved (${name})`);
    checks.sameBytes(job.data, body, `reserved ${name}`);
    await call(client, 'deleteJob', put);
  }
  const tooBig = call(client, 'put', Buffer.alloc(checks.kJobBytesMax + 1, 'x'));
  await refused(tooBig, 'JOB_TOO_BIG', 'one byte more');
  equal(await call(client, 'list_tube_used'), [t.tube], 'the connection stays usable');
});

scenario('reserve with a timeout', async t => {
  const client = await connectTo(t);
  await refused(call(client, 'reserve_with_timeout', 0), 'TIMED_OUT', 'at once');
  const waits = refused(call(client, 'reserveWithTimeout', 1), 'TIMED_OUT', 'after a second');
  await checks.takesAtLeast(900, waits, 'a timeout of 1');
  const [id] = await call(client, 'put', 'there');
  equal(await call(client, 'reserve_with_timeout', 10), { id, data: 'there' }, 'a job');
});

scenario('release, bury, kick, touch, peek', async t => {
  const client = await connectTo(t);
  const [id] = await call(client, 'put', 'again');
  await call(client, 'reserve');
  equal(await call(client, 'touch', id), ['TOUCHED'], 'touch');
  equal(await call(client, 'release', id, 7, 3600), ['RELEASED'], 'release');
  equal(await call(client, 'peek_delayed'), { id, data: 'again' }, 'peek-delayed');
  equal(await call(client, 'kick', 10), ['1'], 'kick');
  equal(await call(client, 'peek_ready'), { id, data: 'again' }, 'peek-ready');
  await call(client, 'reserve');
  equal(await call(client, 'bury', id, 3), ['BURIED'], 'bury');
  equal(await call(client, 'peek_buried'), { id, data: 'again' }, 'peek-buried');
  const stats = await call(client, 'stats_job', id);
  equal([stats.state, stats.pri, stats.releases, stats.buries, stats.kicks],
    ['buried', 3, 1, 1, 1], 'its counters');
  equal(await call(client, 'peek', id), { id, data: 'again' }, 'peek');
  equal(await call(client, 'peek', 999999999), ['NOT_FOUND'], 'peek an unknown id');
});

scenario('tubes', async t => {
  const client = await t.connect();
  equal(await call(client, 'use', t.tube), [t.tube], 'use');
  equal(await call(client, 'watch', t.tube), ['2'], 'watch');
  equal(await call(client, 'list_tubes_watched'), ['default', t.tube], 'list-tubes-watched');
  equal(await call(client, 'ignore', 'default'), ['1'], 'ignore');
  equal(await call(client, 'ignore', t.tube), ['NOT_IGNORED'], 'ignore the last one');
  equal((await call(client, 'list_tubes')).includes(t.tube), true, 'list-tubes');
  await call(client, 'put', 'x');
  equal(await call(client, 'pause_tube', t.tube, 3600), ['PAUSED'], 'pause-tube');
  await refused(call(client, 'reserve_with_timeout', 0), 'TIMED_OUT', 'no job of a paused tube');
  await call(client, 'pause_tube', t.tube, 0);
  equal((await call(client, 'reserve')).data, 'x', 'behind the pause');
});

scenario('stats', async t => {
  const client = await connectTo(t);
  checks.checkServerStats(await call(client, 'stats'), parseYaml);
  const [id] = await call(client, 'put', 'x', 1);
  const job = await call(client, 'stats_job', id);
  equal(Object.keys(job), checks.keys.job, 'keys of stats-job');
  equal([String(job.id), job.tube, job.state], [id, t.tube, 'ready'], 'stats-job');
  const tube = await call(client, 'stats_tube', t.tube);
  equal(Object.keys(tube), checks.keys.tube, 'keys of stats-tube');
  equal([tube.name, tube['current-jobs-urgent'], tube['current-using']], [t.tube, 1, 1],
    'stats-tube');
  equal(await call(client, 'stats_tube', 'nowhere'), ['NOT_FOUND'], 'an unknown tube');
});

// The worker of its documentation: it reserves again when the delete is answered.
scenario('the worker of its documentation', async t => {
  const [producer, worker] = [await connectTo(t), await connectTo(t)];
  const seen = [];
  const next = () => worker.reserve().onSuccess(job => {
    worker.deleteJob(job.id).onSuccess(() => {
      seen.push(job.data);
      next();
    });
  });
  next();
  await until(async () => (await call(producer, 'stats_tube', t.tube))['current-waiting'] === 1,
    'the worker waits');
  const bodies = Array.from({ length: 30 }, (_, index) => `job ${index}`);
  for (const body of bodies) await call(producer, 'put', body);
  await until(() => seen.length === bodies.length, 'all are done');
  equal(seen, bodies, 'in order');
});

scenario('drain mode', async t => {
  const client = await connectTo(t);
  process.kill(server.pid, 'SIGUSR1');
  await until(async () => (await call(client, 'stats')).draining === true, 'draining is true');
  await refused(call(client, 'put', 'too late'), 'DRAINING', 'put');
});

// The client connects with its first command.
checks.run(
  () => nodestalker.Client({ address: server.host, port: server.port }),
  client => client.conn && client.disconnect(),
);
