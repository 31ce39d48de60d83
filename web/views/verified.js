// Verified answers, what people said of answers, and the schedules with their alerts.
import { html, useState } from '../html.js';
import { part, post, remove } from '../api.js';
import { may, me } from '../store.js';
import { Icon } from '../parts/icons.js';
import { Empty, More, Read, usePages } from '../parts/states.js';
import { Head, Time } from '../parts/bits.js';
import { confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';

/** @param {{ status: string, changes?: string[], reason?: string }} outcome */
const told = (outcome) => outcome.status === 'same' ? 'Same rows' : outcome.status === 'moved' ? `Moved: ${(outcome.changes ?? []).join('; ')}` : `Broken: ${outcome.reason}`;

export default function Verified() {
  const pages = usePages('/verified?limit=50');
  const opinions = usePages('/feedback?limit=50');
  const [checks, setChecks] = useState(/** @type {Record<string, any>} */ ({}));
  const [busy, setBusy] = useState(false);
  const check = async () => {
    setBusy(true);
    try {
      const found = await post('/verified/check');
      setChecks(Object.fromEntries(found.checks.map((/** @type {any} */ one) => [one.id, one.outcome])));
      const moved = found.checks.filter((/** @type {any} */ one) => one.outcome.status !== 'same').length;
      say(moved ? `${moved} moved or broke` : 'All give the same rows');
    } catch (error) { sayProblem(error); }
    setBusy(false);
  };
  const drop = async (/** @type {any} */ one) => {
    if (await confirm({ title: 'Take this back?', text: 'The question is read by the planner again.', action: 'Take back', danger: true }) === null) return;
    try { await remove(`/verified/${part(one.id)}`); say('Taken back'); pages.reload(); } catch (error) { sayProblem(error); }
  };
  const vouch = async (/** @type {any} */ one) => {
    try {
      await post('/verified', { task_id: one.task_id, ...(one.corrected_sql ? { sql: one.corrected_sql } : {}) });
      say('Verified'); pages.reload(); opinions.reload();
    } catch (error) { sayProblem(error); }
  };
  const dismiss = async (/** @type {any} */ one) => {
    try { await post(`/feedback/${part(one.id)}/dismiss`); opinions.reload(); } catch (error) { sayProblem(error); }
  };
  return html`<${Head} title="Verified answers" text="Questions whose statement a person vouches for. They answer their paraphrases with other values.">
      ${may('verify') && html`<button class="button" type="button" disabled=${busy} onClick=${check}><${Icon} name="tick" size=${16} />Check all</button>`}</${Head}>
    <${Read} read=${pages} lines=${4} kind="rows">${() => pages.items.length ? html`<ul class="rows">
      ${pages.items.map((one) => html`<li key=${one.id} class="row still"><span class="row-main"><span class="row-title">${one.question}</span>
      <span class="small muted">by ${one.user_id}, <${Time} at=${one.updated_at} relative />${one.note ? ` – ${one.note}` : ''}</span>
      ${checks[one.id] && html`<span class="small">${told(checks[one.id])}</span>`}</span>
      ${may('verify') && one.user_id === me.value?.user && html`<button class="icon-button" type="button" aria-label=${`Take back ${one.question}`} onClick=${() => drop(one)}>
        <${Icon} name="trash" size=${16} /></button>`}</li>`)}</ul><${More} pages=${pages} />`
      : html`<${Empty} icon="tick" title="Nothing is verified yet"><p>Verify an answer below it, or with <code>steward verify add</code>.</p></${Empty}>`}</${Read}>
    <section><h2>Feedback</h2><${Read} read=${opinions} lines=${3} kind="rows">${() => opinions.items.length ? html`<ul class="rows">
      ${opinions.items.map((one) => html`<li key=${one.id} class="row still"><span class="row-main"><span class="row-title">${one.question}</span>
      <span class="small muted">${one.rating === 'up' ? 'Right' : 'Wrong'}${one.comment ? `: ${one.comment}` : ''} – ${one.user_id}, <${Time} at=${one.updated_at} relative /></span></span>
      ${may('verify') && html`<span class="row-side">
        ${one.user_id === me.value?.user && (one.rating === 'up' || one.corrected_sql) && html`<button class="button" type="button" onClick=${() => vouch(one)}>Verify</button>`}
        <button class="button" type="button" onClick=${() => dismiss(one)}>Dismiss</button></span>`}</li>`)}</ul>`
      : html`<p class="muted">No open feedback.</p>`}</${Read}></section>`;
}
