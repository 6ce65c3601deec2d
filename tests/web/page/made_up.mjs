// Simulates `haricot web` and its servers, for situations that are hard to produce with real ones: any number of tubes,
// hostile names and bodies, servers that end and return.
//
//   node made_up.mjs [--port N] [--tubes N] [--read-only]        prints its address
//
// Tests import makeUp() and change its `world`.
import {createServer} from 'node:http';
import {readFileSync, readdirSync} from 'node:fs';
import {fileURLToPath} from 'node:url';

const kPage = fileURLToPath(new URL('../../../src/web/page/', import.meta.url));
const kTypes = {html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml'};
const kPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export const kHostile = [
  '<img src=x onerror=window.wasRun=1>', '"><script>window.wasRun=1</script>', "';window.wasRun=1;//", '../../../etc/passwd',
  'a&server=other#/x?y', '\u202eevil\u202c', 'x'.repeat(200), '__proto__', '100%', 'javascript:window.wasRun=1',
];
const kWords = ['emails', 'invoices', 'thumbnails', 'webhooks', 'search-index', 'reports', 'sms', 'billing', 'exports', 'cleanup'];

// Returns a number from 0 to 1 that depends only on the seed.
function chance(seed) {
  const x = Math.sin(seed * 12.9898) * 43758.5453;
  return x - Math.floor(x);
}

const kBodies = [
  JSON.stringify({uuid: 'd2c5', displayName: 'App\\Jobs\\SendWelcomeMail', job: 'Illuminate\\Queue\\CallQueuedHandler@call', maxTries: 3,
                  data: {commandName: 'App\\Jobs\\SendWelcomeMail', command: 'O:24:"App\\Jobs\\SendWelcomeMail":1:{s:4:"user";i:7;}'}, id: 12345678901234567890n.toString()}).replace(/"(\d{20})"/, '$1'),
  '<script>window.wasRun=1</script><img src=x onerror=window.wasRun=1>',
  Buffer.from([0, 1, 2, 255, 254, 0x3c, 0x73, 0x3e]),
  'plain text, line one\nline two',
  '{"__proto__": {"polluted": true}, "constructor": "<b>x</b>", "list": [1, 2.5, null, true]}',
];

function makeTube(i) {
  const name = i < kHostile.length ? kHostile[i] : `${kWords[i % kWords.length]}-${String(i).padStart(6, '0')}`;
  const busy = Math.max(0, 1 - i / 400);
  const ready = Math.floor(chance(i) ** 3 * 4000 * busy);
  return {
    name, ready, urgent: Math.floor(ready / 10), reserved: Math.floor(chance(i + 1) * 9 * busy), delayed: Math.floor(chance(i + 2) ** 4 * 300),
    buried: chance(i + 3) > 0.93 ? Math.floor(chance(i + 4) * 90) + 1 : 0, waiting: Math.floor(chance(i + 5) * 20 * busy), using: 3, watching: 12,
    puts: 1000 + i, deletes: 900 + i, put_rate: chance(i + 6) * 90 * busy, delete_rate: chance(i + 7) * 90 * busy,
    paused_seconds: i % 37 === 12 ? 543 : 0, oldest_ready_seconds: ready ? chance(i + 8) * 900 : null, is_growing: i % 29 === 14,
    spark: null, spark_in: i < 100 ? wave(i, 60, 40) : null, spark_out: i < 100 ? wave(i + 0.4, 60, 38) : null,
  };
}

function wave(seed, points, height) {
  return Array.from({length: points}, (_, i) =>
    Math.max(0, height * (0.55 + 0.3 * Math.sin(i / 9 + seed) + 0.1 * Math.sin(i / 2.7 + seed * 3) + 0.15 * (chance(seed + i) - 0.5))));
}

function makeJob(id, tube, state, body = kBodies[id % kBodies.length]) {
  const bytes = Buffer.from(body);
  return {id, tube, state, priority: 1024, age: 75.4 + id, delay: 0, ttr: 60, time_left: state === 'delayed' ? 12 : 0, reserves: id % 3, timeouts: 0,
          releases: 0, buries: state === 'buried' ? 1 : 0, kicks: 0, holder: null, is_held: false, buried_by: null, buried_ago: null, last_try: null, reserved_for: null, note: null, bytes: bytes.length, tags: id % 2 ? {con: 'user-7'} : null,
          body_base64: bytes.toString('base64'), is_cut: false};
}

const kReservedJob = 41;
const kHeldJob = 43;
const kTriedJob = 45;

// Returns the answer of /api/job: one job is reserved, one is held, the others are buried, one of
// them with a known cause.
function jobOf(id) {
  const job = makeJob(id, 'emails-000010', {[kReservedJob]: 'reserved', [kHeldJob]: 'delayed'}[id] ?? 'buried');
  if (id === kReservedJob) return {...job, holder: 12, reserved_for: 35};
  if (id === kTriedJob) return {...job, buried_by: 'tries', buried_ago: 75, last_try: 'timeout', note: 'SMTP <timeout>'};
  return id === kHeldJob ? {...job, is_held: true, tags: {grp: 'import-12', aft: 'import-11'}} : job;
}

// Ids have gaps, as after closed connections.
function makeClient(i) {
  return {id: i * 2 + 2, address: i < kHostile.length ? kHostile[i] : i % 5 ? `10.0.${i % 7}.${i % 250}:${40000 + i}` : 'unix', used: kHostile[i % 97] ?? 'emails-000010',
          state: ['idle', 'waiting', 'running', 'body'][i % 4], age: i * 37, idle: i % 60, watching: i % 12 + 1, jobs: i % 11 ? 0 : i % 23, commands: i * 1000};
}

export function makeUp({tubes = 100000, allowChanges = true} = {}) {
  const world = {
    allowChanges, down: new Set(), isSilent: false, holdsEvents: false, forgetsRows: false, orders: [], asked: [], searchPieces: 40, searchHolds: Infinity,
    hasHistory: true,
    churns: false,  // If true, each request for a tube finds other next jobs.
    hit: null,  // Returns the body of a hit: [before, the match, after].
    holdsBody: false,  // If true, an answer that is held back has begun.
    stayed: 0, gone: new Set(),  // Number of jobs that an action does not change, and ids of deleted jobs.
    clients: Array.from({length: 1200}, (_, i) => makeClient(i)),
    tubes: Array.from({length: tubes}, (_, i) => makeTube(i)),
  };
  const streams = new Set();
  const held = [];  // Send answers that are held back.

  const names = ['queue1.example.net:11300', 'queue2.example.net:11300', 'unix:/run/beanstalkd/socket'];
  const servers = () => ({
    version: '0.1.0', allow_changes: world.allowChanges, has_login: true, interval_seconds: 2,
    servers: names.map((name, i) => {
      const isDown = world.down.has(name);
      const isHaricot = i !== 1;
      const shift = Math.sin(Date.now() / 9000 + i);
      return {
        name, state: isDown ? 'down' : 'up', error: isDown ? 'Connection refused' : null, down_seconds: isDown ? 125 : null, sample_age_seconds: 0.4,
        software: isHaricot ? 'haricot 0.1.0' : 'beanstalkd 1.10', is_haricot: isHaricot, capabilities: isHaricot ? ['scan-jobs', 'list-jobs', 'list-clients', 'stats-group'] : [], has_reserve_job: isHaricot,
        hostname: `queue${i + 1}`, pid: 4100 + i, uptime_seconds: 913000 + i * 7000, is_draining: i === 2, is_refusing: false,
        jobs: {ready: [18240, 312, 0][i], urgent: 12, reserved: [64, 12, 3][i], delayed: [2210, 40, 0][i], buried: [17, 0, 0][i]},
        tubes: [tubes, 14, 3][i], paused_tubes: i === 0 ? 2 : isHaricot ? 0 : null, workers_waiting: [22, 8, 4][i], connections: [world.clients.length, 31, 9][i],
        producers: [60, 12, 3][i], workers: [86, 20, 6][i],
        rates: {puts: [1240, 86, 3.2][i] * (1 + shift / 10), reserves: [1225, 86, 3.2][i], deletes: [1210, 85.5, 3.2][i] * (1 - shift / 14),
                timeouts: [0.2, 0, 0][i], commands: 5000},
        memory_bytes: isHaricot ? 48.2e6 : null, binlog: {is_on: i === 0, bytes: i === 0 ? 31e6 : null, state: null}, stats: {},
      };
    }),
  });

  const history = (query) => {
    const isDay = query.get('range') === 'day';
    const points = world.hasHistory ? (isDay ? 720 : 240) : 0;
    const seed = query.get('tube') ? 2 : names.indexOf(query.get('server'));
    const series = (n, height) => wave(seed + n, points, height);
    const answer = {step_seconds: isDay ? 120 : 15, end: Math.floor(Date.now() / 1000), points, ready: series(1, 9000), urgent: series(2, 10), reserved: series(3, 70),
                    delayed: series(4, 2400), buried: series(5, 20), waiting: series(6, 20), put_rate: series(7, 1300), delete_rate: series(7.3, 1280)};
    answer.put_rate.fill(null, 0, 30);
    if (query.get('tube')) Object.assign(answer, {wait_p50_ms: series(8, 40), wait_p99_ms: series(9, 900)});
    return answer;
  };

  const listTubes = (query) => {
    const filter = (query.get('filter') ?? '').toLowerCase();
    const key = query.get('sort') === 'oldest' ? 'oldest_ready_seconds' : query.get('sort') ?? 'name';
    // By default, names are ascending and numbers descending.
    const sign = (query.get('reverse') === '1') === (key === 'name') ? -1 : 1;
    const found = world.tubes.filter((tube) => tube.name.toLowerCase().includes(filter));
    found.sort((a, b) => sign * (key === 'name' ? (a.name < b.name ? -1 : 1) : (a[key] ?? -1) - (b[key] ?? -1)));
    const from = Number(query.get('from'));
    return {sample_age_seconds: 0.3, total: world.tubes.length, matching: found.length, from, sums: {},
            tubes: world.forgetsRows ? [] : found.slice(from, from + Math.min(500, Number(query.get('count'))))};
  };

  // Like haricotd, scans 1000 ids for a page.
  const listClients = (query) => {
    const from = Math.max(1, Number(query.get('from')));
    const found = world.clients.filter((one) => one.id >= from && one.id < from + 1000).slice(0, Number(query.get('count')));
    const begin = found.length === Number(query.get('count')) ? found.at(-1).id + 1 : from + 1000;
    return {clients: found, next: world.clients.some((one) => one.id >= begin) ? begin : null};
  };

  const search = (query) => {
    if (query.get('id')) return {hits: [makeJob(Number(query.get('id')), 'emails-000010', 'ready')], looked_at: 1, next: null, done: true};
    const piece = Number(query.get('after') ?? 0);
    const isLast = piece + 1 >= world.searchPieces;
    const [before, match, after] = world.hit ?? ['', query.get('contains'), ` <b>${piece}</b>`];
    const job = {...makeJob(piece * 2 + 1, 'emails-000010', 'buried', before + match + after), body_offset: 0, hit_offset: Buffer.byteLength(before), hit_bytes: Buffer.byteLength(match)};
    return {hits: [job], looked_at: 1000, next: isLast ? null : String(piece + 1), done: isLast};
  };

  const tubeNamed = (name) => world.tubes.find((tube) => tube.name === name);

  const doOrder = (order) => {
    world.orders.push(order);
    const tube = tubeNamed(order.tube);
    if (order.action === 'pause') tube.paused_seconds = order.seconds;
    if (order.action === 'flush') Object.assign(tube, {ready: 0, delayed: 0, buried: 0});
    if (order.action === 'kick') {
      const done = Math.min(tube.buried, order.count, 10);
      tube.buried -= done;
      tube.ready += done;
      return {done, not_found: 0, message: '', goes_on: done === 10 && tube.buried > 0};
    }
    if (order.action === 'delete') order.ids.forEach((id) => world.gone.add(id));
    return {done: (order.ids?.length ?? 1) - world.stayed, not_found: 0, stayed: world.stayed, message: '', goes_on: false};
  };

  const answerOf = (path, query, body) => {
    const server = query.get('server');
    if (server !== null && !names.includes(server)) return [404, {error: 'no such server'}];
    const isPlain = server === names[1];
    const tube = tubeNamed(query.get('tube'));
    const states = ['ready', 'delayed', 'buried'];
    const nextId = (i) => (i + 1) * 5 + world.tubes.indexOf(tube) % 5 + (world.churns ? world.asked.length * 5 : 0);
    switch (path) {
      case '/api/servers': return [200, servers()];
      case '/api/history': return [200, history(query)];
      case '/api/tubes': return world.down.has(server) ? [502, {error: 'Connection refused'}] : [200, listTubes(query)];
      case '/api/tube':
        if (!tube) return [404, {error: 'no such tube'}];
        return [200, {...tube, stats: {'name': tube.name, 'cmd-delete': 7}, detail: isPlain ? null : {'oldest-ready': 12},
                      next: Object.fromEntries(states.map((state, i) => [state, tube[state] > 0 ? makeJob(nextId(i), tube.name, state) : null]))}];
      case '/api/jobs':
        if (isPlain) return [501, {error: 'the server cannot list jobs'}];
        return [200, {jobs: Array.from({length: Math.min(Number(query.get('count')), tube[query.get('state')])}, (_, i) => makeJob(i + 1, tube.name, query.get('state')))}];
      case '/api/job':
        if (world.down.has(server)) return [502, {error: 'Connection refused'}];
        return Number(query.get('id')) > 1e9 || world.gone.has(Number(query.get('id'))) ? [404, {error: 'no such job'}] : [200, jobOf(Number(query.get('id')))];
      case '/api/clients': return isPlain ? [501, {error: 'the server cannot list clients; only haricotd can'}] : [200, listClients(query)];
      case '/api/group': return [200, {group: query.get('group'), ready: 3, reserved: 2, delayed: 0, buried: 1, waiting_jobs: 4}];
      case '/api/search': return [200, search(query)];
      case '/api/actions': return world.allowChanges ? [200, doOrder(JSON.parse(body))] : [403, {error: 'changes are not allowed'}];
      default: return [404, {error: 'no such path'}];
    }
  };

  const servePage = (path, response) => {
    const name = path === '/' ? 'index.html' : path.replace(/^\/page\//, '');
    if (!readdirSync(kPage).includes(name)) return false;
    response.writeHead(200, {'Content-Type': kTypes[name.split('.').pop()], 'Content-Security-Policy': kPolicy, 'X-Content-Type-Options': 'nosniff'});
    response.end(readFileSync(kPage + name));
    return true;
  };

  const http = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://made-up');
    let body = '';
    for await (const piece of request) body += piece;
    world.asked.push(request.url);
    if (world.isSilent) return request.socket.destroy();
    if (url.pathname === '/api/events') {
      response.writeHead(200, {'Content-Type': 'text/event-stream'});
      streams.add(response);
      request.on('close', () => streams.delete(response));
      return undefined;
    }
    if (servePage(url.pathname, response)) return undefined;
    const send = () => {
      const [status, answer] = answerOf(url.pathname, url.searchParams, body);
      if (!response.headersSent) response.writeHead(status, {'Content-Type': 'application/json'});
      response.end(JSON.stringify(answer));
    };
    // This part of a search is answered later.
    if (url.pathname === '/api/search' && Number(url.searchParams.get('after') ?? 0) >= world.searchHolds) {
      if (world.holdsBody) response.writeHead(200, {'Content-Type': 'application/json'}).write(' ');
      return held.push(send);
    }
    return send();
  });
  const tick = setInterval(() => {
    if (world.holdsEvents) return;
    for (const stream of streams) stream.write(`event: servers\ndata: ${JSON.stringify(servers())}\n\n`);
  }, 1000);
  world.listen = (port = 0) => new Promise((resolve) => http.listen(port, '127.0.0.1', () => resolve(`http://127.0.0.1:${http.address().port}/`)));
  // Closes all connections, and answers no request until it is false again.
  world.setSilent = (isSilent) => {
    world.isSilent = isSilent;
    if (isSilent) http.closeAllConnections();
  };
  world.answerHeld = () => held.splice(0).forEach((send) => send());
  world.close = () => {
    clearInterval(tick);
    http.closeAllConnections();
    http.close();
  };
  world.names = names;
  return world;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const argument = (name, otherwise) => {
    const at = process.argv.indexOf(name);
    return at < 0 ? otherwise : Number(process.argv[at + 1]);
  };
  const world = makeUp({tubes: argument('--tubes', 100000), allowChanges: !process.argv.includes('--read-only')});
  console.log(await world.listen(argument('--port', 0)));
}
