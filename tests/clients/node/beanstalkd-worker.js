// beanstalkd-worker: handlers for tubes, with retries, delays and jobs that wait for other jobs.
// It gets the number of tries, the TTR, and the end of a job from stats-job.

'use strict';

const BeanstalkdWorker = require('beanstalkd-worker');
const checks = require('./checks');

const { between, equal, failure, scenario, server, until } = checks;

const kTries = { tries: 2, backoff: { initial: 1000 } };

// Runs the handlers while `body` runs, and ends them afterwards.
async function working(worker, body) {
  worker.start();
  try {
    await body();
  } finally {
    await worker.stop();
  }
}

scenario('a job reaches its handler and is done', async t => {
  const worker = await t.connect();
  const seen = [];
  worker.handle(t.tube, payload => { seen.push(payload); return Promise.resolve(); });
  await working(worker, async () => {
    for (const payload of [{ n: 1, text: 'ä\r\n€😀' }, { n: 2 }, { n: 3 }]) {
      const job = await worker.spawn(t.tube, payload);
      equal(await job.done(), undefined, `job ${payload.n} ends`);
      equal(await job.status(), 'success', 'its status behind the end');
    }
  });
  equal(seen, [{ n: 1, text: 'ä\r\n€😀' }, { n: 2 }, { n: 3 }], 'payloads, in order');
});

scenario('options become priority, delay and TTR', async t => {
  const worker = await t.connect();
  const options = { priority: 7, delay: 3600 * 1000, timeout: 90 * 1000 };
  const job = await worker.spawn(t.tube, { x: 1 }, options);
  const stats = await job.stats();
  equal(Object.keys(stats), checks.keys.job, 'keys of stats-job');
  equal([stats.pri, stats.delay, stats.ttr, stats.state, stats.tube],
    [7, 3600, 90, 'delayed', t.tube], 'stats of the job');
  equal(await job.status(), 'delayed', 'its status');
  await worker.stop();
});

scenario('a job that fails is tried again', async t => {
  const worker = await t.connect();
  const times = [];
  worker.handle(t.tube, () => {
    times.push(Date.now());
    return times.length === 1 ? Promise.reject(new Error('on purpose')) : Promise.resolve();
  }, kTries);
  await working(worker, async () => {
    await (await worker.spawn(t.tube, { x: 1 })).done();
  });
  equal(times.length, 2, 'tries');
  between(times[1] - times[0], 900, 20000, 'the second one comes after the delay');
});

scenario('a job that fails too often is buried', async t => {
  const worker = await t.connect();
  let tries = 0;
  worker.handle(t.tube, () => { tries++; return Promise.reject(new Error('on purpose')); }, kTries);
  await working(worker, async () => {
    const job = await worker.spawn(t.tube, { x: 1 });
    equal((await failure(job.done(), 'done')).message, 'buried', 'how it ends');
    const stats = await job.stats();
    equal([stats.state, stats.reserves, stats.releases, stats.buries], ['buried', 2, 1, 1],
      'its counters');
    equal(tries, 2, 'tries');
  });
});

scenario('a handler puts its job off', async t => {
  const worker = await t.connect();
  let runs = 0;
  worker.handle(t.tube, function handler() {
    return ++runs === 1 ? this.delay(1000) : Promise.resolve();
  });
  await working(worker, async () => {
    const job = await worker.spawn(t.tube, { x: 1 });
    await until(async () => (await job.status()) === 'delayed', 'it is delayed');
    await job.done();
  });
  equal(runs, 2, 'runs');
});

scenario('a job waits for another one and keeps its own', async t => {
  const worker = await t.connect();
  const order = [];
  worker.handle(`${t.tube}-parent`, async function handler(payload) {
    await this.child(`${t.tube}-child`, { of: payload.name });
    order.push(`parent ${payload.name}`);
  });
  worker.handle(`${t.tube}-child`, payload => {
    order.push(`child of ${payload.of}`);
    return Promise.resolve();
  });
  await working(worker, async () => {
    await (await worker.spawn(`${t.tube}-parent`, { name: 'a' }, { timeout: 5000 })).done();
  });
  equal(order, ['child of a', 'parent a'], 'order');
});

scenario('handlers side by side share the jobs', async t => {
  const worker = await t.connect();
  const seen = [];
  worker.handle(t.tube, payload => { seen.push(payload.n); return Promise.resolve(); },
    { width: 4 });
  await working(worker, async () => {
    const numbers = Array.from({ length: 40 }, (_, index) => index);
    const jobs = await Promise.all(numbers.map(n => worker.spawn(t.tube, { n })));
    await Promise.all(jobs.map(job => job.done()));
    equal(seen.slice().sort((a, b) => a - b), numbers, 'each job once');
    const stats = await worker.tube(t.tube).command('statsTube', t.tube);
    equal([stats['total-jobs'], stats['cmd-delete'], stats['current-watching']], [40, 40, 4],
      'the tube');
  });
});

// The handlers stop themselves; those of a failed scenario end with the program.
checks.run(() => new BeanstalkdWorker(server.host, server.port), () => {});
