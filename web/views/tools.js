// Tools: what can be done here, how well it goes, and trying it.
import { html, useEffect, useState, classes } from '../html.js';
import { asProblem, part, postWhole, withQuery } from '../api.js';
import { may, rise, waitingChanged } from '../store.js';
import { Icon } from '../parts/icons.js';
import { Empty, Read, Skeleton, Trouble, useRead } from '../parts/states.js';
import { Head, Json, listKeys } from '../parts/bits.js';
import { SchemaForm, blank, readForm } from '../parts/schema-form.js';
import { Table } from '../parts/table.js';
import * as format from '../format.js';

/** @param {{ route: import('../router.js').Route }} props */
export default function Tools({ route }) {
  const name = route.path[1];
  return name ? html`<${Detail} key=${name} name=${name} />` : html`<${Catalogue} />`;
}

/** @type {Record<string, string>} */
const APPROVAL = {
  never: '',
  always: 'needs approval',
  when_untrusted: 'approval if untrusted',
  destructive: 'needs approval',
};

/** @param {{ tool: Tool }} props */
const Tags = ({ tool }) =>
  html`<span class="tags"
    >${tool.off ? html`<span class="tag bad">disabled</span>` : null}
    <span class="tag ${tool.read_only ? 'good' : 'off'}">${tool.read_only ? 'read-only' : 'may modify'}</span>
    ${APPROVAL[tool.approval] ? html`<span class="tag warn">${APPROVAL[tool.approval]}</span>` : null}</span
  >`;

function Catalogue() {
  const [search, setSearch] = useState('');
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(search.trim()), 200);
    return () => clearTimeout(timer);
  }, [search]);
  const read = useRead(withQuery('/tools', { search: asked, limit: 200 }));
  const servers = useRead('/servers', { every: 15_000 });
  return html`<${Head} title="Tools" text="Every call is validated, authorized and recorded in the journal." />
    <${Servers} read=${servers} />
    <div class="search big"><${Icon} name="search" size=${17} /><label class="hidden"
      for="find-tool">Find a tool</label>
      <input id="find-tool" type="search"
        placeholder="Search in plain language, such as “what time is it in Tokyo”" value=${search}
        autocomplete="off" onInput=${(/** @type {any} */ event) => setSearch(event.target.value)} /></div>
    <${Read} read=${read} lines=${6} kind="rows">
      ${(/** @type {any} */ value) =>
        value.items.length
          ? asked
            ? html`<${ToolList} items=${value.items} />`
            : Object.entries(
                Object.groupBy(value.items, (/** @type {Tool} */ tool) => tool.domain || 'other'),
              ).map(
                ([domain, items]) =>
                  html`<section class="block" key=${domain}>
                    <h2>
                      ${format.words(domain)}
                      <span class="muted small">${format.number(items?.length ?? 0)}</span>
                    </h2>
                    <${ToolList} items=${items} />
                  </section>`,
              )
          : html`<${Empty} icon="tools" title=${asked ? 'No matching tool' : 'No tools yet'}><p>
        ${
          asked
            ? 'Try other words.'
            : html`Connect a server in <a href="#/settings/connections">Settings</a>.`
        }</p></${Empty}>`}</${Read}>`;
}

/** @param {{ items: Tool[] }} props */
const ToolList = ({ items }) =>
  html`<ul class="rows" onKeyDown=${listKeys}>
    ${items.map(
      tool =>
        html`<li key=${tool.name}>
          <a
            class=${classes('row', tool.off && 'dim')}
            data-item
            href=${`#/tools/${encodeURIComponent(tool.name)}`}
          >
            <span class="row-main"
              ><span class="row-title"><code>${tool.name}</code></span
              ><span class="small muted clamp">${tool.description}</span></span
            >
            <span class="row-side"
              ><${Tags} tool=${tool} />${
                tool.usage?.calls
                  ? html`<span class="small muted">
                      ${format.count(tool.usage.calls, 'call')} · p95
                      ${format.duration(tool.usage.p95_ms)}</span
                    >`
                  : null
              }</span
            ></a
          >
        </li>`,
    )}
  </ul>`;

/** @param {{ read: any }} props */
function Servers({ read }) {
  const items = read.value?.items ?? [];
  if (!read.value)
    return read.problem
      ? html`<${Trouble} problem=${read.problem} retry=${read.reload} />`
      : html`<${Skeleton} lines=${1} />`;
  if (!items.length) return null;
  return html`<ul class="servers" aria-label="Servers">
    ${items.map((/** @type {any} */ one) => {
      const good = /^(ready|running|up|ok|healthy|connected)$/i.test(one.status);
      return html`<li key=${one.name} class="server">
        <span
          class="status ${good ? 'good' : /off|stopped|disabled|idle|not_started/i.test(one.status) ? 'off' : 'bad'}"
          ><span class="dot"></span> ${format.words(one.status)}</span
        ><strong>${one.name}</strong>
        <span class="small muted"
          >${one.transport} ·
          ${format.count(Array.isArray(one.tools) ? one.tools.length : (one.tools ?? 0), 'tool')}</span
        >
        ${one.detail && html`<span class="small ${good ? 'muted' : 'bad-text'}">${one.detail}</span>`}
      </li>`;
    })}
  </ul>`;
}

