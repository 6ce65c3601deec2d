// What the programs of the npm clients share: scenarios, expectations, and what a server must say.
//
// A program lists its scenarios and calls run(). Each scenario has a tube and connections of its
// own, so one that fails leaves the others meaningful. run() prints every scenario's name before it
// starts (when a program hangs, the last line says where), what failed, and at the end the number
// of expectations that held.

'use strict';

const assert = require('assert');
const net = require('net');
const { once } = require('events');
const os = require('os');
const { setTimeout: pause } = require('timers/promises');

const keys = require('../stats-keys.json');

// The command line: port, style of the YAML answers (plain or quoted), the server's pid.
const [port, style, pid] = process.argv.slice(2);
const server = {
  host: '127.0.0.1',
  port: Number(port),
  pid: Number(pid),
  quoted: style === 'quoted',
};
if (!server.port || !server.pid || !['plain', 'quoted'].includes(style)) {
  console.error(`usage: ${process.argv[1]} <port> plain|quoted <pid>`);
  process.exit(2);
}

const kPollMilliseconds = 10;
const kPatienceMilliseconds = 20000;
const kJobBytesMax = 65535;
const kPriorityMax = 4294967295;

const scenarios = [];
let held = 0;

function scenario(name, body) {
  scenarios.push({ name, body });
}

// Expectations -------------------------------------------------------------------------------

function equal(actual, expected, what) {
  try {
    assert.deepStrictEqual(actual, expected);
  } catch {
    assert.fail(`${what}: expected ${show(expected)}, got ${show(actual)}`);
  }
  held++;
}

function between(actual, low, high, what) {
  if (typeof actual !== 'number' || !(actual >= low && actual <= high)) {
    assert.fail(`${what}: expected a number from ${low} to ${high}, got ${show(actual)}`);
  }
  held++;
}

// Whole seconds since a Date.now(), rounded up: on a busy machine a time that is looked at later has
// gone on by so much.
function secondsSince(begin) {
  return Math.ceil((Date.now() - begin) / 1000);
}

// Bodies are compared as buffers; of a long one only the first difference is shown.
function sameBytes(actual, expected, what) {
  equal(Buffer.isBuffer(actual), true, `${what}, is a buffer`);
  equal(actual.length, expected.length, `${what}, length`);
  const at = actual.findIndex((byte, index) => byte !== expected[index]);
  equal(at, -1, `${what}, place of the first wrong byte`);
}

// What a promise is rejected with, as long as it is rejected.
async function failure(promise, what) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  assert.fail(`${what}: expected an error, got ${show(value)}`);
}

// That it is rejected by an error with this very message.
async function refused(promise, message, what) {
  equal((await failure(promise, what)).message, message, what);
}

// Asks until the condition holds; for what happens on another connection or after a while.
async function until(condition, what) {
  const deadline = Date.now() + kPatienceMilliseconds;
  while (!(await condition())) {
    if (Date.now() > deadline) assert.fail(`${what}: not within ${kPatienceMilliseconds} ms`);
    await pause(kPollMilliseconds);
  }
  held++;
}

// How long a promise took to settle, at least; a busy machine may always take longer.
async function takesAtLeast(milliseconds, promise, what) {
  const start = Date.now();
  const value = await promise;
  const taken = Date.now() - start;
  if (taken < milliseconds) assert.fail(`${what}: came after ${taken} ms, not ${milliseconds}`);
  held++;
  return value;
}

function show(value) {
  const text = Buffer.isBuffer(value) ? `<${value.length} bytes>` : JSON.stringify(value);
  return text && text.length > 400 ? `${text.slice(0, 400)}...` : text;
}

// What the stats of a fresh server say -------------------------------------------------------

// The text values of `stats`, as a YAML parser returns them: in double quotes they stay what they
// are, bare ones turn into whatever their letters mean (`#1 SMP ...` is a comment, so nothing).
// beanstalkd 1.12 quotes its version, and only that.
function machineTexts(parseYaml) {
  const bare = text => (server.quoted ? text : parseYaml(`value: ${text}`).value);
  return {
    version: server.quoted ? '1.13' : '1.12',
    hostname: bare(os.hostname()),
    os: bare(os.version()),
    platform: bare(os.machine()),
  };
}

// The js-yaml that a client itself was installed with.
function yamlOf(client) {
  return require(require.resolve('js-yaml', { paths: [require.resolve(client)] })).load;
}

