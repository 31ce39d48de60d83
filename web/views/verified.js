// Verified answers, what people said of answers, and the schedules with their alerts.
import { html, useState } from '../html.js';
import { part, post, remove } from '../api.js';
import { may, me } from '../store.js';
import { Icon } from '../parts/icons.js';
import { Empty, More, Read, usePages, useRead } from '../parts/states.js';
import { Head, Time } from '../parts/bits.js';
import { confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';

/** @param {{ status: string, changes?: string[], reason?: string }} outcome */
const told = outcome =>
  outcome.status === 'same'
    ? 'Same rows'
    : outcome.status === 'moved'
      ? `Moved: ${(outcome.changes ?? []).join('; ')}`
      : `Broken: ${outcome.reason}`;

/** What would help, in words. @type {Record<string, (group: any) => string>} */
const FIXES = {
  verify: () => 'Verify the SQL that was given with the feedback.',
  paraphrase: group => `Make it a paraphrase of “${group.question}”.`,
  synonym: group => `It may mean the metric ${group.metric}: add its words to the synonyms in semantics/.`,
  answer: () => 'Verify an answer to it, or define a metric.',
};

/** How many questions are like it, and what was said of the first. @param {any} group */
const alike = ({ questions }) =>
  (questions.length > 1 ? `${questions.length} questions like this. ` : '') +
  (questions[0].said ?? questions[0].comment ?? '');

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
    } catch (error) {
      sayProblem(error);
    }
    setBusy(false);
  };
  const drop = async (/** @type {any} */ one) => {
    if (
      (await confirm({
        title: 'Take this back?',
        text: 'The question is read by the planner again.',
        action: 'Take back',
        danger: true,
      })) === null
    )
      return;
    try {
      await remove(`/verified/${part(one.id)}`);
      say('Taken back');
      pages.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  const vouch = async (/** @type {any} */ one) => {
    try {
      await post('/verified', {
        task_id: one.task_id,
        ...(one.corrected_sql ? { sql: one.corrected_sql } : {}),
      });
      say('Verified');
      pages.reload();
      opinions.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  const dismiss = async (/** @type {any} */ one) => {
    try {
      await post(`/feedback/${part(one.id)}/dismiss`);
      opinions.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  const gaps = useRead(may('verify') ? '/feedback/gaps' : null);
  const accept = async (/** @type {any} */ group) => {
    try {
      if (group.fix === 'verify') await post('/verified', { task_id: group.task_id, sql: group.sql });
      else
        await post(`/verified/${part(group.verified_id)}/paraphrases`, {
          question: group.questions[0].question,
        });
      say('Accepted');
      gaps.reload();
      pages.reload();
      opinions.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<${Head} title="Verified answers"
    text="Questions whose statement a person vouches for. They answer their paraphrases with other values.">
      ${
        may('verify') &&
        html`<button class="button" type="button" disabled=${busy} onClick=${check}>
          <${Icon} name="tick" size=${16} />Check all
        </button>`
      }</${Head}>
    <${Read} read=${pages} lines=${4} kind="rows">${() =>
      pages.items.length
        ? html`<ul class="rows">
              ${pages.items.map(
                one =>
                  html`<li key=${one.id} class="row still">
                    <span class="row-main"
                      ><span class="row-title">${one.question}</span>
                      <span class="small muted"
                        >by ${one.user_id},
                        <${Time} at=${one.updated_at} relative />${one.note ? ` – ${one.note}` : ''}</span
                      >
                      ${checks[one.id] && html`<span class="small">${told(checks[one.id])}</span>`}</span
                    >
                    ${
                      may('verify') &&
                      one.user_id === me.value?.user &&
                      html`<button
                        class="icon-button"
                        type="button"
                        aria-label=${`Take back ${one.question}`}
                        onClick=${() => drop(one)}
                      >
                        <${Icon} name="trash" size=${16} />
                      </button>`
                    }
                  </li>`,
              )}
            </ul>
            <${More} pages=${pages} />`
        : html`<${Empty} icon="tick" title="Nothing is verified yet"><p>Rate an answer as
          right, then verify it here.</p></${Empty}>`}</${Read}>
    <section class="block"><h2>Feedback</h2><${Read} read=${opinions} lines=${3} kind="rows">${() =>
      opinions.items.length
        ? html`<ul class="rows">
            ${opinions.items.map(
              one =>
                html`<li key=${one.id} class="row still">
                  <span class="row-main"
                    ><span class="row-title">${one.question}</span>
                    <span class="small muted"
                      >${one.rating === 'up' ? 'Right' : 'Wrong'}${one.comment ? `: ${one.comment}` : ''} –
                      ${one.user_id}, <${Time} at=${one.updated_at} relative /></span
                  ></span>
                  ${
                    may('verify') &&
                    html`<span class="row-side">
                      ${
                        one.user_id === me.value?.user &&
                        (one.rating === 'up' || one.corrected_sql) &&
                        html`<button class="button" type="button" onClick=${() => vouch(one)}>Verify</button>`
                      }
                      <button class="button" type="button" onClick=${() => dismiss(one)}>
                        Dismiss
                      </button></span
                    >`
                  }
                </li>`,
            )}
          </ul>`
        : html`<p class="muted">No open feedback.</p>`}</${Read}></section>
    ${
      may('verify') &&
      html`<section class="block"><h2>Not answered, or badly</h2><${Read} read=${gaps} lines=${3} kind="rows">${(
        /** @type {any} */ found,
      ) =>
        found.groups.length
          ? html`<ul class="rows">
              ${found.groups.map(
                (/** @type {any} */ group, /** @type {number} */ at) =>
                  html`<li key=${at} class="row still">
                    <span class="row-main"
                      ><span class="row-title">${group.questions[0].question}</span>
                      <span class="small muted">${alike(group)}</span>
                      <span class="small">${FIXES[group.fix](group)}</span></span
                    >
                    ${
                      group.fix === 'verify' || group.fix === 'paraphrase'
                        ? html`<span class="row-side"
                            ><button class="button" type="button" onClick=${() => accept(group)}>
                              Accept
                            </button></span
                          >`
                        : null
                    }
                  </li>`,
              )}
            </ul>`
          : html`<p class="muted">Every question was answered.</p>`}</${Read}></section>`
    }`;
}
