// What the tests of the page share: a browser, pages whose complaints are collected, pictures, axe.
//
// KIT names the folder with playwright-core and axe-core. With WEB, the files of the page come from
// that folder instead of the server, so that a change of the page needs no build.
import { createRequire } from 'node:module';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import assert from 'node:assert/strict';

const require = createRequire(`${process.env.KIT}/`);
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** @type {string[]} */
export const complaints = [];

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

const TYPES = {
  js: 'text/javascript',
  mjs: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
  html: 'text/html',
};

/** Serves the files of WEB, with the headers of the server for the document. */
async function fromFolder(context, folder) {
  await context.route(/\/page\/(?!errors)|:\d+\/(\?.*)?$/, async route => {
    const { pathname } = new URL(route.request().url());
    const name = pathname === '/' ? 'index.html' : pathname.replace('/page/', '');
    if (!existsSync(`${folder}/${name}`)) return route.continue();
    const body = readFileSync(`${folder}/${name}`);
    if (name !== 'index.html')
      return route.fulfill({ body, contentType: TYPES[name.split('.').pop()] ?? 'text/plain' });
    const response = await route.fetch();
    return route.fulfill({ response, body, headers: { ...response.headers(), 'content-encoding': '' } });
  });
}

export async function newContext(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 850 },
    reducedMotion: 'reduce',
    acceptDownloads: true,
    ...options,
  });
  if (process.env.WEB) await fromFolder(context, process.env.WEB);
  return context;
}

/** A page that reports what the console says; `expected` are addresses that may be refused. */
export async function newPage(context, address, expected = /$^/) {
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 30_000));
  page.on('pageerror', error => complaints.push(`${address}: ${error.message}`));
  page.on('console', message => {
    // The page of a provider loads fonts of others, which a test does not reach.
    const own = message.location().url.startsWith(new URL(address).origin);
    if (own && message.type() === 'error' && !/status of 4\d\d/.test(message.text()))
      complaints.push(`${address}: ${message.text()}`);
  });
  page.on('response', response => {
    if (response.status() >= 400 && !expected.test(response.url()))
      complaints.push(`${response.status()} ${response.request().method()} ${response.url()}`);
  });
  await page.goto(address);
  return page;
}

export function camera(folder) {
  mkdirSync(folder, { recursive: true });
  return (page, name) => page.screenshot({ path: `${folder}/${name}.png` });
}

/** No rule of axe is broken. */
export async function accessible(page, where) {
  // The policy of the page lets no other script in: it is evaluated from outside.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ['violations'] }),
  );
  const told = violations.map(
    one => `${one.id}: ${one.help} (${one.nodes.map(node => node.target).join(', ')})`,
  );
  assert.deepEqual(told, [], `axe on ${where}`);
  await apart(page, where);
}

/**
 * No text touches the element beside it: "As of" and "Nov 18" are two words. No bracket or comma
 * stands apart from what it belongs to.
 */
export async function apart(page, where) {
  const glued = await page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    const edge = (node, at) => {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      return range.getBoundingClientRect();
    };
    let before = null;
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      if (!node.data || node.parentElement.closest('svg, pre, code, script, style, canvas')) continue;
      const last = before;
      before = node;
      if (!last || last.parentElement === node.parentElement) continue;
      const stray = /[(“„] $/.test(last.data) || (/\S$/.test(last.data) && /^ [,;.)]/.test(node.data));
      if (stray) found.push(`${last.data.slice(-20)}|${node.data.slice(0, 20)} (a space too many)`);
      const [end, begin] = [last.data.at(-1), node.data[0]];
      if (!/[\p{L}\p{N},;:·)]/u.test(end) || !/[\p{L}\p{N}(]/u.test(begin)) continue;
      const [left, right] = [edge(last, last.data.length - 1), edge(node, 0)];
      const oneLine = Math.abs(left.bottom - right.bottom) < 6 && left.width > 0 && right.width > 0;
      if (oneLine && Math.abs(right.left - left.right) < 1.5)
        found.push(`${last.data.slice(-20)}|${node.data.slice(0, 20)}`);
    }
    return found;
  });
  assert.deepEqual(glued, [], `texts that touch on ${where}`);
}

/** Asks and waits until the next question can be asked. */
export async function ask(page, text) {
  await page.fill('#question', text);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Send' }).waitFor({ timeout: 60_000 });
}

/** No part of the page is wider than its window. */
export async function fits(page, name) {
  const wider = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.ok(wider <= 0, `${name} is ${wider} px too wide`);
}
