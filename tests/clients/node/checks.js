// Functions that the programs of the npm clients share: scenarios, expectations, and required answers.
//
// A program lists its scenarios and calls run(). Each scenario has its own tube and connections, so a
// failure does not affect the others. run() prints the name of each scenario before it starts (if a
// program hangs, the last line names the scenario), failures, and at the end the number of expectations
// that passed.

'use strict';

const assert = require('assert');
const net = require('net');
const { once } = require('events');
const os = require('os');
const { setTimeout: pause } = require('timers/promises');

const keys = require('../stats-keys.json');

// The arguments: port, style of the YAML answers (plain or quoted), and the server's pid.
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

// Returns the seconds since a Date.now(), rounded up: a time that is read later has advanced by at most
// this value.
function secondsSince(begin) {
  return Math.ceil((Date.now() - begin) / 1000);
}

// Compares bodies as buffers. Shows only the first difference of long ones.
function sameBytes(actual, expected, what) {
  equal(Buffer.isBuffer(actual), true, `${what}, is a buffer`);
  equal(actual.length, expected.length, `${what}, length`);
  const at = actual.findIndex((byte, index) => byte !== expected[index]);
  equal(at, -1, `${what}, place of the first wrong byte`);
}

// Returns the error of a rejected promise. Fails if the promise is fulfilled.
async function failure(promise, what) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  assert.fail(`${what}: expected an error, got ${show(value)}`);
}

// Expects that the promise is rejected by an error with exactly this message.
async function refused(promise, message, what) {
  equal((await failure(promise, what)).message, message, what);
}

// Polls until the condition is true, for effects of other connections or of time.
async function until(condition, what) {
  const deadline = Date.now() + kPatienceMilliseconds;
  while (!(await condition())) {
    if (Date.now() > deadline) assert.fail(`${what}: not within ${kPatienceMilliseconds} ms`);
    await pause(kPollMilliseconds);
  }
  held++;
}

// Expects that a promise takes at least this time. There is no upper limit, because the machine may be busy.
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

// The stats of a fresh server ----------------------------------------------------------------

// The text values of `stats`, as a YAML parser returns them: values in double quotes are unchanged, others
// are interpreted (`#1 SMP ...` is a comment, so nothing). beanstalkd 1.12 quotes only its version.
function machineTexts(parseYaml) {
  const bare = text => (server.quoted ? text : parseYaml(`value: ${text}`).value);
  return {
    version: server.quoted ? '1.13' : '1.12',
    hostname: bare(os.hostname()),
    os: bare(os.version()),
    platform: bare(os.machine()),
  };
}

// Returns the js-yaml of a client.
function yamlOf(client) {
  return require(require.resolve('js-yaml', { paths: [require.resolve(client)] })).load;
}

const kServerTexts = ['version', 'draining', 'id', 'hostname', 'os', 'platform', 'haricot-version'];

// Checks `stats` except the counters: keys in order, types, and values that the test knows.
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

// Returns the increases of command counters from one `stats` to a later one, without unchanged counters.
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

// Puts a job without the library under test, for bodies that it cannot send.
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

// Makes a client use and watch only this tube. `call` runs one of its commands, for clients whose methods
// do not return promises.
async function settle(client, tube, call = callMethod) {
  await call(client, 'use', tube);
  await call(client, 'watch', tube);
  await call(client, 'ignore', 'default');
  return client;
}

// Opens a connection of the scenario, which uses and watches its tube.
async function connectTo(t, call) {
  return settle(await t.connect(), t.tube, call);
}

// Waits until the TTR of a job has ended. The holder itself has to poll the state, because beanstalkd 1.12
// may forget the deadlines of a silent connection while others are active.
function overdue(askState) {
  return until(async () => (await askState()) === 'ready', 'the TTR ends');
}

// Running ------------------------------------------------------------------------------------

// open() resolves to a connected client, and close(client) closes its connection.
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
  // A waiting connection of a scenario must not keep the program alive.
  process.exit(failed ? 1 : 0);
}

module.exports = {
  between, bodies, checkServerStats, connectTo, countedSince, equal, failure, keys, kJobBytesMax,
  kPriorityMax, overdue, putOverWire, refused, run, sameBytes, scenario, secondsSince, server,
  settle, takesAtLeast, until, yamlOf,
};
