// The pictures of a board: node picture.mjs URL OUT [dark|phone]. KIT names the folder with
// playwright-core.

import { createRequire } from 'node:module';

const [, , address, out, how] = process.argv;
const require = createRequire(`${process.env.KIT}/`);
const { chromium } = require('playwright-core');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
const options =
  {
    dark: { colorScheme: 'dark' },
    phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  }[how] ?? {};
const context = await browser.newContext({
  viewport: { width: 1440, height: 1180 },
  reducedMotion: 'reduce',
  ...options,
});
const page = await context.newPage();
const began = Date.now();
await page.goto(address);
await page.locator('.tile').first().waitFor();
const first = Date.now() - began;
await page.locator('.tile-number').first().waitFor();
const rows = Date.now() - began;
await page.locator('.tile .vega-embed svg').first().waitFor();
console.log(`tiles after ${first} ms, their rows after ${rows} ms, charts after ${Date.now() - began} ms`);
await page.waitForTimeout(1000);
await page.screenshot({ path: out });
await browser.close();