const kServerTexts = ['version', 'draining', 'id', 'hostname', 'os', 'platform', 'haricot-version'];

// All of `stats` but the counters: keys in their order, types, and what can be known from outside.
function checkServerStats(stats, parseYaml) {
  const found = Object.keys(stats);
  equal(found.slice(0, keys.server.length), keys.server, 'keys of stats, in order');
  for (const key of found) {
    if (!kServerTexts.includes(key)) equal(typeof stats[key], 'number', `type of ${key}`);
  }
  equal(stats.pid, server.pid, 'pid');
  equal(stats['max-job-size'], kJobBytesMax, 'max-job-size');
  equal(stats['binlog-max-size'], 10485760, 'binlog-max-size');
  equal(stats.draining, false, 'draining');
  for (const [key, value] of Object.entries(machineTexts(parseYaml))) equal(stats[key], value, key);
}

// How much each command counter has grown from one `stats` to a later one, without those that
// stayed what they were.
function countedSince(before, after) {
  const grown = {};
  for (const key of keys.server) {
    if (key.startsWith('cmd-') && after[key] !== before[key]) grown[key] = after[key] - before[key];
  }
  return grown;
}

// Bodies -------------------------------------------------------------------------------------

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, index) => index));

const bodies = [
  ['every byte', everyByte],
  ['every byte backwards', Buffer.from(everyByte).reverse()],
  ['CR LF inside, and what looks like an answer', Buffer.from('a\r\nRESERVED 1 3\r\nabc\r\n')],
  ['only CR LF', Buffer.from('\r\n')],
  ['60 KB', Buffer.from({ length: 60 * 1024 }).map((_, index) => index * 31 + (index >> 8))],
  ['as large as allowed', Buffer.alloc(kJobBytesMax, 'x')],
];

// Puts a job past the library under test, for bodies that it cannot send itself.
async function putOverWire(tube, body) {
  const socket = net.connect(server.port, server.host);
  socket.write(`use ${tube}\r\nput 0 0 60 ${body.length}\r\n`);
  socket.write(Buffer.concat([body, Buffer.from('\r\n')]));
  let answer = '';
  while (!/INSERTED \d+\r\n$/.test(answer)) answer += (await once(socket, 'data'))[0];
  socket.destroy();
  return /INSERTED (\d+)/.exec(answer)[1];
}

// Commands -----------------------------------------------------------------------------------

const callMethod = (client, command, ...words) => client[command](...words);

// Has a client use and watch a tube, and only that. `call` runs a command of it, for clients whose
// methods return no promise.
async function settle(client, tube, call = callMethod) {
  await call(client, 'use', tube);
  await call(client, 'watch', tube);
  await call(client, 'ignore', 'default');
  return client;
}

// A connection of the scenario, settled on its tube.
async function connectTo(t, call) {
  return settle(await t.connect(), t.tube, call);
}

// Waits until the TTR of a job has ended. Its holder has to be the one who asks for its state, and
// to keep asking: beanstalkd 1.12 may forget the deadlines of a connection that is silent while
// others are not.
function overdue(askState) {
  return until(async () => (await askState()) === 'ready', 'the TTR ends');
}

// Running ------------------------------------------------------------------------------------

// open() resolves to a connected client, close(client) ends its connection.
async function runScenario({ name, body }, number, open, close) {
  const clients = [];
  const connect = async () => {
    const client = await open();
    clients.push(client);
    return client;
  };
  console.log(name);
  try {
    await body({ tube: `scenario-${number}`, connect });
    return true;
  } catch (error) {
    console.log(`  FAILED ${error instanceof assert.AssertionError ? error.message : error.stack}`);
    return false;
  } finally {
    for (const client of clients) await close(client);
  }
}

async function run(open, close) {
  let failed = 0;
  for (let number = 0; number < scenarios.length; number++) {
    if (!(await runScenario(scenarios[number], number, open, close))) failed++;
  }
  console.log(failed ? `${failed} of ${scenarios.length} scenarios failed` : `${held} checks`);
  // A connection that a scenario left behind, waiting, must not keep the program alive.
  process.exit(failed ? 1 : 0);
}

module.exports = {
  between, bodies, checkServerStats, connectTo, countedSince, equal, failure, keys, kJobBytesMax,
  kPriorityMax, overdue, putOverWire, refused, run, sameBytes, scenario, secondsSince, server,
  settle, takesAtLeast, until, yamlOf,
};
