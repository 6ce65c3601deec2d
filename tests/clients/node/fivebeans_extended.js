// Extended commands by fivebeans: a subclass sends any line through the client's stream and queue of handlers. The
// client's own handler of an OK parses the text with js-yaml.
//
// SERVER_EXTENDED is set if the server has these commands.

'use strict';

const fivebeans = require('fivebeans');
const checks = require('./checks');

const { equal, keys, refused, scenario, server } = checks;

const kWords = [
  'flush-tube', 'scan-jobs', 'list-jobs', 'stats-tube-detail', 'stats-tubes', 'reserve-batch',
  'delete-batch', 'watch', 'reserve-mode', 'try', 'con', 'idp',
];
const kTimes = ['queue-time', 'work-time'].flatMap(time => ['p50', 'p99', 'max'].map(of => `${time}-${of}`));
const kDetailKeys = ['age-oldest-ready', 'age-oldest-buried', ...kTimes, 'buried-by-tries', 'current-jobs-blocked'];
const kJobKeys = [
  'id', 'tube', 'state', 'pri', 'age', 'delay', 'ttr', 'time-left', 'bytes', 'reserves', 'timeouts',
  'releases', 'buries', 'kicks',
];

// Reads whole answers: the queue of handlers passes it all bytes until it is complete. Only a batch needs its own
// handler, because its jobs are answers without a command.
class AnswerHandler {
  constructor(isBatch) {
    this.isBatch = isBatch;
    this.reset();
  }

  reset() {
    this.complete = false;
    this.success = false;
    this.args = undefined;
  }

  // Returns a line and the bytes that it announces, or nothing if they are incomplete.
  static take(data) {
    const end = data.indexOf('\r\n');
    if (end < 0) return undefined;
    const words = data.toString('latin1', 0, end).split(' ');
    let rest = data.subarray(end + 2);
    if (!['OK', 'RESERVED', 'FOUND'].includes(words[0])) return { words, rest };
    const bytes = Number(words[words.length - 1]);
    if (rest.length < bytes + 2) return undefined;
    const body = Buffer.from(rest.subarray(0, bytes));
    return { words, body, rest: rest.subarray(bytes + 2) };
  }

  process(data) {
    const answer = AnswerHandler.take(data);
    if (answer === undefined) return data;
    const jobs = [];
    let { rest } = answer;
    const wanted = answer.words[0] === 'RESERVED_BATCH' ? Number(answer.words[1]) : 0;
    while (this.isBatch && jobs.length < wanted) {
      const job = AnswerHandler.take(rest);
      if (job === undefined) return data;
      jobs.push([Number(job.words[1]), job.body]);
      rest = job.rest;
    }
    this.complete = true;
    this.success = /^(OK|RESERVED|RESERVED_BATCH|DELETED_BATCH|FLUSHED|USING|WATCHING|INSERTED)$/.test(answer.words[0]);
    this.args = this.success ? [answer.words, this.isBatch ? jobs : answer.body] : [answer.words[0]];
    return rest;
  }
}

class ExtendedClient extends fivebeans.client {
  // Resolves to the words of the line, and the bytes after it.
  send(line, body) {
    return new Promise((resolve, reject) => {
      const done = (error, ...answer) => (error ? reject(new Error(error)) : resolve(answer));
      this.handlers.push([new AnswerHandler(line.startsWith('reserve-batch ')), done]);
      this.stream.write(`${line}\r\n`);
      if (body !== undefined) this.stream.write(Buffer.concat([body, Buffer.from('\r\n')]));
    });
  }

  async text(line) {
    return checks.yamlOf('fivebeans')((await this.send(line))[1].toString());
  }

  async put(body, priority = 0) {
    return Number((await this.send(`put ${priority} 0 60 ${body.length}`, Buffer.from(body)))[0][1]);
  }

  // Returns the words of the server's `capabilities`, as docs/clients.md explains.
  async abilities() {
    try {
      return await this.text('capabilities');
    } catch (error) {
      if (error.message !== 'UNKNOWN_COMMAND') throw error;
      return [];
    }
  }
}

function open() {
  return new Promise((resolve, reject) => {
    const client = new ExtendedClient(server.host, server.port);
    client.on('connect', () => resolve(client));
    client.on('error', reject);
    client.connect();
  });
}

async function connectTo(t) {
  const client = await t.connect();
  for (const line of [`use ${t.tube}`, `watch ${t.tube}`]) await client.send(line);
  // The library's own commands use the same connection.
  await new Promise((resolve, reject) => client.ignore('default', error => (error ? reject(error) : resolve())));
  return client;
}

