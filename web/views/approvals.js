// Approvals: what waits for a person, with everything needed to decide.
import { html, useEffect, useState } from '../html.js';
import { part, post } from '../api.js';
import { may as granted, waiting } from '../store.js';
import { Icon } from '../parts/icons.js';
import { Empty, Read, useRead } from '../parts/states.js';
import { Head, Json, Time } from '../parts/bits.js';
import { Dialog, confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';
import * as format from '../format.js';

/** @type {Record<string, [string, string, string]>} */
const ORIGINS = {
  user: ['good', 'from the user', 'The user who made the request wrote this value.'],
  operator: ['off', 'from the operator', 'The operator configured this value.'],
  requested: [
    'off',
    'from data, as requested',
    'This value comes from data, and the request of the user asks for data here.',
  ],
  untrusted: ['warn', 'untrusted', 'This value comes from a tool or a document, not from a user.'],
};

export default function Approvals() {
  const read = useRead('/approvals', { every: 5000 });
  const items = /** @type {Approval[]} */ (/** @type {any} */ (read.value)?.items ?? []);
  useEffect(() => {
    if (read.value) waiting.set(items.length);
  }, [read.value]);
  return html`<${Head} title="Approvals"
    text="Calls and runs that wait for a decision. It applies only to what is shown." />
    <${Read} read=${read} lines=${2} kind="cards">${() =>
      items.length
        ? html`<ul class="approvals" aria-live="polite">
            ${items.map(one => html`<li key=${one.task}><${Card} one=${one} onDecided=${read.reload} /></li>`)}
          </ul>`
        : html`<${Empty} icon="approvals" title="Nothing to decide"><p>Calls that need your approval appear
          here.</p></${Empty}>`}</${Read}>`;
}

/** @param {{ one: Approval, onDecided: () => void }} props */
function Card({ one, onDecided }) {
  const [busy, setBusy] = useState(false);
  const [changing, setChanging] = useState(false);
  const may = granted('approve');
  const decide = async (/** @type {any} */ body, /** @type {string} */ done) => {
    setBusy(true);
    try {
      await post(`/approvals/${part(one.task)}`, { ...body, digest: one.digest });
      say(done);
      setChanging(false);
      onDecided();
    } catch (error) {
      sayProblem(error);
      onDecided();
    }
    setBusy(false);
  };
  const reject = async () => {
    const why = await confirm({
      title: 'Reject this?',
      text: `${one.tool} will not be called.`,
      action: 'Reject',
      danger: true,
      field: 'Reason (optional)',
    });
    if (why !== null) await decide({ decision: 'reject', ...(why && { why }) }, 'Rejected');
  };
  const values = one.arguments && typeof one.arguments === 'object' ? Object.entries(one.arguments) : [];
  return html`<article class="card approval" aria-label=${`${one.tool} waits for approval`}>
    <header>
      <div>
        <h2><code>${one.tool}</code></h2>
        <p class="muted small">
          ${one.user} ·
          <${Time} at=${one.since} relative />
          ${one.until ? html` · until <${Time} at=${one.until} />` : null}
        </p>
      </div>
      <span class="status pause"><span class="dot"></span> ${one.is_run ? 'Run waits' : 'Call waits'}</span>
    </header>
    <p class="approval-reason pre">${one.reason}</p>
    ${
      values.length
        ? html`<table class="arguments">
            <caption class="hidden">
              Arguments of the call
            </caption>
            <thead class="hidden">
              <tr>
                <th>Argument</th>
                <th>Value</th>
                <th>Provenance</th>
              </tr>
            </thead>
            <tbody>
              ${values.map(([name, value]) => {
                const origin = one.provenance?.[name];
                const [tone, label, title] = ORIGINS[origin] ?? ['off', origin, ''];
                return html`<tr key=${name}>
                  <th scope="row">${format.words(name)}</th>
                  <td>
                    ${
                      typeof value === 'object' && value !== null
                        ? html`<${Json} value=${value} />`
                        : html`<span class="pre">${String(value)}</span>`
                    }
                  </td>
                  <td>${origin && html`<span class="tag ${tone}" title=${title}>${label}</span>`}</td>
                </tr>`;
              })}
            </tbody>
          </table>`
        : one.is_run
          ? null
          : html`<p class="muted">The call has no arguments.</p>`
    }
    <footer>
      <div class="actions">
        <button
          class="button primary"
          type="button"
          disabled=${busy || !may}
          onClick=${() => decide({ decision: 'approve' }, 'Approved')}
        >
          <${Icon} name="tick" size=${16} />Approve
        </button>
        <button class="button" type="button" disabled=${busy || !may} onClick=${reject}>Reject</button>
        ${
          one.is_run &&
          html`<button
            class="button"
            type="button"
            disabled=${busy || !may}
            onClick=${() => setChanging(true)}
          >
            Modify…
          </button>`
        }
      </div>
      <span class="small muted approval-foot"
        >${!may && 'You do not have the right to decide. '}<a href=${`#/tasks/${one.task}`}>Open the task</a>
        <span title="The decision applies only to this digest"
          >Digest <code>${one.digest?.slice(0, 12)}</code></span
        ></span
      >
    </footer>
    ${
      changing &&
      html`<${Change}
        one=${one}
        busy=${busy}
        onClose=${() => setChanging(false)}
        onSend=${(/** @type {any} */ body) => decide({ decision: 'modify', ...body }, 'Sent')}
      />`
    }
  </article>`;
}

/**
 * @param {{ one: Approval, busy: boolean, onClose: () => void, onSend: (body: any) => void }} props
 */
function Change({ one, busy, onClose, onSend }) {
  const [message, setMessage] = useState('');
  const [updates, setUpdates] = useState('');
  const [wrong, setWrong] = useState('');
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    let read;
    if (updates.trim()) {
      try {
        read = JSON.parse(updates);
      } catch {
        setWrong('This is not valid JSON.');
        return;
      }
    }
    if (!message.trim() && read === undefined) {
      setWrong('Enter a message or the values to change.');
      return;
    }
    onSend({
      ...(message.trim() && { message: message.trim() }),
      ...(read !== undefined && { updates: read }),
    });
  };
  return html`<${Dialog} title="Continue with changes" onClose=${onClose}><form onSubmit=${submit}><p
    class="muted">The run <code>
    ${one.tool}</code> continues with your input.</p>
    <label class="field"><span>Message</span>
      <textarea rows="3" value=${message} onInput=${(/** @type {any} */ event) =>
        setMessage(event.target.value)}></textarea></label>
    <label class="field"><span>Values to change, as JSON</span>
      <textarea rows="5" class="mono" value=${updates} placeholder='{ "draft": "…" }' onInput=${(
        /** @type {any} */ event,
      ) => setUpdates(event.target.value)}></textarea></label>
    ${wrong && html`<p class="bad-text small" role="alert">${wrong}</p>`}
    <div class="actions end"><button class="button" type="button" onClick=${onClose}>Cancel</button>
      <button class="button primary" type="submit" disabled=${busy}>Send</button></div></form></${Dialog}>`;
}
