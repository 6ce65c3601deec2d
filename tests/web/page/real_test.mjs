// The page against `haricot web` with a haricotd and a beanstalkd that work.
//
//   HARICOT=PATH HARICOTD=PATH BEANSTALKD=PATH node --test real_test.mjs     PICTURES=FOLDER as ever
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {after, before, test} from 'node:test';
import {tmpdir} from 'node:os';
import {addressBecomes, axe, click, openBrowser, openPage, picture, press, textBecomes, textOf, typeInto, until, untilHere, violations, visit} from './browser.mjs';
import {Client, Program, load} from './servers.mjs';

const {HARICOT, HARICOTD, BEANSTALKD} = process.env;
const kPictures = process.env.PICTURES ?? '';
const kHostile = Buffer.from('<script>window.wasRun=1</script><img src=x onerror="window.wasRun=1">');
const kStuck = 30;  // Jobs that are buried in each of the tubes stuck-*.

let browser;
let base;
let web;
const servers = {};  // haricotd and beanstalkd: {program, name, load}.

// Tubes with jobs in each place.
async function fill(port) {
  const client = new Client(port);
  await client.ask('watch stuck-mail');
  await client.ask('ignore default');
  await client.ask('use stuck-mail');
  for (let i = 0; i < kStuck; i += 1) await client.ask('put 10 0 60', kHostile);
  for (let i = 0; i < kStuck; i += 1) {
    const found = /^RESERVED (\d+)/.exec(await client.ask('reserve'));
    await client.ask(`bury ${found[1]} 10`);
  }
  for (let i = 0; i < 40; i += 1) {
    await client.ask(`use report-${i}`);
    for (let j = 0; j <= i; j += 1) await client.ask(`put 10 ${j % 2 ? 3600 : 0} 60`, Buffer.from(JSON.stringify({report: i, page: j, text: j === 3 ? 'needle' : 'hay'})));
  }
  await client.ask('use flush-me');
  for (let i = 0; i < 25; i += 1) await client.ask('put 10 0 60', Buffer.from([0, 255, i]));
  client.end();
}

before(async () => {
  const kinds = {haricotd: HARICOTD, beanstalkd: BEANSTALKD};
  for (const [kind, path] of Object.entries(kinds)) {
    const program = await new Program(path, (port) => ['-l', '127.0.0.1', '-p', String(port)]).start();
    await fill(program.port);
    servers[kind] = {program, name: `127.0.0.1:${program.port}`, load: load(program.port, 'busy')};
  }
  web = await new Program(HARICOT, (port) => ['web', '--listen', `127.0.0.1:${port}`, '--allow-changes', '--interval', '1',
    ...Object.values(servers).map((one) => one.name)]).start();
  base = `http://127.0.0.1:${web.port}/`;
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  for (const {program, load: clients} of Object.values(servers)) {
    await Promise.all([clients.stop(), program.stop()]);
  }
  await web?.stop();
});

const address = (kind, view, parameters = {}) => `${base}#/${view}?${new URLSearchParams({server: servers[kind].name, ...parameters})}`;

function pageTest(name, place, act, options = {}) {
  test(name, {timeout: 300000}, async () => {
    const page = await openPage(browser, place(), options);
    try {
      await act(page);
      assert.deepEqual(await violations(page), []);
    } finally {
      await page.close();
    }
  });
}

const field = (kind) => `.strip .${kind} dd`;
const isField = (page, kind, text) => until(page, ([selector, wanted]) => document.querySelector(selector)?.textContent === wanted, [field(kind), text]);

pageTest('both servers are up, and their rates are told', () => base, async (page) => {
  await until(page, () => document.querySelectorAll('.mark.good').length === 2);
  await until(page, () => [...document.querySelectorAll('.strip .in dd')].every((one) => Number(one.textContent) > 1));
  await textBecomes(page, '#live', 'live');
  // There is no login.
  assert.equal(await page.$eval('#logout', (form) => form.checkVisibility()), false);
  const about = await page.$$eval('.server .about', (all) => all.map((one) => one.textContent).join());
  assert.match(about, /haricot .*beanstalkd 1\.12/s);
  assert.deepEqual(await axe(page), []);
  await picture(page, kPictures, 'real-servers');
});

