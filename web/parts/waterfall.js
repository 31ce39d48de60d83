// What a task did over time: one line a step, with a bar from when it began for as long as it took.
import { html, useState, classes } from '../html.js';
import * as format from '../format.js';

/** What a step is called; steps of a run say which in their message. @param {TraceStep} step */
const nameOf = step =>
  format.words(
    (step.step_name === 'step_recorded' && /(?:^|, )step: (\w+)/.exec(step.message ?? '')?.[1]) ||
      step.step_name,
  );

/** @param {{ steps: TraceStep[] }} props */
export function Waterfall({ steps }) {
  const [open, setOpen] = useState(-1);
  if (!steps.length) return html`<p class="muted">No steps recorded yet.</p>`;
  const starts = steps.map(step => new Date(step.timestamp).getTime());
  const from = Math.min(...starts);
  const to = Math.max(...steps.map((step, at) => starts[at] + (step.duration_ms || 0)), from + 1);
  return html`<div class="waterfall">
    <div class="waterfall-scale small muted" aria-hidden="true">
      <span>${format.timeOfDay(steps[0].timestamp)}</span> <span>${format.duration((to - from) / 2)}</span
      ><span>${format.duration(to - from)}</span>
    </div>
    <ol>
      ${steps.map(
        (step, at) =>
          html`<li key=${at} class=${classes('fall', step.status)}>
            <button
              type="button"
              aria-expanded=${open === at}
              onClick=${() => setOpen(open === at ? -1 : at)}
            >
              <span class="fall-name"
                >${step.status === 'error' ? html`<span class="hidden">Error: </span>` : null}${nameOf(step)}<span
                  class="muted small"
                >
                  ${step.agent}</span
                ></span
              >
              <span class="fall-track" aria-hidden="true">
                <span
                  class="fall-bar"
                  style=${{ left: `${((starts[at] - from) / (to - from)) * 100}%`, width: `${Math.max(0.4, ((step.duration_ms || 0) / (to - from)) * 100)}%` }}
                ></span
              ></span>
              <span class="fall-time small"
                >${step.duration_ms ? format.duration(step.duration_ms) : ''}</span
              >
            </button>
            ${
              open === at &&
              html`<div class="fall-more">
                <p class="small muted">${format.exactTime(step.timestamp)}</p>
                <p class="fall-message">${step.message || 'No details.'}</p>
              </div>`
            }
          </li>`,
      )}
    </ol>
  </div>`;
}
