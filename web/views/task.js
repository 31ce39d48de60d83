// One task: what came of it, its graph, its steps over time and its state after any of them, which
// move together, and what can be done with it.
import { html, useEffect, useMemo, useState } from '../html.js';
import { asProblem, get, part, post, url } from '../api.js';
import { follow } from '../stream.js';
import { go } from '../router.js';
import { Icon } from '../parts/icons.js';
import { Read, Skeleton, Trouble, useRead } from '../parts/states.js';
import { Copy, Head, Json, Status, Time } from '../parts/bits.js';
import { GraphView } from '../parts/graph.js';
import { Waterfall, rowsOfRun, rowsOfTrace } from '../parts/waterfall.js';
import { Prose } from '../parts/prose.js';
import { fileName } from '../parts/reply.js';
import { Dialog, confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';
import * as format from '../format.js';

const OVER = ['completed', 'failed', 'cancelled', 'rejected'];
/** A running task that wrote nothing for so long may have lost its worker. */
const STALLED = 60_000;

/** @param {Task} task */
export const durationOf = task =>
  task.started_at
    ? format.duration(
        new Date(task.completed_at ?? Date.now()).getTime() - new Date(task.started_at).getTime(),
      )
    : '–';

/**
 * The graph as it was after a step: a node is done once it has a step, failed or waiting by its
 * last one.
 * @param {Graph} graph @param {any[]} steps @param {number | null} at
 * @returns {Graph}
 */
export function graphAt(graph, steps, at) {
  if (at === null) return graph;
  const nodes = graph.nodes.map(node => {
    const own = steps.filter(step => step.node === node.name && step.step <= at);
    const last = own.at(-1);
    const status = !last
      ? 'idle'
      : last.kind === 'paused'
        ? 'waiting'
        : last.status === 'error'
          ? 'failed'
          : 'done';
    return { ...node, status };
  });
  return { ...graph, nodes };
}

/** @param {{ id: string }} props */
export function TaskDetail({ id }) {
  const read = useRead(`/tasks/${part(id)}`);
  const [changed, setChanged] = useState(0);
  const [live, setLive] = useState(/** @type {Task | null} */ (null));
  const [again, setAgain] = useState(false);
  const value = /** @type {any} */ (read.value);
  const trace = useRead(value && !value.is_run ? `/tasks/${part(id)}/trace` : null, { on: changed });
  const steps = useRead(value?.is_run ? `/tasks/${part(id)}/steps` : null, { on: changed });
  const graph = useRead(value?.is_run ? `/tasks/${part(id)}/graph` : null, { on: changed });
  const task = /** @type {Task | null} */ (live ?? value?.task ?? null);
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
  const cancel = async () => {
    const sure = await confirm({
      title: 'Cancel this task?',
      text: 'Completed steps are not undone. No further steps run.',
      action: 'Cancel the task',
      danger: true,
    });
    if (sure !== null) await act('cancel', {}, 'Cancelled');
  };
  const back = { to: '/tasks', label: 'Tasks' };
  if (!task || !value)
    return html`<${Head} title="Task" back=${back} /> ${
        read.problem
          ? html`<${Trouble} problem=${read.problem} retry=${read.reload} />`
          : html`<${Skeleton} lines=${6} />`
      }`;
  const found = /** @type {any[]} */ (/** @type {any} */ (steps.value)?.steps ?? []);
  const lastAt = new Date(found.at(-1)?.at ?? Date.now()).getTime();
  const stalled = value.is_run && task.status === 'running' && Date.now() - lastAt > STALLED;
  const status = value.is_rejected && over ? 'rejected' : task.status;
  return html`<${Head} title=${html`<bdi>${task.description || 'Task'}</bdi>`} back=${back}>
      ${!over && html`<button class="button" type="button" onClick=${cancel}>Cancel</button>`}
      ${
        stalled &&
        html`<button class="button primary" type="button" onClick=${() => act('resume', {}, 'Resumed')}>
          <${Icon} name="play" size=${15} />Resume
        </button>`
      }
      ${
        value.is_run &&
        value.input !== null &&
        html`<button class="button" type="button" onClick=${() => setAgain(true)}>
          <${Icon} name="refresh" size=${15} />Run again…
        </button>`
      }
      <a class="button" href=${`#/audit/${id}`}><${Icon} name="audit" size=${16} />Audit</a></${Head}>
    <${Facts} task=${task} status=${status} origin=${value.forked_from} />
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
          <p class="trouble-title">${value.is_rejected ? 'Not approved' : 'The task failed'}</p>
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
            <div class="card padded"><${Result} value=${task.result} /></div>
          </section>`
        : null
    }
    ${
      value.is_run
        ? html`<${RunView}
            id=${id}
            graph=${graph}
            steps=${found}
            changed=${changed}
            onFork=${(/** @type {number} */ at) => act('fork', { steps: at }, 'Forked')}
          />`
        : html`<section class="block"><h2>Timeline</h2>
            <${Read} read=${trace} lines=${5}>${(/** @type {any} */ log) =>
              html`<${Waterfall} rows=${rowsOfTrace(log.steps ?? [])} />`}</${Read}></section>`
    }
    ${
      (value.artifacts ?? []).length > 0 &&
      html`<section class="block">
        <h2>Files</h2>
        <ul class="files">
          ${value.artifacts.map(
            (/** @type {any} */ one) =>
              html`<li key=${one.artifact_id}>
                <a href=${url(`/artifacts/${id}/${one.artifact_id}`)} download=${one.name ?? fileName(one)}>
                  <${Icon} name="file" size=${15} />${one.name ?? fileName(one)}</a
                >
                <span class="muted small"> ${one.artifact_type} · ${format.bytes(one.size_bytes)}</span>
              </li>`,
          )}
        </ul>
      </section>`
    }
    <p class="small muted task-id">Task <code>${id}</code> <${Copy} text=${id} label="Copy" /></p>
    ${
      again &&
      html`<${RunAgain}
        input=${value.input}
        onClose=${() => setAgain(false)}
        onRun=${(/** @type {any} */ input) => {
          setAgain(false);
          void act('fork', { input }, 'Started');
        }}
      />`
    }`;
}

/** @param {{ task: Task, status: string, origin: any }} props */
const Facts = ({ task, status, origin }) =>
  html`<dl class="facts">
    <div>
      <dt>Status</dt>
      <dd aria-live="polite"><${Status} status=${status} /></dd>
    </div>
    <div>
      <dt>Agent</dt>
      <dd>${task.assigned_agent ?? '–'}</dd>
    </div>
    <div>
      <dt>User</dt>
      <dd>${task.user_id}</dd>
    </div>
    <div>
      <dt>Created</dt>
      <dd><${Time} at=${task.created_at} /></dd>
    </div>
    <div>
      <dt>Duration</dt>
      <dd>${durationOf(task)}</dd>
    </div>
    ${
      task.parent_task_id &&
      html`<div>
        <dt>Part of</dt>
        <dd><a href=${`#/tasks/${task.parent_task_id}`}>another task</a></dd>
      </div>`
    }
    ${
      origin &&
      html`<div>
        <dt>Forked from</dt>
        <dd>
          <a href=${`#/tasks/${origin.task_id}`}>another run</a>, event ${format.number(origin.steps ?? 1)}
        </dd>
      </div>`
    }
  </dl>`;

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

/**
 * The same workflow with another input. @param {{ input: any, onClose: () => void,
 *   onRun: (input: any) => void }} props
 */
function RunAgain({ input, onClose, onRun }) {
  const [text, setText] = useState(typeof input === 'string' ? input : JSON.stringify(input, null, 2));
  const [wrong, setWrong] = useState('');
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (typeof input === 'string' && !/^\s*[[{]/.test(text)) return onRun(text);
    try {
      onRun(JSON.parse(text));
    } catch {
      setWrong('This is not valid JSON.');
    }
  };
  return html`<${Dialog} title="Run again" onClose=${onClose}><form onSubmit=${submit}>
    <p class="muted">A new run starts at the beginning with this input. This run does not change.</p>
    <label class="field"><span>Input</span>
      <textarea class="mono" rows="8" value=${text} aria-invalid=${wrong ? 'true' : null}
        onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea></label>
    ${wrong && html`<p class="small bad-text" role="alert">${wrong}</p>`}
    <div class="actions end"><button class="button" type="button" onClick=${onClose}>Cancel</button>
      <button class="button primary" type="submit">Start</button></div></form></${Dialog}>`;
}

/**
 * The graph, the timeline and the state of a run. Choosing a node, a row or a place on the slider
 * moves all three.
 * @param {{ id: string, graph: any, steps: any[], changed: number, onFork: (at: number) => void }}
 *   props
 */
function RunView({ id, graph, steps, changed, onFork }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const rows = useMemo(() => rowsOfRun(steps), [steps]);
  const [node, setNode] = useState(/** @type {string | null} */ (null));
  const nodeAt = (/** @type {number} */ place) =>
    steps.findLast(step => step.step <= place && step.node)?.node ?? null;
  const select = (/** @type {number | null} */ place, /** @type {string | null} */ name = null) => {
    setAt(place);
    setNode(place === null ? null : (name ?? nodeAt(place)));
  };
  const choose = (/** @type {string} */ name) => {
    const own = steps.filter(step => step.node === name);
    if (!own.length) return say(`${name} has not run.`);
    // Again on the same node: the one before, so that a loop can be walked through.
    const before = own.findLast(step => at !== null && step.step < at && node === name);
    select((before ?? own[own.length - 1]).step, name);
  };
  return html`<section class="block"><h2>Workflow</h2><div class="card"><${Read} read=${graph} lines=${2}>
      ${(/** @type {Graph} */ drawn) =>
        html`<${GraphView}
          graph=${graphAt(drawn, steps, at)}
          label="The workflow and its progress"
          selected=${node}
          onSelect=${choose}
        />`}</${Read}></div></section>
    <section class="block"><h2>Timeline</h2>
      <${Waterfall}
        rows=${rows}
        selected=${at}
        onSelect=${(/** @type {any} */ row) => select(row.step, row.node)}
      /></section>
    <${States} id=${id} at=${at} setAt=${select} changed=${changed} onFork=${onFork} />`;
}

/**
 * The state after any event, with a slider.
 * @param {{ id: string, at: number | null, setAt: (at: number | null) => void, changed: number,
 *   onFork: (steps: number) => void }} props
 */
function States({ id, at, setAt, changed, onFork }) {
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
  if (problem || !shown)
    return html`<section class="block">
      <h2>State</h2>
      ${problem ? html`<${Trouble} problem=${problem} />` : html`<${Skeleton} lines=${3} />`}
    </section>`;
  const place = at ?? steps;
  const fork = async () => {
    const sure = await confirm({
      title: 'Fork from here?',
      text:
        `A new run starts with the first ${format.count(place, 'event')} of this one. ` +
        'This run does not change.',
      action: 'Fork',
    });
    if (sure !== null) onFork(place);
  };
  const event = shown.event && String(shown.event.type ?? shown.event.kind ?? 'event');
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
          onInput=${(/** @type {any} */ moved) => setAt(Number(moved.target.value))}
        />
        ${
          at !== null &&
          html`<button class="quiet-button" type="button" onClick=${() => setAt(null)}>
            Show the latest
          </button>`
        }
        <button class="button small" type="button" disabled=${place < 1} onClick=${fork}>
          <${Icon} name="fork" size=${15} />Fork from here
        </button>
      </div>
      ${
        shown.event &&
        html`<details class="fold" open>
          <summary>Event: ${format.words(event)}</summary>
          <${Json} value=${shown.event} />
        </details>`
      }
      <details class="fold" open>
        <summary>State after the event</summary>
        <${Json} value=${shown.state} />
      </details>
    </div>
  </section>`;
}
