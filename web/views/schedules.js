// Schedules: questions and workflows that run by the clock, and the alerts on their answers.
import { html } from '../html.js';
import { part, post, remove } from '../api.js';
import * as format from '../format.js';
import { Icon } from '../parts/icons.js';
import { Empty, More, Read, usePages } from '../parts/states.js';
import { Head, Time } from '../parts/bits.js';
import { confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';

/** @type {Record<string, string>} */
const STATES = { clear: 'Clear', standing: 'Standing', acknowledged: 'Acknowledged' };

/** @param {unknown} value the last value of an alert: a number, a text, or nothing yet */
const valueOf = value =>
  (value ?? null) === null ? '' : `, last value ${typeof value === 'number' ? format.number(value) : value}`;

export default function Schedules() {
  const pages = usePages('/schedules?limit=50');
  const alerts = usePages('/alerts?limit=50');
  const turn = async (/** @type {any} */ one) => {
    const word = one.status === 'active' ? 'pause' : 'resume';
    try {
      await post(`/schedules/${part(one.id)}/${word}`);
      say(word === 'pause' ? 'Paused' : 'Resumed');
      pages.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  const drop = async (/** @type {any} */ one) => {
    if (
      (await confirm({
        title: 'Remove this schedule?',
        text: 'Its alerts go with it. Its tasks stay.',
        action: 'Remove',
        danger: true,
      })) === null
    )
      return;
    try {
      await remove(`/schedules/${part(one.id)}`);
      say('Removed');
      pages.reload();
      alerts.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  const acknowledge = async (/** @type {any} */ one) => {
    try {
      await post(`/alerts/${part(one.id)}/acknowledge`);
      alerts.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<${Head} title="Schedules" text="Questions and workflows that run by the clock." />
    <${Read} read=${pages} lines=${4} kind="rows">${() =>
      pages.items.length
        ? html`<ul class="rows">
              ${pages.items.map(
                one =>
                  html`<li key=${one.id} class="row still">
                    <span class="row-main"
                      ><span class="row-title">${one.name}</span>
                      <span class="small muted"
                        >${one.cadence}
                        (${one.zone})${
                          one.next_at ? html`, next <${Time} at=${one.next_at} relative />` : ', paused'
                        }</span
                      ></span
                    >
                    <span class="row-side"
                      >${one.last_task && html`<a class="small" href=${`#/tasks/${one.last_task}`}>Last run</a>`}
                      <button class="button" type="button" onClick=${() => turn(one)}>
                        ${one.status === 'active' ? 'Pause' : 'Resume'}
                      </button></span
                    >
                    <button
                      class="icon-button"
                      type="button"
                      aria-label=${`Remove the schedule ${one.name}`}
                      onClick=${() => drop(one)}
                    >
                      <${Icon} name="trash" size=${16} />
                    </button>
                  </li>`,
              )}
            </ul>
            <${More} pages=${pages} />`
        : html`<${Empty} icon="tasks" title="No schedules yet"><p>The
          operator of this server sets up schedules. They then appear here.</p></${Empty}>`}</${Read}>
    <section class="block"><h2>Alerts</h2><${Read} read=${alerts} lines=${3} kind="rows">${() =>
      alerts.items.length
        ? html`<ul class="rows">
            ${alerts.items.map(
              one =>
                html`<li key=${one.id} class="row still">
                  <span class="row-main"
                    ><span class="row-title">${one.name}</span>
                    <span class="small muted"
                      >${STATES[one.status] ?? one.status}${
                        one.since ? html` since <${Time} at=${one.since} relative />` : ''
                      }${valueOf(one.last_value)}</span
                    ></span
                  >
                  ${
                    one.status === 'standing' &&
                    html`<span class="row-side"
                      ><button class="button" type="button" onClick=${() => acknowledge(one)}>
                        Acknowledge
                      </button></span
                    >`
                  }
                </li>`,
            )}
          </ul>`
        : html`<p class="muted">No alerts yet.</p>`}</${Read}></section>`;
}
