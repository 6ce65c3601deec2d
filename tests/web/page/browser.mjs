// Debian's Chromium, driven by puppeteer-core. Detects errors in the console, requests to other sites, and foreign
// code.
import {createRequire} from 'node:module';
import {existsSync, mkdirSync} from 'node:fs';

const require = createRequire(new URL('node/package.json', import.meta.url));
const puppeteer = require('puppeteer-core');
export const kAxe = require.resolve('axe-core/axe.min.js');

// Milliseconds, enough for a busy machine.
const kPatience = Number(process.env.PATIENCE ?? 120000);

// With HARICOT_PAGE_SLOW=1, the page is as slow as on a busy machine, so that a check that comes too early fails.
const kIsSlow = process.env.HARICOT_PAGE_SLOW === '1';
const kSlowness = 3;  // Times.
const kDelayMax = 300;  // Milliseconds.

const kPrograms = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function openBrowser() {
  const program = kPrograms.find(existsSync);
  if (!program) throw new Error('chromium is not installed');
  return puppeteer.launch({
    executablePath: program, headless: true, timeout: kPatience, protocolTimeout: 2 * kPatience,
    // As root, and in containers, Chromium has no sandbox.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking', '--force-color-profile=srgb'],
  });
}

// Runs in the page before its scripts: delays each answer, frame, observer and late event by a random time.
function delayAll(most) {
  const begin = window.setTimeout.bind(window);
  const delayed = (act) => (...all) => begin(() => act(...all), Math.random() * most);
  const [send, frame, listen] = [window.fetch, window.requestAnimationFrame, EventTarget.prototype.addEventListener];
  const pause = () => new Promise((resolve) => delayed(resolve)());
  window.fetch = async (...all) => {
    await pause();
    const answer = await send(...all);
    await pause();
    return answer;
  };
  window.requestAnimationFrame = delayed((act) => frame(act));
  window.ResizeObserver = class extends ResizeObserver {
    constructor(act) {
      super(delayed(act));
    }
  };
  EventTarget.prototype.addEventListener = function (type, act, options) {
    const isLate = ['close', 'hashchange', 'servers', 'toggle'].includes(type);
    return listen.call(this, type, isLate ? delayed(act.bind(this)) : act, options);
  };
}

// Opens a tab that records violations in `page.wrongs`.
export async function openPage(browser, address, {width = 1280, height = 900, dark = false, mayFail = false} = {}) {
  const page = await browser.newPage();
  const origin = new URL(address).origin;
  page.wrongs = [];
  // While a test has stopped the server, requests fail with errors in the console.
  page.mayFail = mayFail;
  page.on('console', (message) => {
    const isRefused = message.type() === 'error' && /Failed to load resource/.test(message.text());
    if (message.type() === 'error' && !(isRefused && page.mayFail)) page.wrongs.push(`console: ${message.text()} ${message.location().url ?? ''}`);
  });
  page.on('pageerror', (error) => page.wrongs.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin && !request.url().startsWith('data:')) page.wrongs.push(`request to ${request.url()}`);
  });
  page.setDefaultTimeout(kPatience);
  if (kIsSlow) {
    await page.emulateCPUThrottling(kSlowness);
    await page.evaluateOnNewDocument(delayAll, kDelayMax);
  }
  await page.setViewport({width, height});
  await setDark(page, dark);
  await page.goto(address);
  return page;
}

export async function setDark(page, dark) {
  await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}, {name: 'prefers-reduced-motion', value: 'reduce'}]);
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 50));

// Calls `isSo` until it returns true. Ignores its errors, because the view that it reads may not be there yet, or the
// page may be loading. `describe` returns the state that a failure reports.
async function poll(isSo, describe) {
  const end = Date.now() + kPatience;
  for (let trouble = null; ; await pause()) {
    try {
      if (await isSo()) return;
      trouble = null;
    } catch (error) {
      trouble = error;
    }
    if (Date.now() > end) throw new Error(`waited in vain: ${await describe()}${trouble ? `: ${trouble.message}` : ''}`);
  }
}