const ids = jobs => jobs.map(job => job.id);

function hasCommands() {
  scenario('capabilities lists what the server has', async t => {
    const words = await (await t.connect()).abilities();
    for (const word of kWords) equal(words.includes(word), true, word);
  });

  scenario('jobs are listed and scanned', async t => {
    const client = await connectTo(t);
    const late = await client.put('later', 5);
    const first = await client.put('a\r\n: b', 1);
    const { jobs } = await client.text(`list-jobs ${t.tube} ready 10`);
    equal(ids(jobs), [first, late], 'the order of service');
    equal(Object.keys(jobs[0]), kJobKeys, 'keys of a job');
    equal([jobs[0].tube, jobs[0].state, jobs[0].pri, jobs[0].bytes], [t.tube, 'ready', 1, 6], 'a job');
    let page = await client.text(`scan-jobs 0 1 ${t.tube}`);
    equal([ids(page.jobs), page.next], [[late], first], 'a page');
    page = await client.text(`scan-jobs ${page.next} 1 ${t.tube} ready`);
    equal(ids(page.jobs), [first], 'the next page');
    equal(await client.text(`list-jobs ${t.tube} buried 10`), { jobs: [] }, 'no job');
    await refused(client.send('list-jobs nowhere ready 1'), 'NOT_FOUND', 'no tube');
    await refused(client.send(`list-jobs ${t.tube} sleepy 1`), 'BAD_FORMAT', 'no state');
  });

  scenario('a tube is flushed', async t => {
    const client = await connectTo(t);
    for (const body of ['x', 'y', 'z']) await client.put(body);
    equal((await client.send(`flush-tube ${t.tube} buried`))[0], ['FLUSHED', '0'], 'no buried job');
    equal((await client.send(`flush-tube ${t.tube}`))[0], ['FLUSHED', '3'], 'all of them');
    equal((await client.send('flush-tube nowhere'))[0], ['FLUSHED', '0'], 'no tube');
  });

  scenario('batches are reserved and deleted', async t => {
    const client = await connectTo(t);
    equal((await client.send('reserve-batch 5'))[1], [], 'no job');
    equal((await client.send('reserve-batch 5 0'))[1], [], 'no job in time');
    const put = [];
    for (const [, body] of checks.bodies) put.push([await client.put(body), body]);
    const taken = [];
    // A batch has at most 1 MiB, so it may have fewer jobs than requested.
    for (let jobs; jobs === undefined || jobs.length > 0; taken.push(...jobs)) {
      [, jobs] = await client.send('reserve-batch 1000');
    }
    equal(taken.map(([id]) => id), put.map(([id]) => id), 'the jobs');
    taken.forEach(([, body], at) => checks.sameBytes(body, put[at][1], checks.bodies[at][0]));
    const all = taken.map(([id]) => id).join(' ');
    equal((await client.send(`delete-batch ${all} ${put[0][0]}`))[0], ['DELETED_BATCH', `${put.length}`, '1'],
      'deleted, and one that was gone');
    await refused(client.send('delete-batch x'), 'BAD_FORMAT', 'no id');
  });

  scenario('a batch waits for its first job', async t => {
    const client = await connectTo(t);
    const other = await connectTo(t);
    const waiting = client.send('reserve-batch 5 60');
    await checks.until(async () => (await other.text(`stats-tube ${t.tube}`))['current-waiting'] === 1, 'it waits');
    const id = await other.put('at last');
    equal((await waiting)[1].map(([job]) => job), [id], 'the job');
  });

  scenario('a put is unique as long as its job lives', async t => {
    const client = await connectTo(t);
    const put = async (priority, body) =>
      (await client.send(`put ${priority} 0 60 ${body.length} idp:order-7`, Buffer.from(body)))[0];
    const [word, id, ...none] = await put(5, 'once');
    equal([word, none], ['INSERTED', []], 'a new job');
    equal(await put(5, 'twice'), ['INSERTED', id, 'READY'], 'the job that is there');
    equal(await put(1, ''), ['INSERTED', id, 'READY', '1'], 'more urgent');
    const { jobs } = await client.text(`list-jobs ${t.tube} ready 10`);
    equal(Object.keys(jobs[0]), [...kJobKeys, 'idp'], 'keys of a unique job');
    equal(jobs.map(job => [`${job.id}`, job.pri, job.idp]), [[id, 1, 'order-7']], 'one job');
    equal((await client.send('reserve'))[1].toString(), 'once', 'the first body');
    equal(await put(1, 'x'), ['INSERTED', id, 'RESERVED'], 'while it is worked on');
    // The library's own put has no tags, and its delete frees the key.
    const destroy = job =>
      new Promise((resolve, reject) => client.destroy(job, error => (error ? reject(error) : resolve())));
    await destroy(id);
    equal((await put(1, 'x')).length, 2, 'a new job again');
    const putKept = async () => (await client.send('put 1 0 60 1 idp:order-8:60', Buffer.from('x')))[0];
    const [, kept] = await putKept();
    await destroy(kept);
    equal(await putKept(), ['INSERTED', kept, 'DELETED'], 'a key that has outlived its job');
    await refused(client.send('put 1 0 60 1 idp:'), 'BAD_FORMAT', 'no key');
  });

  scenario('reserves are shared out by weights', async t => {
    const client = await t.connect();
    const weights = { [`${t.tube}-a`]: 4, [`${t.tube}-b`]: 2, [`${t.tube}-c`]: 1 };
    for (const [tube, weight] of Object.entries(weights)) {
      await client.send(`use ${tube}`);
      for (let i = 0; i < 7; i++) await client.put(tube);
      await client.send(`watch ${tube} ${weight}`);
    }
    equal((await client.send('reserve-mode weighted'))[0], ['USING', 'weighted'], 'the mode');
    const taken = {};
    for (let i = 0; i < 7; i++) {
      const tube = (await client.send('reserve'))[1].toString();
      taken[tube] = (taken[tube] || 0) + 1;
    }
    equal(Object.entries(taken).sort(), Object.entries(weights).sort(), 'seven jobs');
    equal((await client.send('reserve-mode fifo'))[0][1], 'fifo', 'back');
    await refused(client.send(`watch ${t.tube} 0`), 'BAD_FORMAT', 'a weight of 0');
  });

  scenario('tubes tell how long their jobs wait', async t => {
    const client = await connectTo(t);
    await client.put('x');
    equal(Object.keys(await client.text(`stats-tube-detail ${t.tube}`)), kDetailKeys, 'keys of the detail');
    await refused(client.send('stats-tube-detail nowhere'), 'NOT_FOUND', 'no tube');
    const found = new Map();
    let page = { next: '*' };
    do {
      page = await client.text(`stats-tubes ${page.next} 1`);
      for (const tube of page.tubes) found.set(tube.name, tube);
    } while (page.next !== '*');
    equal([...found.keys()].sort(), (await client.text('list-tubes')).sort(), 'every tube, once');
    equal(Object.keys(found.get(t.tube)), [...keys.tube, ...kDetailKeys], 'keys of a tube');
    equal(found.get(t.tube)['current-jobs-ready'], 1, 'its ready jobs');
  });
}

