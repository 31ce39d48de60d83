// A day of one person in the page: node e2e_work.mjs URL CSV PICTURES
//
// URL is a server of one person with the example applications and the workflow `review`. Files,
// questions that are changed, SQL that is run again, conversations that are put away and come back,
// two tabs, a workflow that is looked into and forked. No request may fail.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { accessible, ask, camera, complaints, fits, launch, newContext, newPage } from './browser.mjs';

const [, , own, csv, pictures] = process.argv;
const shot = camera(pictures);
const browser = await launch();
const context = await newContext(browser);
const page = await newPage(context, own);
const done = what => console.log(`e2e: ${what}`);
const settled = where => where.waitForTimeout(500);

// A first answer over one's own file, from the start page.
const began = Date.now();
await page.getByRole('button', { name: /choose a file/i }).waitFor();
await shot(page, 'work-start');
await accessible(page, 'the start page');
await page.locator('input[type=file]').setInputFiles(csv);
await page.getByText(/6,542 rows/).waitFor();
assert.equal(await page.locator('.file-questions button').count(), 3);
await shot(page, 'work-file');
await page.getByRole('button', { name: /look inside/i }).click();
await page.getByRole('region', { name: 'First rows' }).waitFor();
await settled(page);
await shot(page, 'work-inside');
await accessible(page, 'a look inside a file');
await page.keyboard.press('Escape');
await page.locator('.file-questions button').first().click();
await page.locator('.vega-embed svg').first().waitFor();
assert.ok(Date.now() - began < 120_000, 'a first answer within two minutes');
done(`a first answer over one's own data after ${((Date.now() - began) / 1000).toFixed(0)} s`);

// Another kind of chart, and its picture.
await settled(page);
await page.getByLabel('Kind of chart').selectOption('bar');
await settled(page);
await page.locator('.vega-embed .mark-rect path').first().waitFor();
await shot(page, 'work-bars');
const [picture] = await Promise.all([
  page.waitForEvent('download'),
  page.getByRole('button', { name: /as an image/i }).click(),
]);
assert.match(picture.suggestedFilename(), /\.png$/);
done('the chart as bars, and its picture');

// A follow-up says what it takes over; asked without it, it stands alone.
await ask(page, 'and by state');
const carried = page.getByRole('group', { name: 'Taken over from earlier' }).last();
await carried.waitFor();
assert.match(await carried.innerText(), /sales/);
assert.match(await carried.innerText(), /Earlier question/);
await shot(page, 'work-follow-up');
await accessible(page, 'a follow-up');

// The question is changed and asked again.
await page.locator('.turn').last().hover();
await page.getByRole('button', { name: 'Edit and ask again' }).last().click();
await page.getByLabel('Edit the question').fill('total amount by category');
await page.getByRole('button', { name: 'Ask again', exact: true }).last().click();
await page.getByRole('button', { name: 'Send' }).waitFor();
await page
  .locator('.turn')
  .last()
  .getByText(/Technology/)
  .first()
  .waitFor();
assert.equal(await page.evaluate(() => document.activeElement?.id), 'question', 'the focus is kept');

// Its SQL is changed and run in place.
await page.getByText('How this was answered').last().click();
const sql = page.locator('figure.sql').last();
assert.match(await sql.locator('pre').innerText(), /SELECT[\s\S]*\nFROM[\s\S]*\nGROUP BY/);
await sql.getByRole('button', { name: 'Edit', exact: true }).click();
await sql.getByLabel('SQL').fill('DELETE FROM sales');
await sql.getByRole('button', { name: 'Run', exact: true }).click();
await sql.getByText(/begin with SELECT/).waitFor();
await sql.getByLabel('SQL').fill('SELECT city, count(*) AS orders FROM sales GROUP BY city');
await sql.getByRole('button', { name: 'Run', exact: true }).click();
await sql.locator('.sql-result').getByText('Orders', { exact: true }).first().waitFor();
await settled(page);
await sql.scrollIntoViewIfNeeded();
await shot(page, 'work-sql');
await accessible(page, 'SQL that was run again');
done('a follow-up, a changed question and changed SQL');

