// Tests the page with a simulated program: 100,000 tubes, hostile names, servers that end.
//
//   node --test made_up_test.mjs          PICTURES=FOLDER keeps pictures of all views there
import assert from 'node:assert/strict';
import {readdirSync, readFileSync, statSync} from 'node:fs';
import {createRequire} from 'node:module';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {addressBecomes, axe, click, openPage, picture, press, setDark, textBecomes, textOf, typeInto, until, untilHere, violations, visit} from './browser.mjs';
import {kHostile, makeUp} from './made_up.mjs';
import {address, asks, base, browser, firstName, kTube, pageTest, rowCount, rowsThere, tubeAddress, world} from './made_up_case.mjs';

const require = createRequire(new URL('node/package.json', import.meta.url));
const kPage = fileURLToPath(new URL('../../../src/web/page/', import.meta.url));
const kPictures = process.env.PICTURES ?? '';

// All servers --------------------------------------------------------------------------------

pageTest('all servers are there, rates first', () => base, async (page) => {
  await until(page, () => document.querySelectorAll('.server').length === 3);
  const labels = await page.$$eval('.server:first-child dt', (all) => all.map((one) => one.textContent));
  assert.deepEqual(labels.slice(0, 4), ['in /s', 'out /s', 'reserves /s', 'timeouts /s']);
  assert.match(await textOf(page, '.summary'), /^3 of 3 servers up/);
  assert.match(await textOf(page, '.servers'), /draining/);
});

pageTest('a server that goes is said plainly, and so is its return', () => base, async (page) => {
  await until(page, () => document.querySelectorAll('.mark.good').length === 3);
  world.down.add(world.names[0]);
  await until(page, () => /down for 2 min 5 s, since \d\d:\d\d:\d\d: Connection refused/.test(document.querySelector('.gone:not([hidden])')?.textContent));
  assert.match(await textOf(page, '.summary'), /^2 of 3 servers up/);
  await picture(page, kPictures, 'server-gone');
  assert.deepEqual(await axe(page), []);
  world.down.clear();
  await until(page, () => document.querySelectorAll('.mark.good').length === 3 && !document.querySelector('.gone:not([hidden])'));
});

pageTest('the rows of a server that is gone are grey, and say since when', () => address('server'), async (page) => {
  await rowsThere(page);
  const colour = () => page.$eval('.rows .row .name a', (link) => getComputedStyle(link).color);
  const before = await colour();
  page.mayFail = true;
  world.down.add(world.names[0]);
  await until(page, () => /down for 2 min 5 s, since .*\d\d:\d\d:\d\d: Connection refused/.test(document.querySelector('main > .gone:not([hidden])')?.textContent));
  assert.notEqual(await colour(), before);
  assert.equal(await page.$$eval('.gone', (all) => all.filter((one) => one.checkVisibility()).length), 1);
  assert.equal(await page.$$eval('.actions button', (all) => all.filter((one) => one.checkVisibility()).length), 0);
  assert.deepEqual(await axe(page), []);
  await picture(page, kPictures, 'tubes-gone');
  world.down.clear();
  await until(page, () => ![...document.querySelectorAll('.gone')].some((one) => one.checkVisibility()));
  assert.equal(await colour(), before);
});

pageTest('the page reports when the program has ended, and reconnects by itself', () => base, async (page) => {
  await until(page, () => document.querySelector('#live').dataset.state === 'live');
  page.mayFail = true;
  world.setSilent(true);
  await until(page, () => /has not answered since/.test(document.querySelector('#alarm:not([hidden])')?.textContent));
  world.setSilent(false);
  await until(page, () => document.querySelector('#live').dataset.state === 'live' && document.querySelector('#alarm').hidden);
});

pageTest('a proxy that holds events back leaves a poll', () => base, async (page) => {
  await until(page, () => document.querySelector('#live').dataset.state === 'live');
  world.holdsEvents = true;
  await until(page, () => document.querySelector('#live').dataset.state === 'polling');
  const before = asks('/api/servers').length;
  await untilHere(() => asks('/api/servers').length > before);
  world.holdsEvents = false;
  await until(page, () => document.querySelector('#live').dataset.state === 'live');
});

// Tubes --------------------------------------------------------------------------------------

