// A link to an answer, for colleagues with the right to what it rests on.
import { html, useState } from '../html.js';
import { part, post } from '../api.js';
import { Copy } from './bits.js';
import { Dialog } from './dialog.js';
import { sayProblem } from './toast.js';
import * as format from '../format.js';

/** @type {[number, string][]} */
const TIMES = [
  [24, 'A day'],
  [168, 'A week'],
  [720, 'A month'],
  [2160, 'Three months'],
];

/** @param {{ task: string, onClose: () => void }} props */
export function ShareDialog({ task, onClose }) {
  const [hours, setHours] = useState(168);
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const make = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    try {
      setMade(await post(`/tasks/${part(task)}/share`, { hours }));
    } catch (error) {
      sayProblem(error);
    }
    setBusy(false);
  };
  const address = made && `${location.origin}${made.address}`;
  return html`<${Dialog} title="Share this answer" onClose=${onClose}>
    ${
      made
        ? html`<p>The link counts until ${format.time(made.expires_at)}.</p>
            <p class="made-key"><code>${address}</code></p>
            <div class="actions end">
              <${Copy} text=${address} label="Copy the link" />
              <button class="button primary" type="button" onClick=${onClose}>Done</button>
            </div>`
        : html`<form onSubmit=${make}>
            <p>
              Colleagues who sign in here see the answer with its tables, charts and evidence, if they may
              read all the data that it rests on. An answer about your own files is shown to everyone with the
              link.
            </p>
            <label class="field"
              ><span>The link counts for</span>
              <select
                value=${hours}
                onChange=${(/** @type {any} */ event) => setHours(Number(event.target.value))}
              >
                ${TIMES.map(([value, label]) => html`<option value=${value}>${label}</option>`)}
              </select></label
            >
            <div class="actions end">
              <button class="button" type="button" onClick=${onClose}>Cancel</button>
              <button class="button primary" type="submit" disabled=${busy}>Make the link</button>
            </div>
          </form>`
    }</${Dialog}>`;
}