for (const kind of ['haricotd', 'beanstalkd']) {
  pageTest(`${kind}: tubes are sorted and filtered`, () => address(kind, 'server', {sort: 'name', reverse: '0'}), async (page) => {
    await until(page, () => /^4\d tubes$/.test(document.querySelector('.found').textContent));
    await until(page, () => document.querySelector('.rows [aria-rowindex="2"] .name a')?.textContent === 'busy');
    await press(page, 'Buried', '.head');
    await until(page, () => document.querySelector('.rows [aria-rowindex="2"] .name a')?.textContent === 'stuck-mail');
    await picture(page, kPictures, `real-tubes-${kind}`);
    await typeInto(page, '#filter', 'report-3');
    await until(page, () => /^11 of 4\d tubes$/.test(document.querySelector('.found').textContent));
    await press(page, 'Ready', '.head');
    await until(page, () => document.querySelector('.rows [aria-rowindex="2"] .name a')?.textContent === 'report-39' || document.querySelector('.rows [aria-rowindex="2"] .name a')?.textContent === 'report-38');
    assert.deepEqual(await axe(page), []);
    await click(page, '.rows .name a');
    await until(page, () => /^report-3/.test(document.querySelector('h1')?.textContent));
    await until(page, () => document.querySelector('.next-job .json'));
  });

  pageTest(`${kind}: a tube at work shows its rates and a name for its jobs`, () => address(kind, 'tube', {tube: 'busy'}), async (page) => {
    await until(page, () => Number(document.querySelector('.strip .in dd')?.textContent) > 1);
    assert.deepEqual(await axe(page), []);
    await picture(page, kPictures, `real-tube-${kind}`);
  });

  pageTest(`${kind}: kick, pause, resume`, () => address(kind, 'tube', {tube: 'stuck-mail'}), async (page) => {
    await isField(page, 'buried', String(kStuck));
    await until(page, () => /window\.wasRun/.test(document.querySelector('.next-job pre')?.textContent));
    await press(page, 'Kick…');
    await page.waitForSelector('dialog [name=count]');
    await page.$eval('dialog [name=count]', (input) => {
      input.value = '10';
    });
    await press(page, 'Kick', 'dialog');
    await isField(page, 'buried', String(kStuck - 10));
    await isField(page, 'ready', '10');
    await press(page, 'Pause…');
    await press(page, 'Pause', 'dialog');
    await until(page, () => /paused for/.test(document.querySelector('.marks')?.textContent));
    await press(page, 'Resume');
    await until(page, () => !/paused for/.test(document.querySelector('.marks')?.textContent));
  });

  pageTest(`${kind}: put, find, bury, kick and delete a job`, () => address(kind, 'tube', {tube: 'stuck-mail'}), async (page) => {
    await press(page, 'Put…');
    await typeInto(page, 'dialog [name=body]', 'a pearl among the rest');
    await press(page, 'Put', 'dialog');
    await textBecomes(page, '#toasts', /^job \d+$/);
    await typeInto(page, '[name=contains]', 'pearl');
    await press(page, 'Search');
    await until(page, () => document.querySelectorAll('[role=region][aria-label="Jobs found"] tbody tr').length === 1);
    await click(page, '[aria-label="Jobs found"] tbody a');
    await until(page, () => /^Job \d+$/.test(document.querySelector('h1')?.textContent) && document.querySelector('.body pre')?.textContent === 'a pearl among the rest');
    const state = (wanted) => until(page, (text) => document.querySelector('.strip dd')?.textContent === text, wanted);
    await state('ready');
    for (const [label, verb, then] of [['Bury…', 'Bury 1 job', 'buried'], ['Kick…', 'Kick 1 job', 'ready']]) {
      await press(page, label);
      await press(page, verb, 'dialog');
      await state(then);
    }
    page.mayFail = true;  // It asks for a job that is gone.
    await press(page, 'Delete…');
    await press(page, 'Delete 1 job', 'dialog');
    await until(page, () => /^Job \d+ was deleted from this page at /.test(document.querySelector('.gone:not([hidden])')?.textContent));
  });

  pageTest(`${kind}: a search finds all hits, and an act is on them`, () => address(kind, 'search', {contains: 'needle'}), async (page) => {
    await until(page, () => /: complete$/.test(document.querySelector('.found').textContent));
    assert.match(await textOf(page, '.found'), /^37 hits /);
    await press(page, 'Delete…');
    await press(page, 'Delete 37 jobs', 'dialog');
    await until(page, () => /37 jobs deleted/.test(document.querySelector('#toasts').textContent));
    await until(page, () => /^0 hits .*complete$/.test(document.querySelector('.found').textContent));
  });

  pageTest(`${kind}: a flush empties a tube`, () => address(kind, 'tube', {tube: 'flush-me'}), async (page) => {
    await isField(page, 'ready', '25');
    page.mayFail = true;  // The tube ends afterwards.
    await press(page, 'Flush…');
    await typeInto(page, 'dialog [name=typed]', 'flush-me');
    await click(page, 'dialog .danger');
    await until(page, () => /25 jobs of flush-me deleted/.test(document.querySelector('#toasts').textContent));
    const client = new Client(servers[kind].program.port);
    // The page is refreshed meanwhile, and haricot web uses a tube while it finds the next jobs.
    await untilHere(async () => (await client.ask('stats-tube flush-me')) === 'NOT_FOUND');
    client.end();
  });
}

