// One task: what came of it, its steps over time, its graph while it runs, its state after any step, and what can be done with it.
import { html, useEffect, useState } from '../html.js';
import { asProblem, get, part, post, url } from '../api.js';
import { follow } from '../stream.js';
import { go } from '../router.js';
import { Icon } from '../parts/icons.js';
import { Read, Skeleton, Trouble, useRead } from '../parts/states.js';
import { Copy, Head, Json, Status, Time } from '../parts/bits.js';
import { GraphView } from '../parts/graph.js';
import { Waterfall } from '../parts/waterfall.js';
import { Prose } from '../parts/prose.js';
import { fileName } from '../parts/reply.js';
import { confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';
import * as format from '../format.js';

const OVER = ['completed', 'failed', 'cancelled'];

/** @param {{ id: string }} props */
export function TaskDetail({ id }) {
  const read = useRead(`/tasks/${part(id)}`);
  const [changed, setChanged] = useState(0);
  const [live, setLive] = useState(/** @type {Task | null} */ (null));
  const trace = useRead(`/tasks/${part(id)}/trace`, { on: changed });
  const value =
    /** @type {{ task: Task, artifacts: Artifact[], checkpoints: number, is_run: boolean } | null} */ (
      read.value
    );
  const task = live ?? value?.task ?? null;
  const graph = useRead(value?.is_run ? `/tasks/${part(id)}/graph` : null, { on: changed });
  const over = task ? OVER.includes(task.status) : true;
  useEffect(() => {
    if (!value || OVER.includes(value.task.status)) return;
    // Entries come quickly; what they changed is read at most a few times a second.
    let timer = 0;
    const soon = () => {
      if (!timer)
        timer = setTimeout(() => {
          timer = 0;
          setChanged(n => n + 1);
        }, 250);
    };
    const stop = follow(`/tasks/${part(id)}/events`, {
      entry: soon,
      task: now => {
        setLive(now);
        soon();
      },
      done: () => {
        setChanged(n => n + 1);
        read.reload();
      },
      lost: soon,
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [!!value, value?.task.status]);
  useEffect(() => {
    if (task) document.title = `${task.description} – Steward`;
  }, [task?.description]);
  const act = async (/** @type {string} */ path, /** @type {any} */ body, /** @type {string} */ done) => {
    try {
      const answer = await post(`/tasks/${part(id)}/${path}`, body);
      say(done);
      if (answer?.task_id && answer.task_id !== id) go(`/tasks/${answer.task_id}`);
      else {
        setLive(null);
        read.reload();
        setChanged(n => n + 1);
      }
    } catch (error) {
      sayProblem(error);
    }
  };
  const back = { to: '/tasks', label: 'Tasks' };
  if (!task || !value)
    return html`<${Head} title="Task" back=${back} />
      ${read.problem ? html`<${Trouble} problem=${read.problem} retry=${read.reload} />` : html`<${Skeleton} lines=${6} />`}`;
  return html`<${Head} title=${task.description || 'Task'} back=${back}>
      ${
        !over &&
        html`<button
          class="button"
          type="button"
          onClick=${async () => {
            if (
              (await confirm({
                title: 'Cancel this task?',
                text: 'Completed steps are not undone. No further steps run.',
                action: 'Cancel the task',
                danger: true,
              })) !== null
            )
              await act('cancel', {}, 'Cancelled');
          }}
        >
          Cancel
        </button>`
      }
      ${
        value.is_run &&
        (task.status === 'paused' || task.status === 'failed') &&
        html`<button class="button primary" type="button" onClick=${() => act('resume', {}, 'Resumed')}>
          <${Icon} name="play" size=${15} />Resume
        </button>`
      }
      <a class="button" href=${`#/audit/${id}`}><${Icon} name="audit" size=${16} />Audit</a></${Head}>
    <dl class="facts"><div><dt>Status</dt><dd aria-live="polite"><${Status} status=${task.status} /></dd></div><div><dt>Agent</dt><dd>
      ${task.assigned_agent ?? '–'}</dd></div><div><dt>User</dt><dd>${task.user_id}</dd></div>
      <div><dt>Created</dt><dd><${Time} at=${task.created_at} /></dd></div><div><dt>Duration</dt><dd>
        ${task.started_at ? format.duration(new Date(task.completed_at ?? Date.now()).getTime() - new Date(task.started_at).getTime()) : '–'}</dd></div>
      ${
        task.parent_task_id &&
        html`<div>
          <dt>Parent</dt>
          <dd><a href=${`#/tasks/${task.parent_task_id}`}>parent task</a></dd>
        </div>`
      }</dl>
    ${
      task.status === 'paused' &&
      html`<p class="note warn">
        <${Icon} name="approvals" size=${16} />
        <span>The task waits for a decision. <a href="#/approvals">Decide in Approvals</a></span>
      </p>`
    }
    ${
      task.error &&
      html`<div class="trouble" role="alert">
        <${Icon} name="warn" />
        <div class="trouble-text">
          <p class="trouble-title">The task failed</p>
          <p class="pre">
            ${typeof task.error === 'string' ? task.error : (task.error.message ?? JSON.stringify(task.error))}
          </p>
        </div>
      </div>`
    }
    ${
      task.result !== null && task.result !== undefined && task.result !== ''
        ? html`<section class="block">
            <h2>Result</h2>
            <div class="card padded">
              <${Result} value=${task.result} />
            </div>
          </section>`
        : null
    }
    ${
      value.is_run &&
      html`<section class="block"><h2>Workflow</h2><div class="card"><${Read} read=${graph} lines=${2}>
      ${(/** @type {Graph} */ drawn) => html`<${GraphView} graph=${drawn} label="The workflow and its progress" />`}</${Read}></div></section>`
    }
    <section class="block"><h2>Timeline</h2><${Read} read=${trace} lines=${5}>
      ${(/** @type {any} */ found) => html`<${Waterfall} steps=${found.steps ?? []} />`}</${Read}></section>
    ${value.is_run && html`<${States} id=${id} changed=${changed} onFork=${(/** @type {number} */ steps) => act('fork', { steps }, 'Forked')} />`}
    ${
      (value.artifacts ?? []).length > 0 &&
      html`<section class="block">
        <h2>Files</h2>
        <ul class="files">
          ${value.artifacts.map(
            one =>
              html`<li key=${one.artifact_id}>
                <a href=${url(`/artifacts/${id}/${one.artifact_id}`)} download=${fileName(one)}>
                  <${Icon} name="file" size=${15} />${fileName(one)}</a
                >
                <span class="muted small"> ${one.artifact_type} · ${format.bytes(one.size_bytes)}</span>
              </li>`,
          )}
        </ul>
      </section>`
    }
    <p class="small muted task-id">Task <code>${id}</code> <${Copy} text=${id} label="Copy" /></p>`;
}

/** @param {{ value: any }} props */
function Result({ value }) {
  if (typeof value !== 'string') return html`<${Json} value=${value} />`;
  try {
    if (/^\s*[[{]/.test(value)) return html`<${Json} value=${JSON.parse(value)} />`;
  } catch {
    /* it is text */
  }
  return html`<${Prose} text=${value} />`;
}

/** The state after any event, with a slider. @param {{ id: string, changed: number, onFork: (steps: number) => void }} props */
function States({ id, changed, onFork }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const [steps, setSteps] = useState(0);
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  useEffect(() => {
    let over = false;
    const path = (/** @type {number} */ n) => `/tasks/${part(id)}/states/${n}`;
    (async () => {
      try {
        let found = await get(path(at ?? 0));
        if (at === null && found.steps > 0) found = await get(path(found.steps));
        if (over) return;
        setShown(found);
        setSteps(found.steps);
        setProblem(null);
      } catch (error) {
        if (!over) setProblem(asProblem(error));
      }
    })();
    return () => {
      over = true;
    };
  }, [id, at, changed]);
  if (problem)
    return html`<section class="block">
      <h2>State</h2>
      <${Trouble} problem=${problem} />
    </section>`;
  if (!shown)
    return html`<section class="block">
      <h2>State</h2>
      <${Skeleton} lines=${3} />
    </section>`;
  const place = at ?? steps;
  return html`<section class="block">
    <h2>State</h2>
    <div class="card padded">
      <div class="slider">
        <label for="state-at"
          >After event <strong> ${format.number(place)}</strong> of ${format.number(steps)}</label
        >
        <input
          id="state-at"
          type="range"
          min="0"
          max=${steps}
          value=${place}
          onInput=${(/** @type {any} */ event) => setAt(Number(event.target.value))}
        />
        <button
          class="button small"
          type="button"
          onClick=${async () => {
            if (
              (await confirm({
                title: 'Fork from here?',
                text: `A new run starts with the first ${format.count(place, 'event')} of this one. This run does not change.`,
                action: 'Fork',
              })) !== null
            )
              onFork(place);
          }}
        >
          <${Icon} name="fork" size=${15} />Fork from here
        </button>
      </div>
      ${
        shown.event &&
        html`<details class="fold" open>
          <summary>
            Event:
            ${format.words(String(shown.event.type ?? shown.event.kind ?? Object.keys(shown.event)[0] ?? 'event'))}
          </summary>
          <${Json} value=${shown.event} />
        </details>`
      }
      <details class="fold" open>
        <summary>State after the event</summary>
        <${Json} value=${shown.state} />
      </details>
      ${
        shown.positions &&
        html`<details class="fold">
          <summary>Active nodes</summary>
          <${Json} value=${shown.positions} />
        </details>`
      }
    </div>
  </section>`;
}
