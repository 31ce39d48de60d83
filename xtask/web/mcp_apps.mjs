// The views of MCP Apps in a browser: node mcp_apps.mjs BINARY [PICTURES]. KIT names the folder with
// playwright-core.
//
// The script is the host: it starts `steward mcp` on pipes, shows each view in a sandboxed frame with
// the result of its tool, and passes on what the view calls. It checks that the policy of the view
// holds, that data is shown as text, and that a decision names the digest that was shown.

import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import assert from 'node:assert/strict';

const [, , binary, pictures] = process.argv;
const { chromium } = createRequire(`${process.env.KIT}/`)('playwright-core');
const home = mkdtempSync(`${tmpdir()}/mcp-apps-`);
const env = { ...process.env, STEWARD_HOME: `${home}/home`, STEWARD_USER: 'alice' };
spawnSync(binary, ['init'], { env });
writeFileSync(
  `${home}/sales.csv`,
  'region,month,amount\n<img src=x onerror=alert(1)>,2026-01,10\nsouth,2026-01,20\nnorth,2026-02,12\n',
);

// The client of the server.
const server = spawn(binary, ['mcp'], { env, cwd: home, stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let lastId = 0;
createInterface({ input: server.stdout }).on('line', line => {
  const message = JSON.parse(line);
  waiting.get(message.id)?.(message);
  waiting.delete(message.id);
});
const send = message => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const ask = async (method, params) => {
  lastId += 1;
  const id = lastId;
  const answer = new Promise(resolve => waiting.set(id, resolve));
  send({ id, method, params });
  const { result, error } = await answer;
  assert.equal(error, undefined, `${method}: ${JSON.stringify(error)}`);
  return result;
};
const call = (name, args = {}) => ask('tools/call', { name, arguments: args });

const HOST = `<!doctype html><title>host</title><body><script>
  window.seen = [];
  window.show = (html, result) => new Promise(resolve => {
    const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.style = 'width: 800px; height: 900px; border: 0';
    const post = message => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
    window.addEventListener('message', async ({ data, source }) => {
      if (source !== frame.contentWindow) return;
      window.seen.push(data);
      if (data.method === 'ui/initialize') {
        const hostInfo = { name: 'test', version: '1' };
        const hostContext = { theme: 'light' };
        post({ id: data.id, result: { protocolVersion: '2026-01-26', hostInfo, hostCapabilities: {}, hostContext } });
      }
      if (data.method === 'ui/notifications/initialized') {
        post({ method: 'ui/notifications/tool-result', params: result });
        resolve();
      }
      if (data.method === 'tools/call') post({ id: data.id, result: await window.pass(data.params) });
    });
    frame.srcdoc = html;
    document.body.replaceChildren(frame);
  });
</script>`;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'],
});
try {
  await ask('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'host', version: '1' },
  });
  send({ method: 'notifications/initialized' });
  const { tools } = await ask('tools/list', {});
  const view = async name => {
    const uri = tools.find(tool => tool.name === name)._meta.ui.resourceUri;
    return (await ask('resources/read', { uri })).contents[0].text;
  };

  const page = await browser.newPage();
  const complaints = [];
  page.on('console', said => said.type() === 'error' && complaints.push(said.text()));
  page.on('pageerror', error => complaints.push(String(error)));
  page.on('dialog', dialog => (complaints.push('a dialog'), dialog.dismiss()));
  const requests = [];
  page.on('request', request => requests.push(request.url()));
  let passed = [];
  await page.exposeFunction('pass', params => {
    passed.push(params);
    return call(params.name, params.arguments);
  });
  await page.setContent(HOST);
  const frame = page.frameLocator('iframe');

  const answer = await call('ask', { question: 'total amount by region', data: [`${home}/sales.csv`] });
  assert.ok(answer.structuredContent.tables.length, JSON.stringify(answer));
  await page.evaluate(([html, result]) => window.show(html, result), [await view('ask'), answer]);
  const rows = frame.locator('tbody tr, table tr');
  await rows.first().waitFor();
  const [table] = answer.structuredContent.tables;
  assert.equal(await frame.locator('table').first().locator('tr').count(), table.rows.length + 1);
  const images = answer.content.filter(part => part.type === 'image').length;
  assert.equal(await frame.locator('img').count(), images);
  for (let at = 0; at < images; at += 1) {
    const width = await frame
      .locator('img')
      .nth(at)
      .evaluate(async image => {
        await image.decode();
        return image.naturalWidth;
      });
    assert.ok(width > 100, 'the chart is drawn');
  }
  assert.ok((await frame.locator('table').first().innerText()).includes('<img src=x onerror=alert(1)>'));
  if (pictures) await page.screenshot({ path: `${pictures}/mcp-answer.png` });
  // A script that is not the view's own does not run, and nothing can be fetched.
  const tried = await frame.locator('body').evaluate(async body => {
    const script = document.createElement('script');
    script.textContent = 'window.foreign = true';
    body.append(script);
    const fetched = await fetch('http://127.0.0.1:9/').then(
      () => true,
      () => false,
    );
    return { ran: window.foreign === true, fetched };
  });
  assert.deepEqual(tried, { ran: false, fetched: false });
  const refused = complaints.filter(text => text.includes('Content Security Policy'));
  assert.equal(refused.length, complaints.length, complaints.join('\n'));
  assert.ok(refused.length >= 2, 'the policy said so');
  complaints.length = 0;

  await call('tools_call', { tool: 'memory.remember', arguments: { text: '<b>obey</b> me' } });
  const list = await call('approvals_list');
  const [one] = list.structuredContent.approvals;
  await page.evaluate(([html, result]) => window.show(html, result), [await view('approvals_list'), list]);
  await frame.getByRole('button', { name: 'Reject memory.remember' }).waitFor();
  const text = await frame.locator('article').innerText();
  assert.ok(text.includes(one.digest) && text.includes('<b>obey</b> me'), text);
  if (pictures) await page.screenshot({ path: `${pictures}/mcp-approvals.png` });
  // An approval asks the person at the client; this one cannot, so the call goes on waiting.
  await frame.getByRole('button', { name: 'Approve memory.remember' }).click();
  await frame.getByText('only a person can approve').waitFor();
  assert.deepEqual(passed.pop().arguments, { task: one.task, digest: one.digest, decision: 'approve' });
  assert.equal((await call('approvals_list')).structuredContent.approvals.length, 1);
  await page.evaluate(([html, result]) => window.show(html, result), [await view('approvals_list'), list]);
  await frame.getByRole('button', { name: 'Reject memory.remember' }).click();
  await frame.getByText('is not called').waitFor();
  assert.deepEqual(passed.pop().arguments, { task: one.task, digest: one.digest, decision: 'reject' });
  assert.equal((await call('approvals_list')).structuredContent.approvals.length, 0);
  assert.deepEqual(complaints, []);
  assert.deepEqual(
    requests.filter(url => /^(https?|ws):/.test(url) && !url.startsWith('http://127.0.0.1:9/')),
    [],
  );
  console.log(
    `mcp apps: an answer with ${images} charts and a decision by its digest, under a policy without hosts`,
  );
} finally {
  server.stdin.end();
  await browser.close();
  rmSync(home, { recursive: true, force: true });
}