pageTest('a list of jobs, where the server has one', () => address('haricotd', 'tube', {tube: 'report-39'}), async (page) => {
  await press(page, 'List jobs');
  await until(page, () => document.querySelectorAll('.jobs tbody tr').length >= 19);
  page.mayFail = true;
  await visit(page, address('beanstalkd', 'tube', {tube: 'report-39'}));
  await until(page, (name) => document.querySelector('#crumbs').textContent.includes(name), servers.beanstalkd.name);
  await press(page, 'List jobs');
  await until(page, () => /cannot list jobs/.test(document.querySelector('main').textContent));
});

pageTest('who is there, and who holds a job', () => address('haricotd', 'server'), async (page) => {
  const {program} = servers.haricotd;
  const holder = new Client(program.port);
  await holder.ask('watch report-10');
  await holder.ask('ignore default');
  await holder.ask('use report-11');
  const [, id] = /^RESERVED (\d+)/.exec(await holder.ask('reserve'));
  await until(page, () => [...document.querySelectorAll('.tools a')].some((one) => one.textContent === 'Clients' && one.checkVisibility()));
  await page.$$eval('.tools a', (all) => all.find((one) => one.textContent === 'Clients').click());
  // Two producers, two workers, the holder, and the two connections of haricot web.
  await until(page, () => document.querySelector('.found').textContent === '7 clients');
  await press(page, 'Jobs', '.head');
  await until(page, () => [...document.querySelectorAll('.rows .used a')].some((one) => one.textContent === 'report-11'));
  assert.deepEqual(await axe(page), []);
  await picture(page, kPictures, 'real-clients');
  await visit(page, address('haricotd', 'job', {id}));
  await until(page, () => /^in tube report-10 · reserved by client \d+ for .+$/.test(document.querySelector('.summary')?.textContent));
  await click(page, '.summary a');
  await until(page, () => document.querySelector('.rows [aria-current=true] .used')?.textContent === 'report-11');
  const cells = await page.$eval('.rows [aria-current=true]', (row) => [...row.children].map((cell) => cell.textContent));
  assert.match(cells[1], /^127\.0\.0\.1:\d+$/);
  assert.deepEqual([cells[2], cells[4], cells[5], cells[6]], ['idle', '1', '1', '4']);
  holder.end();
  await until(page, () => /^Client \d+ has disconnected\.$/.test(document.querySelector('.gone:not([hidden])')?.textContent));
  await visit(page, address('beanstalkd', 'server'));
  await until(page, () => /beanstalkd 1\.12/.test(document.querySelector('.server .about')?.textContent));
  assert.ok(!(await page.$$eval('.tools a', (all) => all.some((one) => one.textContent === 'Clients' && one.checkVisibility()))));
  page.mayFail = true;
  await visit(page, address('beanstalkd', 'clients'));
  await until(page, () => /cannot list clients/.test(document.querySelector('.gone:not([hidden])')?.textContent));
});

pageTest('a held job shows what is left of the group that it waits for', () => address('haricotd', 'server'), async (page) => {
  const client = new Client(servers.haricotd.program.port);
  await client.ask('use groups');
  const put = async (tag) => /^INSERTED (\d+)/.exec(await client.ask(`put 0 0 60 1 ${tag}\r\nx`))[1];
  const first = await put('grp:import-1');
  await put('grp:import-1');
  const last = await put('aft:import-1');
  await visit(page, address('haricotd', 'job', {id: last}));
  const shows = (text) => until(page, (wanted) => [...document.querySelectorAll('.pairs div')].some((one) => one.textContent === wanted), text);
  await shows('jobs of import-12 ready · 1 held until it ends');
  await client.ask(`delete ${first}`);
  await press(page, 'Refresh');
  await shows('jobs of import-11 ready · 1 held until it ends');
  client.end();
});