// The answers of beanstalkd: it knows the first word of some of these commands with other arguments.
const kRefusals = {
  'flush-tube default': 'UNKNOWN_COMMAND',
  'scan-jobs 0 10': 'UNKNOWN_COMMAND',
  'list-jobs default ready 10': 'UNKNOWN_COMMAND',
  'delete-batch 1 2': 'UNKNOWN_COMMAND',
  'stats-tube-detail default': 'BAD_FORMAT',
  'stats-tubes * 10': 'BAD_FORMAT',
  'reserve-batch 3': 'BAD_FORMAT',
  'reserve-batch 3 0': 'BAD_FORMAT',
  'reserve-mode weighted': 'BAD_FORMAT',
  'watch other 4': 'BAD_FORMAT',
};

function hasNone() {
  scenario('capabilities is unknown, and the connection stays usable', async t => {
    const client = await connectTo(t);
    await refused(client.send('capabilities'), 'UNKNOWN_COMMAND', 'capabilities');
    equal(await client.abilities(), [], 'so there are none');
    await client.put('still here');
    equal((await client.send('reserve'))[1].toString(), 'still here', 'a job');
  });

  scenario('each of them is refused, and the connection stays usable', async t => {
    const client = await connectTo(t);
    for (const [line, answer] of Object.entries(kRefusals)) {
      await refused(client.send(line), answer, line);
      equal(await client.text('list-tubes-watched'), [t.tube], `after ${line}`);
    }
  });
}

(process.env.SERVER_EXTENDED === 'yes' ? hasCommands : hasNone)();
checks.run(open, client => client.end());
