// A team in the page: node e2e_team.mjs URL ADMIN_KEY CSV PICTURES
//
// URL is a server with the owner `ana` (ADMIN_KEY), the identity provider of oidc.mjs, and the example
// applications. Ana makes a role and a user, tests them, connects data, shares an answer; Bob signs in
// at the provider and opens the link; Eve may not.
import assert from 'node:assert/strict';
import { accessible, ask, camera, complaints, launch, newContext, newPage } from './browser.mjs';

const [, , team, key, csv, pictures] = process.argv;
const shot = camera(pictures);
const browser = await launch();
const done = what => console.log(`e2e: ${what}`);
// Before somebody is signed in the page asks who it is and is refused.

const ana = await newPage(await newContext(browser), team, /\/api\/v1\/(me|admin\/connections\/test)$/);
await ana.getByRole('link', { name: /sign in with test/i }).waitFor();
await shot(ana, 'team-sign-in');
await accessible(ana, 'sign in with a provider');
await ana.getByLabel('Access key').fill(key);
await ana.getByRole('button', { name: 'Sign in', exact: true }).click();
await ana.locator('#question').waitFor();

// A role and two users.
await ana.goto(`${team}/#/settings/users`);
await ana.getByRole('button', { name: 'New role' }).click();
await ana.getByLabel('Name', { exact: true }).fill('worker');
await ana.getByLabel(/may ask these domains/i).fill('todo');
await accessible(ana, 'a role');
await ana.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
await ana.getByText('asks todo').waitFor();
for (const [user, subject] of [
  ['bob', 'bob'],
  ['eve', 'eve@example.com'],
]) {
  await ana.getByRole('button', { name: 'New user' }).click();
  await ana.getByLabel('User', { exact: true }).fill(user);
  await ana.getByRole('checkbox', { name: 'worker' }).check();
  await ana.getByLabel(/names at the identity provider/i).fill(subject);
  await ana.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await ana.locator('.row', { hasText: user }).waitFor();
}
await ana.getByRole('button', { name: /test the access of bob/i }).click();
await ana.getByText(/May ask questions, call tools\. Domains: todo\./).waitFor();
await shot(ana, 'team-users');
await accessible(ana, 'users and roles');
done('a role and two users, tested');

// Data is tried, then connected.
await ana.goto(`${team}/#/settings/connections`);
await ana.getByRole('button', { name: 'Connect data' }).click();
await ana.getByLabel('Address').fill('/nowhere/at/all');
await ana.getByRole('button', { name: 'Test', exact: true }).click();
await ana.getByText('It does not work').waitFor();
await ana.getByLabel('Address').fill(csv);
await ana.getByRole('button', { name: 'Test', exact: true }).click();
await ana.getByText(/It works\. 1 table/).waitFor();
await shot(ana, 'team-connect');
await accessible(ana, 'connecting data');
await ana.getByLabel('Name', { exact: true }).fill('retail');
await ana.getByLabel('What people call it').fill('Retail');
await ana.getByRole('button', { name: 'Connect', exact: true }).click();
await ana.locator('.row', { hasText: 'Retail' }).waitFor();
await ana.getByRole('button', { name: 'Test todo' }).click();
await ana.getByText(/^Works: \d+ tools/).waitFor();
await shot(ana, 'team-connections');
await accessible(ana, 'connections');
done('data tried and connected, a server tested');

/** Shares the last answer and gives its link. */
async function shared(page) {
  const menu = page.locator('.answer-menu').last();
  await menu.locator('summary').click();
  await menu.getByRole('button', { name: 'Share a link' }).click();
  await page.getByRole('button', { name: 'Make the link' }).click();
  const link = await page.locator('.made-key code').innerText();
  await page.getByRole('button', { name: 'Done' }).click();
  return link.trim();
}
await ana.goto(`${team}/#/?new=1`);
await ana.waitForFunction(() => location.hash === '#/');
await ana.locator('input[type=file]').setInputFiles(csv);
await ana.locator('.file-questions').waitFor();
await ask(ana, 'total amount by category');
await ana.locator('.vega-embed svg').first().waitFor();
const ofFile = await shared(ana);
await ana.goto(`${team}/#/?new=1`);
await ana.waitForFunction(() => location.hash === '#/');
await ask(ana, 'list all deals in the pipeline');
const ofDeals = await shared(ana);

// Bob signs in at the provider and opens both links.
const bob = await newPage(await newContext(browser), team, /\/api\/v1\/(me$|shared\/)/);
await bob.getByRole('link', { name: /sign in with test/i }).click();
await bob.locator('input[name=login]').fill('bob');
await bob.locator('input[name=password]').fill('any');
await bob.getByRole('button').first().click();
await bob.getByRole('button', { name: /continue/i }).click();
await bob.locator('#question').waitFor();
done('signed in at a provider, with PKCE');
await bob.goto(ofFile);
await bob.locator('.vega-embed svg').first().waitFor();
await bob
  .getByText(/Technology/)
  .first()
  .waitFor();
await bob.locator('.prose button').first().click();
await bob.getByText(/comes from/).waitFor();
await bob.keyboard.press('Escape');
await shot(bob, 'team-shared');
await accessible(bob, 'a shared answer');
await bob.goto(ofDeals);
await bob.getByText('Not allowed').waitFor();
assert.doesNotMatch(await bob.locator('main').innerText(), /Nordwind/);
done('a shared answer with its chart and evidence; another one refused');

// Users and roles are an owner's: the server refuses everybody else.
const refused = await bob.evaluate(async () => {
  const me = await (await fetch('/api/v1/me')).json();
  const send = (path, body) =>
    fetch(`/api/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': me.csrf },
      body: JSON.stringify(body),
    });
  const statuses = [];
  statuses.push((await send('admin/users', { user: 'bob', roles: ['owner'] })).status);
  statuses.push((await send('admin/roles', { name: 'worker', admin: true })).status);
  statuses.push((await send('admin/connections/test', { address: '/etc/passwd' })).status);
  return statuses;
});
assert.deepEqual(refused, [403, 403, 403]);
complaints.splice(0, complaints.length, ...complaints.filter(one => !/^403 POST .*\/admin\//.test(one)));
await bob.locator('.account summary').click();
await bob.getByRole('button', { name: 'Sign out' }).click();
await bob.getByRole('link', { name: /sign in with test/i }).waitFor();
done('refused what is not theirs, and signed out');

// What changed is in the journal.
const journal = await ana.evaluate(async () =>
  (await fetch('/api/v1/audit/chains/system/entries?limit=200')).text(),
);
for (const change of ['role_changed', 'user_changed', 'data_connected', 'answer_shared'])
  assert.match(journal, new RegExp(change));
done('every change is in the journal');

await browser.close();
assert.deepEqual(complaints, [], 'the console and the requests of the browser');