test('behind a prefix and a token: a login, and the page', {timeout: 300000}, async () => {
  const folder = mkdtempSync(`${tmpdir()}/haricot-page-`);
  const token = 'a-token-of-some-length';
  writeFileSync(`${folder}/token`, `${token}\n`, {mode: 0o600});
  const program = await new Program(HARICOT, (port) => ['web', '--listen', `127.0.0.1:${port}`, '--token-file', `${folder}/token`,
    '--base-path', '/queue', '--allow-changes', servers.haricotd.name]).start();
  // The status of a login page is 401.
  const page = await openPage(browser, `http://127.0.0.1:${program.port}/queue`, {mayFail: true});
  const logIn = async (word) => {
    // A script of the page adds the fragment of the address to the form.
    await until(page, () => document.readyState === 'complete' && document.querySelector('#token')?.value === '');
    await typeInto(page, '#token', word);
    await page.keyboard.press('Enter');
  };
  try {
    assert.deepEqual(await axe(page), []);
    await picture(page, kPictures, 'real-login');
    await logIn('another-token-that-is-wrong');
    await until(page, () => /Wrong token/.test(document.body.textContent));
    await logIn(token);
    await until(page, () => document.querySelector('#live').dataset.state === 'live');
    await addressBecomes(page, /\/queue\/$/);
    await visit(page, `http://127.0.0.1:${program.port}/queue/#/tube?${new URLSearchParams({server: servers.haricotd.name, tube: 'stuck-mail'})}`);
    await press(page, 'Put…');
    await press(page, 'Put', 'dialog');
    await textBecomes(page, '#toasts', /^job \d+$/);
    assert.deepEqual(await axe(page), []);
    await press(page, 'Log out');
    await page.waitForSelector('#token');
    await addressBecomes(page, /\/queue\/$/);
    assert.deepEqual(await page.cookies(), []);
    // After the login, a link to a view opens it.
    await page.goto('about:blank');
    await page.goto(`http://127.0.0.1:${program.port}/queue/#/tube?${new URLSearchParams({server: servers.haricotd.name, tube: 'stuck-mail'})}`);
    await logIn(token);
    await until(page, () => document.querySelector('#live').dataset.state === 'live');
    await addressBecomes(page, /\/queue\/#\/tube\?.*tube=stuck-mail/);
    assert.deepEqual(await violations(page), []);
  } finally {
    await page.close();
    await program.stop();
    rmSync(folder, {recursive: true});
  }
});

test('an interval of a minute does not look like a proxy that holds events back', {timeout: 300000}, async () => {
  const site = await new Program(HARICOT, (port) => ['web', '--listen', `127.0.0.1:${port}`, '--interval', '60', servers.haricotd.name]).start();
  const page = await openPage(browser, `http://127.0.0.1:${site.port}/`);
  try {
    await until(page, () => document.querySelector('#live').dataset.state === 'live');
    // The page polls if no event comes for 5 seconds, which a busy machine may cause. Events once a minute would cause it
    // each time.
    const isPolling = () => page.evaluate((wait) => new Promise((resolve) => {
      let seen = false;
      const live = document.querySelector('#live');
      const observer = new MutationObserver(() => (seen ||= live.dataset.state === 'polling'));
      observer.observe(live, {attributes: true});
      setTimeout(() => resolve(observer.disconnect() ?? seen), wait);
    }), 12000);
    let rounds = 0;
    while (await isPolling()) assert.ok((rounds += 1) < 5, 'the page polls');
  } finally {
    await page.close();
    await site.stop();
  }
});

pageTest('a server is lost and comes back', () => base, async (page) => {
  await until(page, () => document.querySelectorAll('.mark.good').length === 2);
  const {program, load: clients} = servers.haricotd;
  await Promise.all([clients.stop(), program.stop()]);
  await until(page, () => /has been down for .*since \d\d:\d\d:\d\d/.test(document.querySelector('.gone:not([hidden])')?.textContent));
  assert.match(await textOf(page, '.summary'), /^1 of 2 servers up/);
  await picture(page, kPictures, 'real-gone');
  await program.start();
  servers.haricotd.load = load(program.port, 'busy');
  await until(page, () => document.querySelectorAll('.mark.good').length === 2 && !document.querySelector('.gone:not([hidden])'));
});
