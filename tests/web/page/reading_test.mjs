// Tests that the page does not replace content that is being read, shows the hits of a search, and reports the results
// of actions.
//
//   node --test reading_test.mjs          PICTURES=FOLDER keeps pictures there
import assert from 'node:assert/strict';
import {addressBecomes, axe, picture, press, textBecomes, textOf, typeInto, until, visit} from './browser.mjs';
import {address, asks, base, kTube, pageTest, refreshes, tubeAddress, world} from './made_up_case.mjs';

const kPictures = process.env.PICTURES ?? '';

const nextId = (page) => textOf(page, '.next-job .id, .next-job .job-line a');

function churning(parameters) {
  world.churns = true;
  return tubeAddress(parameters);
}

pageTest('the next job of a busy tube stays while a part of it is unfolded', () => churning(), async (page) => {
  await until(page, () => document.querySelector('.next-job .json details details summary'));
  await page.$eval('.next-job .json details details summary', (summary) => summary.click());
  const id = await nextId(page);
  await refreshes(3);
  assert.equal(await nextId(page), id);
  await textBecomes(page, '.next-job .json', /commandName/);
  await until(page, () => /another job is ready now/.test(document.querySelector('.held:not([hidden])')?.textContent));
  assert.deepEqual(await axe(page), []);
  await picture(page, kPictures, 'next-job-kept');
  await press(page, 'Show the next job');
  await until(page, (old) => document.querySelector('.next-job .job-line a').textContent !== old, id);
  assert.ok(await page.$eval('.held', (line) => line.hidden));
});

pageTest('the next job of a busy tube stays while its text is selected', () => churning(), async (page) => {
  await until(page, () => document.querySelector('.next-job .json-string'));
  await page.evaluate(() => getSelection().selectAllChildren(document.querySelector('.next-job .json-string')));
  const id = await nextId(page);
  const text = await page.evaluate(() => getSelection().toString());
  await refreshes(3);
  assert.equal(await nextId(page), id);
  assert.equal(await page.evaluate(() => getSelection().toString()), text);
  await page.evaluate(() => getSelection().removeAllRanges());
  await until(page, (old) => document.querySelector('.next-job .job-line a').textContent !== old, id);
});

pageTest('the next job of a busy tube is replaced while nobody reads it', () => churning(), async (page) => {
  await until(page, () => document.querySelector('.next-job .json'));
  const id = await nextId(page);
  await until(page, (old) => document.querySelector('.next-job .job-line a').textContent !== old, id);
});

pageTest('statistics stay while they are selected', () => tubeAddress(), async (page) => {
  await page.waitForSelector('details.card summary');
  await page.$eval('details.card summary', (summary) => summary.click());
  await until(page, () => document.querySelector('.pairs dd'));
  await page.evaluate(() => getSelection().selectAllChildren(document.querySelector('.pairs dd')));
  const text = await page.evaluate(() => getSelection().toString());
  await refreshes(3);
  assert.equal(await page.evaluate(() => getSelection().toString()), text);
});

