// What a task did over time: one line a step, with a bar from when it began for as long as it took.
import { html, useState, classes } from '../html.js';
import * as format from '../format.js';

/**
 * @typedef {{ step?: number, node?: string | null, name: string, tool?: string | null, by: string,
 *   at: string,
 *   duration_ms: number, status: string, message: string }} TimelineRow
 */

/**
 * Entries of a journal as rows. @param {TraceStep[]} steps @returns {TimelineRow[]}
 */
export const rowsOfTrace = steps =>
  steps.map(step => ({
    name: format.words(step.step_name),
    tool: /** @type {any} */ (step).tool_calls?.[0]?.tool,
    by: step.agent,
    at: step.timestamp,
    duration_ms: step.duration_ms,
    status: step.status,
    message: step.message,
  }));

/** @type {Record<string, string>} */
const KINDS = {
  started: 'Start',
  tool: 'Tool',
  model: 'Model',
  human: 'Decision',
  paused: 'Waits for a person',
  timer: 'Timer',
  sub_agent: 'Agent',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  recovered: 'Taken over',
};
/**
 * Events of a run as rows: the node first, then what it did. @param {any[]} steps
 * @returns {TimelineRow[]}
 */
export const rowsOfRun = steps =>
  steps.map(step => {
    const kind = KINDS[step.kind] ?? format.words(step.kind);
    const who = step.node ?? (step.agent === 'engine' ? '' : step.agent);
    return {
      step: step.step,
      node: step.node,
      name: who ? format.words(who) : kind,
      tool: step.tool,
      by: who && !step.tool ? kind : '',
      at: new Date(new Date(step.at).getTime() - (step.duration_ms || 0)).toISOString(),
      duration_ms: step.duration_ms,
      status: step.status,
      message: step.message,
    };
  });

/**
 * @param {{ rows: TimelineRow[], selected?: number | null, onSelect?: (row: TimelineRow) => void }}
 *   props
 *   `selected` is the step that the rest of the view shows
 */
export function Waterfall({ rows, selected = null, onSelect }) {
  const [open, setOpen] = useState(-1);
  if (!rows.length) return html`<p class="muted">No steps recorded yet.</p>`;
  const starts = rows.map(row => new Date(row.at).getTime());
  const from = Math.min(...starts);
  const to = Math.max(...rows.map((row, at) => starts[at] + (row.duration_ms || 0)), from + 1);
  const share = (/** @type {number} */ part) => `${(part / (to - from)) * 100}%`;
  return html`<div class="waterfall">
    <div class="waterfall-scale small muted" aria-hidden="true">
      <span>${format.timeOfDay(new Date(from).toISOString())}</span>
      <span>${format.duration((to - from) / 2)}</span><span>${format.duration(to - from)}</span>
    </div>
    <ol>
      ${rows.map((row, at) => {
        const width = Math.max(0.4, ((row.duration_ms || 0) / (to - from)) * 100);
        const current = selected !== null && row.step === selected;
        const later = selected !== null && (row.step ?? 0) > selected;
        return html`<li
          key=${at}
          class=${classes('fall', row.status, current && 'current', later && 'later')}
        >
          <button
            type="button"
            aria-expanded=${open === at}
            aria-current=${current ? 'step' : null}
            onClick=${() => {
              setOpen(open === at ? -1 : at);
              if (row.step !== undefined) onSelect?.(row);
            }}
          >
            <span class="fall-name"
              >${
                row.status === 'error' ? html`<span class="hidden">Error: </span>` : null
              }<bdi>${row.name}</bdi>${row.tool ? html` <code class="fall-tool">${row.tool}</code>` : null}<span
                class="muted small"
              >
                ${row.by}</span
              ></span
            >
            <span class="fall-track" aria-hidden="true">
              <span class="fall-bar" style=${{ left: share(starts[at] - from), width: `${width}%` }}></span
            ></span>
            <span class="fall-time small">${row.duration_ms ? format.duration(row.duration_ms) : ''}</span>
          </button>
          ${
            open === at &&
            html`<div class="fall-more">
              <p class="small muted">${format.exactTime(row.at)}</p>
              <p class="fall-message" dir="auto">${row.message || 'No details.'}</p>
            </div>`
          }
        </li>`;
      })}
    </ol>
  </div>`;
}