// The tables as a workbook and the answer as a page.
const menu = page.locator('.answer-menu').last();
await menu.locator('summary').click();
const [sheet] = await Promise.all([
  page.waitForEvent('download'),
  menu.getByRole('button', { name: /excel/i }).click(),
]);
const bytes = readFileSync(await sheet.path());
assert.equal(bytes.subarray(0, 4).toString('latin1'), 'PK\u0003\u0004');
assert.match(bytes.toString('utf8'), /Technology/);
await menu.locator('summary').click();
const [document_] = await Promise.all([
  page.waitForEvent('download'),
  menu.getByRole('button', { name: /web page/i }).click(),
]);
const saved = readFileSync(await document_.path(), 'utf8');
assert.match(saved, /<table/);
assert.match(saved, /<svg/);
assert.doesNotMatch(saved, /<button|<script/);
done('an answer as a workbook and as a web page');

// Everything is there after a reload, the file with its turn.
const conversation = page.url();
await page.reload();
await page.locator('.vega-embed svg').first().waitFor();
await page.locator('.said .file-card').first().waitFor();
assert.match(await page.locator('.said .file-card').first().innerText(), /sales\.csv/);

// A second tab follows the first.
const second = await newPage(context, conversation);
await second.locator('.turn').nth(3).waitFor();
const before = await second.locator('.turn').count();
await ask(page, 'total cost by category');
await second.locator('.turn').nth(before).waitFor();
await second
  .locator('.turn')
  .last()
  .getByText(/Technology/)
  .first()
  .waitFor();
await second.close();
done('files after a reload, and two tabs in step');

// Renamed, found by its words, archived, found and brought back.
const actions = page.getByRole('button', { name: 'Conversation menu' });
await actions.click();
await page.getByRole('button', { name: 'Rename' }).click();
await page.getByRole('textbox', { name: 'Title' }).fill('Amounts of the shop');
await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
await page.getByRole('heading', { level: 1, name: 'Amounts of the shop' }).waitFor();
await page.getByLabel('Search conversations').fill('cost by category');
await page.locator('.conversation', { hasText: 'Amounts of the shop' }).waitFor();
await page.getByLabel('Search conversations').fill('');
await actions.click();
await page.getByRole('button', { name: 'Archive', exact: true }).click();
await page.getByText('This conversation is archived.').waitFor();
await accessible(page, 'an archived conversation');
await page.getByRole('button', { name: 'Archived conversations' }).click();
await page.locator('.conversation', { hasText: 'Amounts of the shop' }).click();
await page.getByRole('button', { name: 'Restore' }).click();
await page.locator('#question').waitFor();
await page.getByRole('button', { name: 'Archived conversations' }).click();
done('renamed, archived and brought back');

// A long message is folded; another direction of writing is isolated.
await page.goto(`${own}/#/?new=1`);
await page.waitForFunction(() => location.hash === '#/');
await ask(page, `hello\n${'a long line of words '.repeat(60)}`);
await page.getByRole('button', { name: 'Show all' }).waitFor();
await ask(page, 'שלום עולם');
assert.equal(await page.locator('.bubble').last().getAttribute('dir'), 'auto');
assert.equal(
  await page
    .locator('.bubble')
    .last()
    .evaluate(one => getComputedStyle(one).direction),
  'rtl',
);
await shot(page, 'work-long');

// A stop leaves no conversation and no failed task.
const rows = Array.from({ length: 120_000 }, (_, n) => `${n},${n % 97},${(n * 7) % 1013}`);
const large = `${tmpdir()}/steward-large.csv`;
writeFileSync(large, `id,part,amount\n${rows.join('\n')}\n`);
await page.goto(`${own}/#/?new=1`);
await page.waitForFunction(() => location.hash === '#/');
const listed = async () =>
  page.evaluate(async () => (await (await fetch('/api/v1/conversations?status=all')).json()).items.length);
const known = await listed();
await page.locator('input[type=file]').setInputFiles(large);
await page.locator('.file-questions').waitFor({ timeout: 60_000 });
await page.fill('#question', 'Analyze amount; trends + charts');
await page.keyboard.press('Enter');
await page.getByRole('button', { name: 'Stop' }).click();
await page.getByText('Stopped. No further steps were run.').or(page.locator('.reply')).first().waitFor();
if (await page.getByText('Stopped.').count()) {
  assert.equal(await listed(), known, 'a stop leaves no conversation');
  const states = await page.evaluate(async () => {
    const { items } = await (await fetch('/api/v1/tasks?limit=5')).json();
    return items.filter(one => one.description.startsWith('Analyze amount')).map(one => one.status);
  });
  assert.ok(!states.includes('failed'), `a stop is no failure: ${states}`);
  done('a stop leaves nothing behind');
}