for (const width of [360, 1920]) {
  pageTest(`charts show the last hour or the last day, and the address holds it, ${width} pixels wide`, () => tubeAddress(), async (page) => {
    const axis = (text) => until(page, (wanted) => document.querySelector('.axis')?.firstChild?.textContent === wanted, text);
    await axis('60 min ago');
    await press(page, 'Last day');
    await axis('24 h ago');
    assert.match(asks('/api/history').at(-1), /range=day/);
    await addressBecomes(page, /range=day/);
    assert.match(await page.$eval('.plot', (plot) => plot.getAttribute('aria-label')), /last day/);
    // The whole width is one day.
    const [left, right] = await page.$eval('.chart:nth-child(2) .line', (line) => {
      const box = line.getBBox();
      return [box.x, box.x + box.width];
    });
    assert.ok(left < 1 && right > 239, `${left} to ${right} of 240`);
    await page.focus('.plot');
    for (let i = 0; i < 30; i += 1) await page.keyboard.press('ArrowLeft');
    const time = await textOf(page, '.chart .when');
    const ago = await page.evaluate((text) => (Date.now() - new Date(`${new Date().toDateString()} ${text.split(', ').at(-1)}`)) / 1000, time);
    assert.ok(Math.abs(((ago + 86400) % 86400) - 3600) < 240, `${time} is 30 points of 2 minutes ago`);
    assert.deepEqual(await axe(page), []);
    await picture(page, kPictures, `day-${width}`);
    await page.reload();
    await axis('24 h ago');
    await visit(page, address('server'));
    await axis('24 h ago');
    await addressBecomes(page, /range=day/);
    await press(page, 'Last hour');
    await axis('60 min ago');
    await addressBecomes(page, /#\/server\?(?!.*range)/);
  }, {width});
}

pageTest('a chart without points says why', () => {
  world.hasHistory = false;
  return `${base}#/tube?${new URLSearchParams({server: world.names[1], tube: kTube})}`;
}, async (page) => {
  await until(page, () => /^Tubes of beanstalkd are sampled only while/.test(document.querySelector('.no-points:not([hidden])')?.textContent));
  await picture(page, kPictures, 'no-points');
  await visit(page, tubeAddress());
  await until(page, () => /^Only the 100 busiest tubes have a history/.test(document.querySelector('.no-points:not([hidden])')?.textContent));
  await visit(page, address('server'));
  await until(page, () => /^One point every 15 seconds/.test(document.querySelector('.no-points:not([hidden])')?.textContent));
});

pageTest('a search asks for each piece as soon as the one before has come', () => address('search'), async (page) => {
  // Short timers never end, so a search that waits for one would hang.
  await page.evaluate(() => {
    const begin = window.setTimeout;
    window.setTimeout = (act, wait, ...more) => (wait >= 1000 ? begin(act, wait, ...more) : 0);
  });
  await typeInto(page, '[name=contains]', 'needle');
  await page.keyboard.press('Enter');
  await until(page, () => document.querySelector('.found').textContent === '40 hits in 40,000 jobs: complete');
});

for (const width of [360, 1280]) {
  pageTest(`a hit is marked and can be seen, ${width} pixels wide`, () => {
    world.hit = [`{"displayName":"App\\\\Jobs\\\\ADeliveryOfManyThingsToSomebodyFarAway","address":"`, 'M\\u00fcller and all of his family', ' of the house on the hill","x":1}'];
    world.searchPieces = 2;
    return address('search', {contains: 'müller and all of his family'});
  }, async (page) => {
    await until(page, () => /complete/.test(document.querySelector('.found').textContent));
    assert.equal(await textOf(page, '.jobs .excerpt mark'), 'M\\u00fcller and all of his family');
    assert.match(await textOf(page, '.jobs td.excerpt'), /^App\\Jobs\\ADelivery.*…/);
    // The whole text is in a table that scrolls sideways.
    await page.$eval('.jobs mark', (mark) => mark.scrollIntoView({inline: 'center', block: 'center'}));
    assert.ok(await page.$eval('.jobs mark', (mark) => [...mark.getClientRects()].every((box) => mark.contains(document.elementFromPoint(box.left + 1, box.top + box.height / 2)) &&
      mark.contains(document.elementFromPoint(box.right - 2, box.top + box.height / 2)))));
    assert.deepEqual(await axe(page), []);
    await picture(page, kPictures, `hit-${width}`);
  }, {width});

  pageTest(`bytes in hex do not wrap, ${width} pixels wide`, () => tubeAddress(), async (page) => {
    await until(page, () => document.querySelector('.next-job .body'));
    await page.$$eval('.body-forms button', (all) => all.filter((one) => one.textContent === 'Hex').forEach((one) => one.click()));
    await until(page, () => document.querySelector('.hex') && [...document.querySelectorAll('.hex')].every((one) => one.textContent));
    // A later frame draws the bytes again if their room has changed.
    await until(page, () => [...document.querySelectorAll('.hex')].every((one) => one.scrollWidth <= one.clientWidth &&
      one.scrollHeight <= one.textContent.split('\n').length * parseFloat(getComputedStyle(one).lineHeight) + 20));
    await picture(page, kPictures, `hex-${width}`);
  }, {width});
}

pageTest('jobs that an act left as they were are not said to be gone', () => {
  Object.assign(world, {stayed: 11, searchPieces: 19});
  return address('search', {contains: 'x'});
}, async (page) => {
  await until(page, () => /^19 hits .*complete/.test(document.querySelector('.found').textContent));
  await press(page, 'Kick…');
  await press(page, 'Kick 19 jobs', 'dialog');
  await textBecomes(page, '#toasts', '8 jobs kicked, 11 unchanged (neither buried nor delayed)');
});

pageTest('after a delete the view says so, and its buttons go', () => address('job', {id: '8'}), async (page) => {
  page.mayFail = true;  // The page requests a deleted job.
  await press(page, 'Delete…');
  await press(page, 'Delete 1 job', 'dialog');
  await until(page, () => /^Job 8 was deleted from this page at \d\d:\d\d:\d\d\.$/.test(document.querySelector('main .gone:not([hidden])')?.textContent));
  assert.deepEqual(await page.$$eval('main button', (all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent)), ['Refresh']);
  assert.doesNotMatch(await textOf(page, '.summary'), /tube/);
  await picture(page, kPictures, 'job-deleted');
});

pageTest('a job that others have deleted has no buttons', () => address('job', {id: '5000000000'}), async (page) => {
  await until(page, () => document.querySelector('#live').dataset.state === 'live');
  await until(page, () => /^Job 5000000000 does not exist/.test(document.querySelector('main .gone:not([hidden])')?.textContent));
  assert.deepEqual(await page.$$eval('main button', (all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent)), ['Refresh']);
}, {mayFail: true});

pageTest('a tube that is gone offers a put only, and shows no jobs', () => tubeAddress(), async (page) => {
  await until(page, () => document.querySelector('.next-job .body') && document.querySelector('.title .actions:not([hidden])'));
  page.mayFail = true;
  const tube = world.tubes.find((one) => one.name === kTube);
  tube.name = 'renamed';
  try {
    await until(page, () => /^There is no tube/.test(document.querySelector('main .gone:not([hidden])')?.textContent));
    assert.deepEqual(await page.$$eval('.title .actions button', (all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent)), ['Put…']);
    await until(page, () => !document.querySelector('.next-job .body'));
  } finally {
    tube.name = kTube;
  }
  await until(page, () => document.querySelector('.next-job .body'));
});

pageTest('a view of a job keeps what it shows while the server is away', () => address('job', {id: '8'}), async (page) => {
  await until(page, () => document.querySelector('.body'));
  page.mayFail = true;
  world.down.add(world.names[0]);
  await until(page, () => document.querySelector('main.is-gone'));
  await press(page, 'Refresh');
  await until(page, () => [...document.querySelectorAll('.gone')].some((one) => one.textContent === 'Connection refused'));
  assert.ok(await page.$eval('.body', (body) => body.checkVisibility()));
});