pageTest('a filter works as one types, and is in the address', () => address('server'), async (page) => {
  await rowsThere(page);
  await page.keyboard.press('/');
  await page.keyboard.type('sms-00001');
  await until(page, () => document.querySelector('.found').textContent === '1 of 100,000 tubes');
  assert.equal(await firstName(page), 'sms-000016');
  await addressBecomes(page, /filter=sms-00001/);
  await page.reload();
  await until(page, () => document.querySelector('.found').textContent === '1 of 100,000 tubes');
  assert.equal(await page.$eval('#filter', (input) => input.value), 'sms-00001');
});

pageTest('a click on a head sorts, another one turns the order', () => address('server'), async (page) => {
  await rowsThere(page);
  const sorts = () => page.$$eval('[role=columnheader]', (heads) => heads.map((head) => head.getAttribute('aria-sort')));
  assert.equal((await sorts())[1], 'descending');
  await press(page, 'Tube', '.head');
  await until(page, () => document.querySelector('.rows .row[aria-rowindex="2"] .name a')?.textContent === '"><script>window.wasRun=1</script>');
  assert.equal((await sorts())[0], 'ascending');
  assert.equal((await sorts())[1], 'none');
  await press(page, 'Tube', '.head');
  await until(page, () => /^‮evil/.test(document.querySelector('.rows .row[aria-rowindex="2"] .name a')?.textContent));
  await addressBecomes(page, /sort=name&reverse=1/);
});

// Scrolls to a part of the table, from 0 to 1, and waits until the page has drawn its rows: at the end of the scrolling,
// which is an event of a later frame.
function scrollTo(page, part) {
  return page.$eval('.big-table', (table, to) => new Promise((resolve) => {
    const before = table.scrollTop;
    table.scrollTop = Math.floor((table.scrollHeight - table.clientHeight) * to);
    if (table.scrollTop === before) resolve();
    else table.addEventListener('scroll', () => resolve(), {once: true});
  }), part);
}

pageTest('of 100,000 tubes fewer than 100 rows exist, and each can be reached', () => address('server', {sort: 'name', reverse: '0'}), async (page) => {
  await rowsThere(page);
  let most = 0;
  // 0.00005 of the table are five rows.
  for (const part of [0.1, 0.5, 0.49995, 0.5, 0.9, 1, 0.3, 0]) {
    await scrollTo(page, part);
    await rowsThere(page);
    most = Math.max(most, await rowCount(page));
    const indices = await page.$$eval('.rows .row', (rows) => rows.map((row) => Number(row.getAttribute('aria-rowindex'))));
    assert.deepEqual(indices, indices.map((_, i) => indices[0] + i), 'rows stand in their order');
    if (part === 1) assert.equal(indices.at(-1), 100001);
  }
  assert.ok(most > 10 && most < 100, `${most} rows`);
  // Like a wheel: many small steps, with at most one pending request for each window. The table is not refreshed
  // meanwhile, because on a slow machine that would take most of the requests.
  await page.evaluate(() => {
    const begin = window.setTimeout;
    window.setTimeout = (act, wait, ...more) => (wait >= 1000 ? 0 : begin(act, wait, ...more));
  });
  const before = asks('/api/tubes').length;
  for (let step = 0; step < 60; step += 1) await page.$eval('.big-table', (table) => table.scrollBy(0, 60));
  await rowsThere(page);
  const count = asks('/api/tubes').length - before;
  assert.ok(count < 30, `${count} questions for 112 rows`);
});

test('a table that is higher than a browser can scroll has a last row', {timeout: 300000}, async () => {
  const many = makeUp({tubes: 400000});
  try {
    const page = await openPage(browser, `${await many.listen()}#/server?server=${many.names[0]}&sort=name`);
    await rowsThere(page);
    await page.$eval('.big-table', (table) => {
      table.scrollTop = table.scrollHeight;
    });
    await until(page, () => [...document.querySelectorAll('.rows .row:not(.is-unknown)')].at(-1)?.getAttribute('aria-rowindex') === '400001');
    const [row, table] = await page.evaluate(() => [[...document.querySelectorAll('.rows .row')].at(-1), document.querySelector('.big-table')].map((one) => one.getBoundingClientRect().bottom));
    assert.ok(Math.abs(row - table) < 3, `the last row ends at ${row}, the table at ${table}`);
    await page.close();
  } finally {
    many.close();
  }
});

