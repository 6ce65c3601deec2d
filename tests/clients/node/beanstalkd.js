// beanstalkd: promises, one command at a time, answers parsed by js-yaml 3.
// Ids and counts are numbers, bodies are buffers, and the message of an error is the first word of
// the answer.

'use strict';

const Beanstalkd = require('beanstalkd').default;
const checks = require('./checks');

const { between, connectTo, equal, kPriorityMax, refused, scenario, server, until } = checks;
const parseYaml = checks.yamlOf('beanstalkd');

scenario('put, reserve, delete', async t => {
  const client = await connectTo(t);
  const first = await client.put(10, 0, 60, 'hello');
  equal(await client.put(10, 0, 60, 'world'), first + 1, 'the next id');
  const [id, body] = await client.reserve();
  equal([id, body.toString()], [first, 'hello'], 'the reserved job');
  await client.delete(id);
  await refused(client.delete(id), 'NOT_FOUND', 'delete it again');
  await client.destroy(first + 1);
  await refused(client.peek(first + 1), 'NOT_FOUND', 'delete a ready job');
});

scenario('put takes priority, delay and TTR', async t => {
  const client = await connectTo(t);
  const stats = await client.statsJob(await client.put(kPriorityMax, 3600, 86400, 'later'));
  equal([stats.pri, stats.delay, stats.ttr, stats.state], [kPriorityMax, 3600, 86400, 'delayed'],
    'a delayed job');
  between(stats['time-left'], 3500, 3600, 'time-left');
  equal((await client.statsJob(await client.put(0, 0, 0, 'no TTR'))).ttr, 1, 'TTR 0 becomes 1');
});

scenario('bodies come back byte for byte', async t => {
  const client = await connectTo(t);
  for (const [name, body] of checks.bodies) {
    const put = await client.put(0, 0, 60, body);
    checks.sameBytes((await client.peek(put))[1], body, `peeked ${name}`);
    const [reserved, taken] = await client.reserve();
    equal(reserved, put, `id reserved (${name})`);
    checks.sameBytes(taken, body, `reserved ${name}`);
    await client.delete(reserved);
  }
  const tooBig = client.put(0, 0, 60, Buffer.alloc(checks.kJobBytesMax + 1, 'x'));
  await refused(tooBig, 'JOB_TOO_BIG', 'one byte more');
  equal(await client.listTubeUsed(), t.tube, 'the connection stays usable');
});

scenario('reserve with a timeout', async t => {
  const client = await connectTo(t);
  await refused(client.reserveWithTimeout(0), 'TIMED_OUT', 'at once');
  const waits = refused(client.reserveWithTimeout(1), 'TIMED_OUT', 'after a second');
  await checks.takesAtLeast(900, waits, 'a timeout of 1');
  const put = await client.put(0, 0, 60, 'there');
  equal((await client.reserveWithTimeout(10))[0], put, 'a job that is there');
});

scenario('release, bury, kick-job, touch', async t => {
  const client = await connectTo(t);
  const id = await client.put(5, 0, 60, 'again');
  await client.reserve();
  await client.release(id, 7, 3600);
  let stats = await client.statsJob(id);
  equal([stats.state, stats.pri, stats.releases], ['delayed', 7, 1], 'released with a delay');
  await client.kickJob(id);
  await client.reserve();
  await client.touch(id);
  await client.bury(id, 3);
  stats = await client.statsJob(id);
  equal([stats.state, stats.pri, stats.buries, stats.kicks], ['buried', 3, 1, 1], 'buried');
  equal((await client.peekBuried())[0], id, 'peek-buried');
  await client.kickJob(id);
  equal((await client.peekReady())[0], id, 'peek-ready');
  await refused(client.peekDelayed(), 'NOT_FOUND', 'peek-delayed');
  await refused(client.kickJob(id), 'NOT_FOUND', 'kick-job of a ready job');
  await refused(client.touch(id), 'NOT_FOUND', 'touch of a ready job');
});

scenario('tubes', async t => {
  const client = await t.connect();
  equal(await client.use(t.tube), t.tube, 'use');
  equal(await client.watch(t.tube), 2, 'watch');
  equal(await client.listTubesWatched(), ['default', t.tube], 'list-tubes-watched');
  equal(await client.ignore('default'), 1, 'ignore');
  await refused(client.ignore(t.tube), 'NOT_IGNORED', 'ignore the last one');
  equal((await client.listTubes()).includes(t.tube), true, 'list-tubes');
  await client.put(0, 0, 60, 'x');
  await client.pauseTube(t.tube, 3600);
  await refused(client.reserveWithTimeout(0), 'TIMED_OUT', 'no job of a paused tube');
  equal((await client.statsTube(t.tube)).pause, 3600, 'pause');
  await client.pauseTube(t.tube, 0);
  equal((await client.reserve())[1].toString(), 'x', 'behind the pause');
  await refused(client.statsTube('nowhere'), 'NOT_FOUND', 'stats of an unknown tube');
});

scenario('stats', async t => {
  const client = await connectTo(t);
  checks.checkServerStats(await client.stats(), parseYaml);
  const id = await client.put(1, 0, 60, 'x');
  const job = await client.statsJob(id);
  equal(Object.keys(job), checks.keys.job, 'keys of stats-job');
  equal([job.id, job.tube, job.state], [id, t.tube, 'ready'], 'stats-job');
  const tube = await client.statsTube(t.tube);
  equal(Object.keys(tube), checks.keys.tube, 'keys of stats-tube');
  equal([tube.name, tube['current-jobs-urgent'], tube['current-using']], [t.tube, 1, 1],
    'stats-tube');
});

scenario('many commands at once', async t => {
  const client = await connectTo(t);
  const numbers = Array.from({ length: 50 }, (_, index) => index);
  const ids = await Promise.all(numbers.map(index => client.put(index, 0, 60, `job ${index}`)));
  const jobs = await Promise.all(numbers.map(() => client.reserve()));
  equal(jobs.map(([id, body]) => [id, body.toString()]),
    numbers.map(index => [ids[index], `job ${index}`]), 'jobs, in order');
});

scenario('drain mode', async t => {
  const client = await connectTo(t);
  process.kill(server.pid, 'SIGUSR1');
  await until(async () => (await client.stats()).draining === true, 'draining is true');
  await refused(client.put(0, 0, 60, 'too late'), 'DRAINING', 'put');
});

checks.run(
  () => new Beanstalkd(server.host, server.port).connect(),
  client => client.quit(),
);
