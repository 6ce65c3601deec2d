// Tests the view of clients with a simulated program.
//
//   node --test clients_test.mjs
import assert from 'node:assert/strict';
import {addressBecomes, click, press, textOf, until, untilHere, visit} from './browser.mjs';
import {kHostile} from './made_up.mjs';
import {address, asks, base, kTube, pageTest, refreshes, rowCount, rowsThere, world} from './made_up_case.mjs';

let all;  // All clients, while a test has removed some.
const clientAt = (page, index, wanted) => until(page, ([at, text]) => document.querySelector(`.rows [aria-rowindex="${at}"] .client a`)?.textContent === text, [index + 2, wanted]);

pageTest('clients are a page at a time, and no view but this one asks for them', () => {
  world.asked.length = 0;
  return address('server');
}, async (page) => {
  await rowsThere(page);
  await until(page, () => [...document.querySelectorAll('.tools a')].some((one) => one.textContent === 'Clients' && one.checkVisibility()));
  assert.deepEqual(asks('/api/clients'), []);
  await page.$$eval('.tools a', (all) => all.find((one) => one.textContent === 'Clients').click());
  await clientAt(page, 0, '2');
  await until(page, () => document.querySelector('.found').textContent === '500 of 1,200 clients; sorted within this page');
  assert.equal(new URLSearchParams(asks('/api/clients')[0].split('?')[1]).get('count'), '500');
  assert.ok((await rowCount(page)) < 100);
  assert.equal(await page.$$eval('.title a', (all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent).join()), 'Next page');
  await page.$$eval('.title a', (all) => all.find((one) => one.textContent === 'Next page').click());
  await clientAt(page, 0, '1002');
  await untilHere(() => new URLSearchParams(asks('/api/clients').at(-1).split('?')[1]).get('from') === '1001');
  await visit(page, address('clients', {from: '2001'}));
  await until(page, () => document.querySelector('.found').textContent === '200 of 1,200 clients; sorted within this page');
  assert.equal(await page.$$eval('.title a', (all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent).join()), 'First page');
  await visit(page, address('tube', {tube: kTube}));
  await refreshes(1);
  const before = asks('/api/clients').length;
  // Views of clients and of tubes are refreshed equally often.
  await refreshes(2);
  assert.equal(asks('/api/clients').length, before);
});

pageTest('clients are sorted by each column, within the page', () => address('clients'), async (page) => {
  await clientAt(page, 0, '2');
  const shown = world.clients.slice(0, 500);
  const labels = {id: 'Client', address: 'Address', state: 'State', used: 'Uses', jobs: 'Jobs', watching: 'Watches', commands: 'Commands', age: 'Age', idle: 'Idle'};
  const rises = ['id', 'address', 'state', 'used'];
  for (const [key, label] of Object.entries(labels).reverse()) {
    for (const isFirst of [true, false]) {
      await press(page, label, '.head');
      const isUp = rises.includes(key) === isFirst;
      const order = (a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0) * (isUp ? 1 : -1) || a.id - b.id;
      await clientAt(page, 0, String(shown.toSorted(order)[0].id));
      const sorts = await page.$$eval('[role=columnheader]', (heads) => heads.map((head) => head.getAttribute('aria-sort')));
      assert.equal(sorts[Object.keys(labels).indexOf(key)], isUp ? 'ascending' : 'descending', key);
      assert.equal(sorts.filter((one) => one !== 'none').length, 1);
    }
  }
  await addressBecomes(page, /sort=id&reverse=1/);
  await page.reload();
  await clientAt(page, 0, '1000');
});

pageTest('clients by keys: a head, a row, its tube', () => address('clients', {sort: 'id', reverse: '1'}), async (page) => {
  await clientAt(page, 0, '1000');
  await page.focus('.head button');
  await page.keyboard.press('Enter');
  await clientAt(page, 0, '2');
  await page.focus('.big-table');
  for (let i = 0; i < 41; i += 1) await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), '82');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), kTube);
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none');
  await page.keyboard.press('Enter');
  await until(page, () => /^#\/tube\?.*tube=emails-000010$/.test(location.hash));
});

pageTest('hostile addresses and tubes of clients are text', () => address('clients'), async (page) => {
  await clientAt(page, 0, '2');
  for (const [i, name] of kHostile.entries()) {
    const row = `.rows [aria-rowindex="${i + 2}"]`;
    assert.equal(await textOf(page, `${row} .address`), name);
    assert.equal(await textOf(page, `${row} .used`), name);
    assert.equal(await page.$eval(`${row} .used a`, (link) => new URLSearchParams(link.hash.split(/\?(.*)/s)[1]).get('tube')), name);
  }
});

pageTest('the holder of a reserved job is a link to that client', () => address('job', {id: '41'}), async (page) => {
  await until(page, () => /^in tube emails-000010 · reserved by client 12 for 35 s$/.test(document.querySelector('.summary').textContent));
  await click(page, '.summary a');
  await clientAt(page, 0, '12');
  assert.equal(await page.$eval('.rows [aria-current=true]', (row) => row.getAttribute('aria-rowindex')), '2');
  assert.equal(await page.$$eval('.rows [aria-current=true]', (all) => all.length), 1);
  await visit(page, address('clients', {id: '13'}));
  await until(page, () => document.querySelector('.gone:not([hidden])')?.textContent === 'Client 13 has disconnected.');
  await clientAt(page, 0, '14');
});

pageTest('clients come and go while they are shown', () => address('clients', {sort: 'id', reverse: '1'}), async (page) => {
  all = world.clients;
  try {
    await clientAt(page, 0, '1000');
    world.clients = all.slice(0, 3);
    await until(page, () => document.querySelector('.found').textContent === '3 clients');
    assert.equal(await rowCount(page), 3);
    await clientAt(page, 0, '6');
    world.clients = [];
    await until(page, () => document.querySelector('.found').textContent === '0 clients');
    world.clients = all;
    await clientAt(page, 0, '1000');
  } finally {
    world.clients = all;
  }
});

pageTest('free ids make no empty page', () => {
  all = world.clients;
  world.clients = all.slice(1100);
  return address('clients');
}, async (page) => {
  try {
    await clientAt(page, 0, '2202');
    await until(page, () => document.querySelector('.found').textContent === '100 clients');
  } finally {
    world.clients = all;
  }
});

pageTest('a beanstalkd has no clients to show, and none are offered', () => `${base}#/server?${new URLSearchParams({server: world.names[1]})}`, async (page) => {
  await rowsThere(page);
  await until(page, () => document.querySelector('.server .mark'));
  assert.ok(!(await page.$$eval('.tools a', (all) => all.some((one) => one.textContent === 'Clients' && one.checkVisibility()))));
  page.mayFail = true;
  await visit(page, `${base}#/clients?${new URLSearchParams({server: world.names[1]})}`);
  await until(page, () => /cannot list clients/.test(document.querySelector('.gone:not([hidden])')?.textContent));
});
