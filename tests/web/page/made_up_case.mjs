// Functions for the tests of the page with a simulated program.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {openBrowser, openPage, textOf, until, untilHere, violations} from './browser.mjs';
import {makeUp} from './made_up.mjs';

export const kTube = 'emails-000010';

export let browser;
export let world;
export let base;

before(async () => {
  world = makeUp();
  base = await world.listen();
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  world.close();
});

export const address = (view, parameters = {}) => `${base}#/${view}?${new URLSearchParams({server: world.names[0], ...parameters})}`;
export const tubeAddress = (tube = kTube) => address('tube', {tube});

export const rowCount = (page) => page.$$eval('.rows .row', (rows) => rows.length);
export const firstName = (page) => textOf(page, '.rows .row:not(.is-unknown) .name a');
export const rowsThere = (page) => until(page, () => document.querySelector('.rows .row') && !document.querySelector('.rows .is-unknown'));

// Returns the page's requests whose addresses begin with `path`.
export const asks = (path) => world.asked.filter((url) => url.startsWith(path));

// Waits until the page has requested the tube `count` more times.
export function refreshes(count) {
  const before = asks('/api/tube?').length;
  return untilHere(() => asks('/api/tube?').length >= before + count);
}

// Restores the program, so that a test does not affect the next one.
export function reset() {
  world.orders.length = 0;
  world.down.clear();
  world.holdsEvents = false;
  world.forgetsRows = false;
  Object.assign(world, {searchPieces: 40, searchHolds: Infinity, holdsBody: false, hasHistory: true, churns: false, hit: null, stayed: 0});
  world.gone.clear();
  world.allowChanges = true;
  world.setSilent(false);
}

// Runs a test in its own tab. Fails if the page has recorded violations.
export function pageTest(name, place, act, options = {}) {
  test(name, {timeout: 300000}, async () => {
    reset();
    const page = await openPage(browser, place(), options);
    try {
      await act(page);
      assert.deepEqual(await violations(page), []);
    } finally {
      await page.close();
    }
  });
}