/** @param {{ name: string }} props */
function Detail({ name }) {
  const read = useRead(`/tools/${part(name)}`);
  const tool = /** @type {Tool | null} */ (read.value);
  return html`<${Head} title=${html`<code>${name}</code>`} back=${{
    to: '/tools',
    label: 'Tools',
  }} text=${tool?.description}>
    ${tool && html`<${Tags} tool=${tool} />`}</${Head}>
    <${Read} read=${read} lines=${5}>${(/** @type {Tool} */ tool) =>
      html` ${
          tool.off &&
          html`<p class="note warn">
            <${Icon} name="warn" size=${16} />
            <span>The tool is disabled${typeof tool.off === 'string' ? `: ${tool.off}` : '.'}</span>
          </p>`
        }
        <dl class="facts">
          <div>
            <dt>Domain</dt>
            <dd>${format.words(tool.domain || '–')}</dd>
          </div>
          <div>
            <dt>Server</dt>
            <dd>${tool.server ?? 'Built in'}</dd>
          </div>
          ${
            tool.usage &&
            html`<div>
                <dt>Calls</dt>
                <dd>${format.number(tool.usage.calls)}</dd>
              </div>
              <div>
                <dt>Success rate</dt>
                <dd>${format.percent(tool.usage.success_rate)}</dd>
              </div>
              <div>
                <dt>Mean</dt>
                <dd>${format.duration(tool.usage.mean_ms)}</dd>
              </div>
              <div>
                <dt>p95</dt>
                <dd>${format.duration(tool.usage.p95_ms)}</dd>
              </div>`
          }
        </dl>
        <section class="block">
          <h2>Try it</h2>
          <${Try} tool=${tool} />
        </section>
        <details class="fold">
          <summary>Schema</summary>
          <${Json} value=${tool.input_schema} />
        </details>`}</${Read}>`;
}

/** @param {{ tool: Tool }} props */
function Try({ tool }) {
  const [fields, setFields] = useState(() => blank(tool.input_schema));
  const [wrong, setWrong] = useState(/** @type {Record<string, string>} */ ({}));
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const form = readForm(tool.input_schema, fields);
    setWrong(form.wrong);
    const first = Object.keys(form.wrong)[0];
    if (first) {
      document.getElementById(`field-${first}`)?.focus();
      return;
    }
    setBusy(true);
    setProblem(null);
    setResult(null);
    try {
      setResult(await postWhole(`/tools/${part(tool.name)}/calls`, { arguments: form.value }));
    } catch (error) {
      setProblem(asProblem(error));
    }
    rise(waitingChanged);
    setBusy(false);
  };
  return html`<form class="card padded" onSubmit=${submit} novalidate>
      <${SchemaForm} schema=${tool.input_schema} fields=${fields} wrong=${wrong} onChange=${setFields} />
      <div class="actions">
        <button class="button primary" type="submit" disabled=${busy || !!tool.off || !may('tools')}>
          <${Icon} name="play" size=${15} />${busy ? 'Calling…' : 'Call'}
        </button>
        ${!tool.read_only && html`<span class="small muted">This call may modify data.</span>`}
      </div>
    </form>
    <div aria-live="polite">
      ${problem && html`<${Trouble} problem=${problem} />`}${result && html`<${Result} result=${result} />`}
    </div>`;
}

/** @param {{ result: { status: number, value: any } }} props */
function Result({ result: { status, value } }) {
  if (status === 202 || value?.waiting)
    return html`<p class="note warn">
      <${Icon} name="approvals" size=${16} />
      <span>The call waits for approval: ${value.reason} <a href="#/approvals">Decide in Approvals</a></span>
    </p>`;
  const { content = [], structured } = value.output ?? {};
  const rows = Array.isArray(structured)
    ? structured
    : structured &&
      Object.values(structured).find(one => Array.isArray(one) && one.length && typeof one[0] === 'object');
  const columns =
    Array.isArray(rows) &&
    rows.length &&
    rows.every(row => row && typeof row === 'object' && !Array.isArray(row))
      ? [...new Set(rows.flatMap(row => Object.keys(row)))]
      : null;
  return html`<section class="card padded result">
    <header>
      <h3>Result</h3>
      <span class="small muted"> ${format.duration(value.milliseconds)}</span>
    </header>
    ${
      columns
        ? html`<${Table}
            title="Rows"
            columns=${columns}
            rows=${rows.map((/** @type {any} */ row) => columns.map(column => row[column] ?? null))}
          />`
        : null
    }
    ${
      structured !== undefined && structured !== null
        ? html`<${Json} value=${structured} />`
        : content.map(
            (/** @type {any} */ one, /** @type {number} */ at) =>
              html`<${Json} key=${at} value=${one.type === 'text' ? one.text : one} />`,
          )
    }
    ${(value.notes ?? []).map(
      (/** @type {any} */ note) =>
        html`<p class="note"><span> ${typeof note === 'string' ? note : JSON.stringify(note)}</span></p>`,
    )}
    ${value.call_id && html`<p class="small muted">Call <code>${value.call_id}</code></p>`}
  </section>`;
}
