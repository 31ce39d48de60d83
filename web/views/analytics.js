// Analytics: how often tools and agents are used, how well it goes and how long it takes.
import { html, useState } from '../html.js';
import { Empty, Read, useRead } from '../parts/states.js';
import { Head } from '../parts/bits.js';
import { Table } from '../parts/table.js';
import * as format from '../format.js';

const SPANS = [
  [1, 'Day'],
  [7, 'Week'],
  [30, 'Month'],
  [90, 'Quarter'],
];

export default function Analytics() {
  const [days, setDays] = useState(7);
  const read = useRead(`/analytics?days=${days}`);
  return html`<${Head} title="Analytics" text="Calls, success rate and duration of tools and agents.">
    <div class="switch words" role="group" aria-label="Period">
    ${SPANS.map(
      ([value, label]) =>
        html`<button
          key=${value}
          type="button"
          aria-pressed=${days === value}
          onClick=${() => setDays(Number(value))}
        >
          ${label}
        </button>`,
    )}</div></${Head}>
    <${Read} read=${read} lines=${6}>${(/** @type {any} */ value) =>
      value.tools?.length || value.agents?.length
        ? html`<${Totals} value=${value} /> <${Part} title="Tools" rows=${value.tools ?? []} /><${Part}
              title="Agents"
              rows=${value.agents ?? []}
            />`
        : html`<${Empty} icon="analytics" title="No calls in this period"><p>Choose a longer period, or ask a
          question.</p></${Empty}>`}</${Read}>`;
}

/** @param {{ value: any }} props */
function Totals({ value }) {
  const calls = (value.tools ?? []).reduce(
    (/** @type {number} */ sum, /** @type {any} */ one) => sum + one.calls,
    0,
  );
  const well = (value.tools ?? []).reduce(
    (/** @type {number} */ sum, /** @type {any} */ one) => sum + one.successes,
    0,
  );
  const slow = [...(value.tools ?? [])].sort((a, b) => b.p95_ms - a.p95_ms)[0];
  return html`<dl class="facts big">
    <div>
      <dt>Calls</dt>
      <dd>${format.number(calls)}</dd>
    </div>
    <div>
      <dt>Success rate</dt>
      <dd>${calls ? format.percent(well / calls) : '–'}</dd>
    </div>
    <div>
      <dt>Tools in use</dt>
      <dd>${format.number((value.tools ?? []).length)}</dd>
    </div>
    ${
      slow &&
      html`<div>
        <dt>Slowest (p95)</dt>
        <dd>${format.duration(slow.p95_ms)}<span class="small muted fact-note"> ${slow.name}</span></dd>
      </div>`
    }
  </dl>`;
}

/** @param {{ title: string, rows: any[] }} props */
function Part({ title, rows }) {
  if (!rows.length) return null;
  const top = [...rows].sort((a, b) => b.calls - a.calls).slice(0, 12);
  const most = top[0].calls || 1;
  return html`<section class="block">
    <h2>${title}</h2>
    <div class="card padded">
      <ul class="bars-list" aria-label=${`${title} by number of calls`}>
        ${top.map(
          one =>
            html`<li key=${one.name}>
              <span class="bars-name"><code>${one.name}</code></span>
              <span class="bars-track" aria-hidden="true"
                ><span class="bars-bar" style=${{ width: `${(one.calls / most) * 100}%` }}>
                  <span
                    class="bars-bad"
                    style=${{ width: `${(1 - one.successes / Math.max(1, one.calls)) * 100}%` }}
                  ></span></span
              ></span>
              <span class="bars-value small"
                >${format.number(one.calls)}
                <span class="muted"> · ${format.percent(one.success_rate)}</span></span
              >
            </li>`,
        )}
      </ul>
    </div>
    <div class="card">
      <${Table}
        title=${`All ${title.toLowerCase()}`}
        columns=${['name', 'calls', 'success rate, %', 'mean, ms', 'p95, ms']}
        rows=${rows.map(one => [
          one.name,
          one.calls,
          Math.round(one.success_rate * 1000) / 10,
          one.mean_ms,
          one.p95_ms,
        ])}
      />
    </div>
  </section>`;
}
