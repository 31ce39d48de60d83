// Connections, for owners: data as a domain, and MCP servers. Each is tried before it counts.
import { html, useState } from '../html.js';
import { asProblem, part, post, remove } from '../api.js';
import * as format from '../format.js';
import { Status } from '../parts/bits.js';
import { Dialog, confirm } from '../parts/dialog.js';
import { Icon } from '../parts/icons.js';
import { Read, Trouble, useRead } from '../parts/states.js';
import { say, sayProblem } from '../parts/toast.js';

/** @param {(value: string) => void} set */
const typed = set => (/** @type {any} */ event) => set(event.target.value);

/** @param {any} server */
const placeOf = server => (server.transport === 'stdio' ? 'A program of this server' : 'Over the network');

export function Connections() {
  const read = useRead('/admin/connections');
  const [adding, setAdding] = useState(/** @type {'' | 'data' | 'server'} */ (''));
  const [tested, setTested] = useState(/** @type {Record<string, string>} */ ({}));
  const close = () => {
    setAdding('');
    read.reload();
  };
  const test = async (/** @type {string} */ name) => {
    setTested({ ...tested, [name]: 'Trying…' });
    try {
      const { tools } = await post(`/admin/servers/${part(name)}/test`);
      setTested({ ...tested, [name]: `Works: ${format.count(tools.length, 'tool')}` });
    } catch (error) {
      setTested({ ...tested, [name]: `Does not work: ${asProblem(error).message}` });
    }
  };
  const drop = async (/** @type {string} */ name) => {
    const sure = await confirm({
      title: `Disconnect ${name}?`,
      text: 'Its tools are gone for everyone.',
      action: 'Disconnect',
      danger: true,
    });
    if (sure === null) return;
    try {
      await remove(`/admin/servers/${part(name)}`);
      say('Disconnected');
      read.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<section class="block"><div class="block-head"><h2>Data</h2>
      <button class="button small" type="button" onClick=${() => setAdding('data')}>
        <${Icon} name="plus" size=${15} />Connect data</button></div>
    <${Read} read=${read} lines=${2} kind="rows">${(/** @type {any} */ value) =>
      value.data.length
        ? html`<ul class="rows">
            ${value.data.map(
              (/** @type {any} */ one) =>
                html`<li key=${one.name} class="row still">
                  <${Icon} name="database" />
                  <span class="row-main"
                    ><span class="row-title"><bdi>${one.title || one.name}</bdi></span>
                    <span class="small muted"><bdi>${one.sources.join(', ')}</bdi></span></span
                  >
                </li>`,
            )}
          </ul>`
        : html`<p class="muted">
            No data is connected. Everyone can still bring their own files.
          </p>`}</${Read}></section>
    <section class="block"><div class="block-head"><h2>MCP servers</h2>
      <button class="button small" type="button" onClick=${() => setAdding('server')}>
        <${Icon} name="plus" size=${15} />Connect a server</button></div>
    <${Read} read=${read} lines=${2} kind="rows">${(/** @type {any} */ value) =>
      value.servers.length
        ? html`<ul class="rows">
            ${value.servers.map(
              (/** @type {any} */ one) =>
                html`<li key=${one.name} class="row still">
                  <${Icon} name="tools" />
                  <span class="row-main"
                    ><span class="row-title">${one.name}</span>
                    <span class="small muted" aria-live="polite"
                      >${tested[one.name] ?? placeOf(one)}</span
                    ></span
                  >
                  <${Status} status=${one.status} />
                  <span class="row-side"
                    ><button class="button small" type="button" onClick=${() => test(one.name)}>
                      Test<span class="hidden"> ${one.name}</span>
                    </button></span
                  >
                  <button
                    class="icon-button"
                    type="button"
                    aria-label=${`Disconnect ${one.name}`}
                    onClick=${() => drop(one.name)}
                  >
                    <${Icon} name="trash" size=${16} />
                  </button>
                </li>`,
            )}
          </ul>`
        : html`<p class="muted">No server is connected.</p>`}</${Read}></section>
    ${adding === 'data' && html`<${DataForm} onClose=${close} />`}
    ${adding === 'server' && html`<${ServerForm} onClose=${close} />`}`;
}

/** @param {{ onClose: () => void }} props */
function DataForm({ onClose }) {
  const [address, setAddress] = useState('');
  const [name, setName] = useState('');
  const [title, setTitle] = useState('');
  const [busy, setBusy] = useState(false);
  const [tables, setTables] = useState(/** @type {any[] | null} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const send = async (/** @type {boolean} */ tries) => {
    setBusy(true);
    setProblem(null);
    setTables(null);
    try {
      const body = { address: address.trim() };
      if (tries) setTables((await post('/admin/connections/test', body)).tables);
      else {
        await post('/admin/connections', { ...body, name: name.trim(), title: title.trim() });
        say('Connected');
        onClose();
        return;
      }
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  return html`<${Dialog} title="Connect data" onClose=${onClose}>
    <form onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      void send(false);
    }}>
    <label class="field"><span>Address</span>
      <input required value=${address} onInput=${typed(setAddress)} autocomplete="off"
        placeholder="/data/sales or postgres://reader@db.example.com/shop" /></label>
    <p class="small muted">A file or folder of the server, or a database without its password.</p>
    <label class="field"><span>Name</span>
      <input required pattern="[a-z][a-z0-9_]*" value=${name} onInput=${typed(setName)} autocomplete="off"
        placeholder="sales" /></label>
    <label class="field"><span>What people call it</span>
      <input value=${title} onInput=${typed(setTitle)} autocomplete="off" placeholder="Sales" /></label>
    <div class="test-result" aria-live="polite">
      ${problem && html`<${Trouble} problem=${problem} title="It does not work" />`}
      ${
        tables &&
        html`<p class="note">
          <${Icon} name="tick" size=${16} /><span
            >It works. ${format.count(tables.length, 'table')}:
            ${tables
              .slice(0, 8)
              .map(one => one.name)
              .join(', ')}${tables.length > 8 ? ' …' : ''}</span
          >
        </p>`
      }</div>
    <div class="actions end">
      <button class="button" type="button" disabled=${busy || !address.trim()} onClick=${() => send(true)}>
        ${busy ? 'Trying…' : 'Test'}</button>
      <button class="button primary" type="submit" disabled=${busy}>Connect</button></div></form></${Dialog}>`;
}

/** @param {{ onClose: () => void }} props */
function ServerForm({ onClose }) {
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [variable, setVariable] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const connect = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const found = await post('/admin/servers', {
        name: name.trim(),
        url: url.trim(),
        ...(variable.trim() && { token_variable: variable.trim() }),
      });
      say(`Connected: ${format.count(found.tools.length, 'tool')}`);
      onClose();
      return;
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  return html`<${Dialog} title="Connect an MCP server" onClose=${onClose}><form onSubmit=${connect}>
    <label class="field"><span>Name</span>
      <input required value=${name} onInput=${typed(setName)} autocomplete="off" placeholder="crm" /></label>
    <label class="field"><span>Address</span>
      <input required type="url" value=${url} onInput=${typed(setUrl)} autocomplete="off"
        placeholder="https://crm.example.com/mcp" /></label>
    <label class="field"><span>Variable with its token <span
      class="muted small">(on this server, if it needs one)</span></span>
      <input value=${variable} onInput=${typed(setVariable)} autocomplete="off" placeholder="CRM_TOKEN" /></label>
    ${problem && html`<${Trouble} problem=${problem} title="It does not work" />`}
    <p class="small muted">It is tried before it counts. What does not work leaves nothing behind.</p>
    <div class="actions end"><button class="button" type="button" onClick=${onClose}>Cancel</button>
      <button class="button primary" type="submit" disabled=${busy}>${
        busy ? 'Trying…' : 'Test and connect'
      }</button></div></form></${Dialog}>`;
}