pageTest('the arrow keys go from row to row, and enter opens', () => address('server', {sort: 'name', reverse: '0', filter: 'emails'}), async (page) => {
  await rowsThere(page);
  await page.focus('#filter');
  for (let i = 0; i < 40; i += 1) await page.keyboard.press('ArrowDown');
  await rowsThere(page);
  const name = await page.evaluate(() => document.activeElement.textContent);
  assert.equal(name, `emails-${String(400).padStart(6, '0')}`);
  await page.keyboard.press('Enter');
  await until(page, () => document.querySelector('h1')?.textContent === 'emails-000400');
  await page.goBack();
  await until(page, () => document.querySelector('#filter')?.value === 'emails');
});

pageTest('rows that do not come are not asked for again and again', () => {
  world.forgetsRows = true;
  return address('server');
}, async (page) => {
  await until(page, () => document.querySelectorAll('.rows .is-unknown').length > 5);
  const [before, begin] = [asks('/api/tubes').length, performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const count = asks('/api/tubes').length - before;
  const seconds = (performance.now() - begin) / 1000;
  // Each refresh follows the answer to the one before by 2 seconds or more, on any machine.
  assert.ok(count <= seconds / 2 + 1, `${count} questions in ${seconds} seconds`);
  world.forgetsRows = false;
  await rowsThere(page);
});

pageTest('paused and growing tubes stand out', () => address('server', {filter: '-00001'}), async (page) => {
  await until(page, () => document.querySelector('.is-paused .mark.warn:not([hidden])') && document.querySelector('.is-growing .mark.bad:not([hidden])'));
  assert.match(await textOf(page, '.is-paused .mark.warn'), /^paused 9 min/);
});

pageTest('hostile names are shown, and lead to their tubes', () => address('server'), async (page) => {
  for (const name of kHostile) {
    await visit(page, address('server', {filter: name}));
    await until(page, (wanted) => document.querySelector('.rows .row:not(.is-unknown) .name a')?.textContent === wanted, name);
    await page.$eval('.rows .row .name a', (link) => link.click());
    await until(page, (wanted) => document.querySelector('h1')?.textContent === wanted, name);
    await textBecomes(page, '.strip .ready dd', /./);
  }
});

// A tube and its jobs ------------------------------------------------------------------------

pageTest('a body is JSON that folds, text, base64 and hex', () => tubeAddress(), async (page) => {
  await until(page, () => document.querySelector('.next-job .json'));
  assert.equal(await textOf(page, '.next-job .job-line b'), 'App\\Jobs\\SendWelcomeMail');
  const json = await textOf(page, '.next-job .json');
  assert.match(json, /id: 12345678901234567890/, 'a number stays as it was written');
  assert.doesNotMatch(json, /commandName/, 'what is folded is not there');
  await page.$eval('.next-job .json details details summary', (summary) => summary.click());
  await until(page, () => /commandName/.test(document.querySelector('.next-job .json').textContent));
  await press(page, 'Hex', '.next-job');
  await textBecomes(page, '.next-job pre', /^00000000 {2}7b 22 75 75/);
  await press(page, 'Base64', '.next-job');
  await textBecomes(page, '.next-job pre', /^eyJ1dWlk/);
  await press(page, 'Text', '.next-job');
  await textBecomes(page, '.next-job pre', /^\{"uuid"/);
});

pageTest('bodies are never run', () => address('job', {id: '6'}), async (page) => {
  for (let id = 5; id < 10; id += 1) {
    await visit(page, address('job', {id: String(id)}));
    await until(page, (wanted) => document.querySelector('h1')?.textContent === `Job ${wanted}` && document.querySelector('.body'), id);
    for (const form of await page.$$eval('.body-forms button', (all) => all.map((one) => one.textContent))) await press(page, form);
  }
});

pageTest('a list of jobs by state, and what a plain beanstalkd has instead', () => tubeAddress(), async (page) => {
  await press(page, 'List jobs');
  await until(page, () => document.querySelectorAll('.jobs tbody tr').length === 100);
  await press(page, 'buried', '.choices');
  await until(page, () => document.querySelectorAll('.jobs tbody tr').length === 74);
  await visit(page, `${base}#/tube?${new URLSearchParams({server: world.names[1], tube: kTube})}`);
  await until(page, (name) => document.querySelector('#crumbs').textContent.includes(name), world.names[1]);
  page.mayFail = true;
  await press(page, 'List jobs');
  await until(page, () => /cannot list jobs/.test(document.querySelector('main').textContent));
});

pageTest('a job that is gone is said to be gone', () => address('job', {id: '5000000000'}), async (page) => {
  await until(page, () => /Job 5000000000 does not exist/.test(document.querySelector('.gone:not([hidden])')?.textContent));
}, {mayFail: true});

pageTest('a chart tells its values to the pointer and to the keys', () => tubeAddress(), async (page) => {
  await until(page, () => document.querySelector('.plot').getAttribute('aria-label').includes('highest'));
  await page.focus('.plot');
  await page.keyboard.press('ArrowLeft');
  await until(page, () => /\d\d:\d\d:\d\d/.test(document.querySelector('.chart .when').textContent));
  const selected = await textOf(page, '.chart .when');
  await page.hover('.plot');
  await until(page, (old) => document.querySelector('.chart .when').textContent !== old, selected);
  const middle = await textOf(page, '.chart li b');
  assert.match(middle, /^[\d.,]+k?$/);
});

pageTest('a buried job says why and since when it is buried, if that is known', () => address('job', {id: '45'}), async (page) => {
  await until(page, () => /in tube emails-000010 · buried by tries \(timeout\) 1 min 15 s agoSMTP <timeout>$/.test(document.querySelector('.summary').textContent));
  await visit(page, address('job', {id: '44'}));
  await until(page, () => /in tube emails-000010 · buried$/.test(document.querySelector('.summary').textContent));
});

pageTest('a held job says how many jobs are left in the group that it waits for, and in its own', () => address('job', {id: '43'}), async (page) => {
  await until(page, () => /delayed, held$/.test(document.querySelector('.summary').textContent));
  const pairs = () => page.$$eval('.pairs div', (all) => all.map((one) => [...one.children].map((part) => part.textContent)));
  await until(page, () => document.querySelectorAll('.pairs div').length === 4);
  assert.deepEqual(await pairs(), [['grp', 'import-12'], ['aft', 'import-11'], ['jobs of import-12', '3 ready, 2 reserved, 1 buried · 4 held until it ends'],
    ['jobs of import-11', '3 ready, 2 reserved, 1 buried · 4 held until it ends']]);
  world.asked.length = 0;
  await visit(page, address('job', {id: '44'}));
  await until(page, () => document.querySelector('h1')?.textContent === 'Job 44' && document.querySelector('.body'));
  assert.deepEqual(asks('/api/group'), []);
});

// Search -------------------------------------------------------------------------------------

// Returns the address of a search that finds three jobs and then waits for an answer, so that it cannot end before
// the page stops it.
function endlessSearch(parameters) {
  world.searchHolds = 3;
  world.asked.length = 0;
  return address('search', parameters);
}

async function stopSearch(page) {
  await until(page, () => document.querySelectorAll('.jobs tbody tr').length >= 3);
  await untilHere(() => asks('/api/search').length === 4);
  await press(page, 'Stop');
  await textBecomes(page, '.found', /stopped$/);
}

pageTest('hits come one after the other, a stop ends the requests, and more continues', () => endlessSearch(), async (page) => {
  await typeInto(page, '[name=contains]', 'needle');
  await page.keyboard.press('Enter');
  await stopSearch(page);
  const hits = await page.$$eval('.jobs tbody tr', (rows) => rows.length);
  // The answer that the page waited for comes, and leads to no request.
  Object.assign(world, {searchPieces: hits + 10, searchHolds: Infinity});
  world.answerHeld();
  assert.deepEqual(await violations(page), []);
  assert.equal(asks('/api/search').length, 4);
  await press(page, 'Continue');
  await until(page, (all) => document.querySelector('.found').textContent === `${all} hits in ${all},000 jobs: complete`, hits + 10);
  assert.equal(await textOf(page, '.jobs .excerpt + td'), 'buried');
});

pageTest('a stop in the middle of an answer is a stop', () => {
  world.holdsBody = true;
  return endlessSearch({contains: 'x'});
}, async (page) => {
  await stopSearch(page);
  await textBecomes(page, '.found', '3 hits in 3,000 jobs: stopped');
});

pageTest('an act on what a search shows is on exactly that', () => endlessSearch({contains: 'x', state: 'buried'}), async (page) => {
  await stopSearch(page);
  const shown = await page.$$eval('.jobs tbody .id a', (links) => links.map((link) => Number(link.textContent.slice(1))));
  await press(page, 'Move…');
  await typeInto(page, 'dialog [name=to]', 'attic');
  assert.deepEqual(world.orders, []);
  await press(page, `Move ${shown.length} jobs`, 'dialog');
  await until(page, () => /\d+ jobs moved/.test(document.querySelector('#toasts').textContent));
  assert.deepEqual(world.orders, [{action: 'move', server: world.names[0], to: 'attic', ids: shown}]);
});

pageTest('a search by id finds one job', () => address('search', {id: '77'}), async (page) => {
  await until(page, () => document.querySelectorAll('.jobs tbody tr').length === 1);
  await click(page, '.jobs tbody a');
  await until(page, () => document.querySelector('h1')?.textContent === 'Job 77');
});

// Actions ------------------------------------------------------------------------------------

pageTest('a kick reports the number, and continues until all are done', () => tubeAddress(), async (page) => {
  const buried = world.tubes.find((tube) => tube.name === kTube).buried;
  assert.equal(buried, 74);
  await press(page, 'Kick…');
  await page.waitForSelector('dialog');
  assert.match(await textOf(page, 'dialog'), /74 jobs are buried/);
  assert.deepEqual(await axe(page), []);
  await press(page, 'Cancel', 'dialog');
  assert.deepEqual(world.orders, []);
  await press(page, 'Kick…');
  await press(page, 'Kick', 'dialog');
  await until(page, () => /74 jobs of emails-000010 kicked/.test(document.querySelector('#toasts').textContent));
  assert.equal(world.orders.length, 8);
  assert.deepEqual(world.orders[0], {action: 'kick', server: world.names[0], tube: kTube, count: 74});
});

pageTest('pause and resume', () => tubeAddress(), async (page) => {
  await press(page, 'Pause…');
  await press(page, 'Pause', 'dialog');
  await until(page, () => /paused for/.test(document.querySelector('.marks')?.textContent));
  await press(page, 'Resume');
  await until(page, () => !/paused for/.test(document.querySelector('.marks')?.textContent));
  assert.deepEqual(world.orders.map((order) => order.seconds), [600, 0]);
});

pageTest('a flush wants the name of the tube', () => tubeAddress('sms-000016'), async (page) => {
  await press(page, 'Flush…');
  const isOff = () => page.$eval('dialog .danger', (button) => button.disabled);
  await page.waitForSelector('dialog');
  assert.match(await textOf(page, 'dialog'), /permanently\. The tube has [\d,]+ now: /);
  assert.ok(await isOff());
  await typeInto(page, 'dialog [name=typed]', 'sms-00001');
  assert.ok(await isOff());
  await page.keyboard.press('Enter');
  assert.deepEqual(world.orders, []);
  await typeInto(page, 'dialog [name=typed]', '6');
  assert.ok(!(await isOff()));
  await click(page, 'dialog .danger');
  await until(page, () => /deleted/.test(document.querySelector('#toasts').textContent));
  assert.deepEqual(world.orders, [{action: 'flush', server: world.names[0], tube: 'sms-000016'}]);
});

pageTest('a put sends what was typed', () => tubeAddress(), async (page) => {
  await press(page, 'Put…');
  await typeInto(page, 'dialog [name=body]', '{"a": "ä"}');
  await press(page, 'Put', 'dialog');
  await textBecomes(page, '#toasts', /A job was put into/);
  assert.deepEqual(world.orders, [{action: 'put', server: world.names[0], tube: kTube, body: '{"a": "ä"}', priority: 1024, delay: 0, ttr: 60}]);
});

pageTest('a delete asks first, and escape is a no', () => address('job', {id: '8'}), async (page) => {
  await press(page, 'Delete…');
  await page.waitForSelector('dialog');
  assert.match(await textOf(page, 'dialog'), /1 job will be deleted permanently/);
  await page.keyboard.press('Escape');
  await until(page, () => !document.querySelector('dialog'));
  assert.deepEqual(world.orders, []);
  page.mayFail = true;  // The page requests the deleted job.
  await press(page, 'Delete…');
  await press(page, 'Delete 1 job', 'dialog');
  await textBecomes(page, '#toasts', /1 job deleted/);
  assert.deepEqual(world.orders, [{action: 'delete', server: world.names[0], ids: [8]}]);
});

pageTest('tubes that a filter shows are paused, and no others', () => address('server', {filter: 'sms-00001'}), async (page) => {
  await rowsThere(page);
  await press(page, 'Pause these…');
  await press(page, 'Pause', 'dialog');
  await until(page, () => /paused/.test(document.querySelector('#toasts').textContent));
  assert.deepEqual(world.orders, [{action: 'pause', server: world.names[0], tube: 'sms-000016', seconds: 600}]);
});

pageTest('nothing that changes is drawn where changes are not allowed', () => {
  world.allowChanges = false;
  return tubeAddress();
}, async (page) => {
  const words = /Put…|Kick…|Pause|Flush|Delete|Bury|Move/;
  const shown = () => page.$$eval('button', (all) => all.map((one) => one.textContent).join(' '));
  // The page learns from the state of the servers that changes are not allowed.
  await until(page, () => document.querySelector('.next-job .body') && document.querySelector('#live').dataset.state === 'live');
  assert.doesNotMatch(await shown(), words);
  await visit(page, address('search', {contains: 'x'}));
  await until(page, () => document.querySelectorAll('.jobs tbody tr').length >= 3);
  assert.doesNotMatch(await shown(), words);
  await visit(page, address('job', {id: '5'}));
  await until(page, () => document.querySelector('.body'));
  assert.doesNotMatch(await shown(), words);
});

pageTest('what an old beanstalkd cannot do is not offered', () => `${base}#/job?${new URLSearchParams({server: world.names[1], id: '5'})}`, async (page) => {
  await until(page, () => document.querySelector('.actions:not([hidden]) button'));
  assert.equal(await page.$$eval('.actions button', (all) => all.map((one) => one.textContent).join(' ')), 'Kick… Delete…');
});

// Appearance ---------------------------------------------------------------------------------

pageTest('the theme can be chosen, and stays', () => base, async (page) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await setDark(page, true);
  await until(page, (old) => getComputedStyle(document.body).backgroundColor !== old, light);
  const dark = await ground();
  await press(page, 'Theme: system');
  await press(page, 'Theme: light');
  await textBecomes(page, '#theme', 'Theme: dark');
  await setDark(page, false);
  await page.reload();
  assert.equal(await ground(), dark);
  await press(page, 'Theme: dark');
  assert.equal(await ground(), light);
});

// Each view with an element that it has when it is complete.
const kViews = {
  servers: [() => base, '.server:nth-child(3) .plot[aria-label*=highest]'],
  server: [() => address('server'), '.plot[aria-label*=highest]'],
  tube: [() => tubeAddress('invoices-000041'), '.plot[aria-label*=highest]'],
  job: [() => address('job', {id: '5'}), '.body'],
  search: [() => address('search', {contains: 'needle'}), '.jobs tbody tr:nth-child(40)'],
  missing: [() => `${base}#/nowhere`, 'h1'],
  clients: [() => address('clients', {sort: 'jobs', id: '12'}), '.rows .client a'],
  held: [() => address('job', {id: '43'}), '.body'],
};
for (const [width, height] of [[360, 740], [1920, 1080]]) {
  for (const dark of [false, true]) {
    for (const [name, [place, part]] of Object.entries(kViews)) {
      const look = `${name}-${width}-${dark ? 'dark' : 'light'}`;
      pageTest(`${look}: axe finds nothing, nothing sticks out`, place, async (page) => {
        await until(page, () => document.querySelector('#live').dataset.state === 'live');
        await until(page, (wanted) => document.querySelector(wanted), part);
        if (name === 'server') await rowsThere(page);
        if (name === 'tube') await until(page, () => document.querySelectorAll('.next-job > *').length >= 3);
        assert.deepEqual(await axe(page), []);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
        await picture(page, kPictures, look);
      }, {width, height, dark});
    }
  }
}

pageTest('the help is a dialog that axe likes, by its key', () => base, async (page) => {
  await page.keyboard.press('?');
  await page.waitForSelector('dialog');
  assert.deepEqual(await axe(page), []);
});

// Files --------------------------------------------------------------------------------------

test('html-validate passes', async () => {
  const {HtmlValidate} = require('html-validate');
  const report = await new HtmlValidate({extends: ['html-validate:recommended', 'html-validate:document'], rules: {'require-sri': ['error', {target: 'crossorigin'}]}})
    .validateFile(`${kPage}index.html`);
  assert.deepEqual(report.results.flatMap((result) => result.messages.map((message) => `${message.line}: ${message.message}`)), []);
});

test('the page is smaller than 110 KB, and its files are short', () => {
  const names = readdirSync(kPage).filter((name) => /\.(html|css|js|svg)$/.test(name));
  assert.ok(names.reduce((sum, name) => sum + statSync(kPage + name).size, 0) < 110000);
  for (const name of names) assert.ok(readFileSync(kPage + name, 'utf8').split('\n').length <= 500, name);
});