// Waits until `check(argument)` in the page is true.
export function until(page, check, argument = null) {
  // Elements, which some checks return, cannot be sent.
  const isSo = `(async () => Boolean(await (${check})(${JSON.stringify(argument)})))()`;
  return poll(() => page.evaluate(isSo), () => `${check} of ${JSON.stringify(argument)}`);
}

// Waits until `check()` in this process is true.
export function untilHere(check) {
  return poll(check, () => String(check));
}

// Waits until the text of the first element that matches `selector` is `wanted`, a string or a pattern.
export function textBecomes(page, selector, wanted) {
  const read = () => page.evaluate((where) => document.querySelector(where)?.textContent, selector);
  const isWanted = (text) => (typeof wanted === 'string' ? text === wanted : text !== undefined && wanted.test(text));
  return poll(async () => isWanted(await read()), async () => `the text of ${selector} is not ${wanted}, but ${JSON.stringify(await read())}`);
}

// Waits until the address of the page matches. `page.url()` changes later than the address.
export function addressBecomes(page, pattern) {
  return poll(async () => pattern.test(await page.evaluate(() => location.href)), () => `the address ${page.url()} is not ${pattern}`);
}

// Opens an address, and waits until its view has replaced the one that is shown, because an address that differs only
// in its fragment leaves the document as it is.
export async function visit(page, address) {
  await page.evaluate(() => document.querySelector('main > div')?.classList.add('is-left'));
  await page.goto(address);
  await until(page, () => document.querySelector('main > div:not(.is-left)'));
}

// Waits until the page has sent its requests and handled their errors, and returns the recorded violations.
export async function violations(page) {
  await page.evaluate(() => fetch('page/icon.svg', {cache: 'no-store'}).catch(() => null));
  const isForeign = await page.evaluate(() => window.wasRun !== undefined || ({}).polluted !== undefined);
  return isForeign ? [...page.wrongs, 'foreign code was run'] : page.wrongs;
}

export function textOf(page, selector) {
  return page.$eval(selector, (element) => element.textContent);
}

// Clicks the first visible element that matches `selector` and has this text, if one is given, as soon as nothing covers
// it. Finds and clicks it in one step, because the page may move or replace it at any time.
export function click(page, selector, text = null) {
  return poll(() => page.evaluate((where, words) => {
    const found = [...document.querySelectorAll(where)].find((one) => (words === null || one.textContent === words) && one.checkVisibility());
    if (!found || found.disabled) return false;
    const isHit = () => {
      const {left, top, width, height} = found.getClientRects()[0];
      return found.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    };
    if (!isHit()) found.scrollIntoView({block: 'center', inline: 'center'});
    if (!isHit()) return false;
    found.focus({preventScroll: true});
    found.click();
    return true;
  }, selector, text), () => `nothing to click matches ${selector}${text === null ? '' : `, ${text}`}`);
}

// Presses the button with this text, within `scope`.
export function press(page, text, scope = 'body') {
  return click(page, `${scope} button`, text);
}

// Types into an element, as soon as it is visible.
export async function typeInto(page, selector, text) {
  await until(page, (where) => document.querySelector(where).checkVisibility(), selector);
  await page.type(selector, text);
}

// Returns the violations that axe-core finds, as lines.
export async function axe(page) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) {
    // The page's policy forbids additional scripts, so the text is evaluated from outside.
    const {readFileSync} = await import('node:fs');
    await page.evaluate(readFileSync(kAxe, 'utf8'));
  }
  // The check of target sizes (WCAG 2.2, 2.5.8) is off by default.
  const {violations} = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}));
  return violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target.join(' ')} ${node.failureSummary?.split('\n')[1] ?? ''}`));
}

export async function picture(page, folder, name) {
  if (!folder) return;
  mkdirSync(folder, {recursive: true});
  await page.screenshot({path: `${folder}/${name}.png`});
}