// The library of files.
await page.goto(`${own}/#/files`);
await page.locator('a.row', { hasText: 'sales.csv' }).waitFor();
await shot(page, 'work-files');
await accessible(page, 'files');
await page.locator('a.row', { hasText: 'sales.csv' }).click();
await page.getByRole('heading', { name: 'Asked before' }).waitFor();
await page.locator('a.row', { hasText: 'total amount by category' }).first().waitFor();
await shot(page, 'work-one-file');
await accessible(page, 'a file');
done('the library of files, with what was asked');

// A workflow: rejected is not completed; graph, timeline and slider move together; a fork is linked.
const start = async input =>
  page.evaluate(async given => {
    const me = await (await fetch('/api/v1/me')).json();
    const begun = await fetch('/api/v1/workflows/review/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': me.csrf },
      body: JSON.stringify({ input: given }),
    });
    return (await begun.json()).task_id;
  }, input);
const run = await start({ expression: '15% of 80' });
await page.goto(`${own}/#/tasks/${run}`);
await page.getByText('The task waits for a decision.').waitFor();
await page.goto(`${own}/#/approvals`);
await page
  .getByRole('article')
  .first()
  .getByRole('button', { name: /^reject/i })
  .click();
const reason = page.getByRole('dialog').getByRole('button', { name: /reject/i });
await reason.click();
await page.getByRole('dialog').waitFor({ state: 'hidden' });
await page.getByText('Rejected', { exact: true }).first().waitFor();
await page.goto(`${own}/#/tasks/${run}`);
await page.locator('.status', { hasText: 'Rejected' }).waitFor();
await page.locator('.fall').nth(1).waitFor();
const names = await page.locator('.fall-name').allInnerTexts();
assert.ok(
  names.some(name => /look/i.test(name)),
  `node names in ${names}`,
);
await page.locator('.graph .node[role=button]').first().click();
await page.locator('.graph .node.selected').waitFor();
await page.locator('.fall.current').first().waitFor();
await page.getByLabel(/after event/i).fill('1');
await page.getByText('Show the latest').waitFor();
await settled(page);
await shot(page, 'work-run');
await accessible(page, 'a run');
assert.equal(await page.getByRole('button', { name: 'Resume' }).count(), 0, 'nothing to resume');
await page.getByRole('button', { name: 'Run again…' }).click();
await page.getByLabel('Input').fill('{ "expression": "20% of 50" }');
await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
await page.getByText('Forked from').waitFor();
await page.getByRole('button', { name: 'Cancel', exact: true }).click();
await page.getByRole('button', { name: 'Cancel the task' }).click();
await page.locator('.status', { hasText: 'Cancelled' }).waitFor();
await page.goto(`${own}/#/tasks`);
await page.getByLabel('Search tasks').fill('cost by category');
await page.waitForFunction(() => location.hash.includes('search='));
await page.locator('a.row', { hasText: 'total cost by category' }).waitFor();
assert.equal(await page.locator('a.row').count(), 1, 'one row for one question');
await page.locator('.row-choice input').first().check();
await page.getByText('1 task selected').waitFor();
await shot(page, 'work-tasks');
await accessible(page, 'tasks');
done('a run looked into, rejected, forked; tasks searched and selected');

// In the dark and on a phone.
for (const [name, options] of [
  ['dark', { colorScheme: 'dark' }],
  ['phone', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
]) {
  const other = await newContext(browser, options);
  for (const [view, address] of [
    ['start', own],
    ['conversation', conversation],
    ['files', `${own}/#/files`],
    ['run', `${own}/#/tasks/${run}`],
    ['settings', `${own}/#/settings/connections`],
  ]) {
    const tab = await newPage(other, address);
    await tab.getByRole('heading', { level: 1 }).first().waitFor();
    await tab.waitForTimeout(1200);
    await shot(tab, `work-${view}-${name}`);
    await accessible(tab, `${view}, ${name}`);
    await fits(tab, `${view}, ${name}`);
    await tab.close();
  }
  await other.close();
}
done('in the dark and on a phone');

await browser.close();
assert.deepEqual(complaints, [], 'the console and the requests of the browser');
