// Small things many views use: copy buttons, labels of states, times, JSON, arrow keys in lists,
// downloads.
import { html, useState } from '../html.js';
import * as format from '../format.js';
import { Icon } from './icons.js';
import { say } from './toast.js';

/** @param {string} text @param {string} [what] */
export async function copy(text, what = 'Copied') {
  try {
    await navigator.clipboard.writeText(text);
    say(what);
  } catch {
    say('The browser denied access to the clipboard.', true);
  }
}

/** @param {{ text: string, label?: string }} props */
export function Copy({ text, label = 'Copy' }) {
  const [done, setDone] = useState(false);
  const run = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1600);
    } catch {
      say('The browser denied access to the clipboard.', true);
    }
  };
  return html`<button class="quiet-button" type="button" onClick=${run}>
    <${Icon} name=${done ? 'tick' : 'copy'} size=${15} /> ${done ? 'Copied' : label}
  </button>`;
}

/** @param {{ title?: string, text: string }} props */
export const Code = ({ title, text }) =>
  html`<figure class="code">
    <figcaption><span>${title}</span><${Copy} text=${text} /></figcaption>
    <pre tabindex="0"><code>${text}</code></pre>
  </figure>`;

/** @param {{ value: any }} props */
export const Json = ({ value }) =>
  html`<pre class="json" tabindex="0"><code>
  ${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</code></pre>`;

/** @type {Record<string, [string, string]>} */
const STATES = {
  pending: ['wait', 'Waiting to start'],
  running: ['run', 'Running'],
  paused: ['pause', 'Paused'],
  rejected: ['bad', 'Rejected'],
  completed: ['good', 'Completed'],
  failed: ['bad', 'Failed'],
  cancelled: ['off', 'Cancelled'],
  done: ['good', 'Done'],
  waiting: ['pause', 'Waiting'],
  idle: ['off', 'Not started'],
  ready: ['good', 'Ready'],
  running_server: ['good', 'Running'],
};
/** @param {{ status: string }} props */
export const Status = ({ status }) => {
  const [tone, label] = STATES[status] ?? ['off', format.words(status)];
  return html`<span class="status ${tone}"> <span class="dot"></span>${label}</span>`;
};

/** @param {{ at: string | null | undefined, relative?: boolean }} props */
export const Time = ({ at, relative }) =>
  at
    ? html`<time datetime=${at} title=${format.exactTime(at)}>
        ${relative ? format.ago(at) : format.time(at)}</time
      >`
    : html`<span class="muted">–</span>`;

/**
 * Arrow keys, Home and End move between the `[data-item]` elements of a list.
 * @param {KeyboardEvent} event
 */
export function listKeys(event) {
  if (!['ArrowDown', 'ArrowUp', 'Home', 'End'].includes(event.key)) return;
  const list = /** @type {HTMLElement} */ (event.currentTarget);
  const items = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('[data-item]')]);
  if (!items.length) return;
  const at = items.indexOf(/** @type {any} */ (document.activeElement));
  const next =
    event.key === 'Home'
      ? 0
      : event.key === 'End'
        ? items.length - 1
        : at + (event.key === 'ArrowDown' ? 1 : -1);
  if (next < 0 || next >= items.length) return;
  event.preventDefault();
  items[next].focus();
}

/** A title as the name of a file, without its ending. @param {string} title */
export const fileTitle = title => title.slice(0, 60).replace(/[^\p{L}\p{N}]+/gu, '_') || 'steward';

/** @param {string} name @param {string | Blob} content @param {string} [type] */
export function save(name, content, type = 'text/plain') {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * A heading with actions beside it, at the top of a view.
 * @param {{ title: any, text?: any, children?: any, back?: { to: string, label: string } }} props
 */
export const Head = ({ title, text, children, back }) =>
  html`<header class="head">
    <div class="head-text">
      ${back && html`<a class="back" href=${'#' + back.to}><${Icon} name="left" size=${15} />${back.label}</a>`}
      <h1 tabindex="-1">${title}</h1>
      ${text && html`<p class="muted">${text}</p>`}
    </div>
    ${children && html`<div class="actions">${children}</div>`}
  </header>`;
