// Debian's Chromium, driven by puppeteer-core. Detects errors in the console, requests to other sites, and foreign
// code.
import {createRequire} from 'node:module';
import {existsSync, mkdirSync} from 'node:fs';

const require = createRequire(new URL('node/package.json', import.meta.url));
const puppeteer = require('puppeteer-core');
export const kAxe = require.resolve('axe-core/axe.min.js');

// Milliseconds, enough for a busy machine.
const kPatience = Number(process.env.PATIENCE ?? 60000);
const kPrograms = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function openBrowser() {
  const program = kPrograms.find(existsSync);
  if (!program) throw new Error('chromium is not installed');
  return puppeteer.launch({
    executablePath: program, headless: true, protocolTimeout: 120000,
    // As root, and in containers, Chromium has no sandbox.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking', '--force-color-profile=srgb'],
  });
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
  await page.setViewport({width, height});
  await setDark(page, dark);
  await page.goto(address);
  return page;
}

export async function setDark(page, dark) {
  await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}, {name: 'prefers-reduced-motion', value: 'reduce'}]);
}

// Waits until `check(argument)` in the page is true.
export function until(page, check, argument = null) {
  return page.waitForFunction(check, {timeout: kPatience, polling: 50}, argument);
}

// Waits until the text of the first element that matches `selector` is `wanted`, a string or a pattern.
export async function textBecomes(page, selector, wanted) {
  const read = (where) => document.querySelector(where)?.textContent;
  try {
    await until(page, ([where, text, flags]) => {
      const shown = document.querySelector(where)?.textContent;
      return flags === undefined ? shown === text : shown !== undefined && new RegExp(text, flags).test(shown);
    }, typeof wanted === 'string' ? [selector, wanted] : [selector, wanted.source, wanted.flags]);
  } catch (cause) {
    throw new Error(`the text of ${selector} is not ${wanted}, but ${JSON.stringify(await page.evaluate(read, selector))}`, {cause});
  }
}

export function textOf(page, selector) {
  return page.$eval(selector, (element) => element.textContent);
}

// Presses the button with this text, within `scope`.
export async function press(page, text, scope = 'body') {
  const found = await page.waitForFunction((words, within) =>
    [...document.querySelectorAll(`${within} button`)].find((one) => one.textContent === words && one.offsetParent !== null),
  {timeout: kPatience, polling: 50}, text, scope);
  await found.asElement().click();
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
