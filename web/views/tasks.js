// Tasks: what was done and is being done, and starting a workflow.
import { html, useEffect, useState } from '../html.js';
import { part, post, postWhole, withQuery } from '../api.js';
import { go, replace } from '../router.js';
import { may } from '../store.js';
import { Icon } from '../parts/icons.js';
import { Empty, More, Read, Skeleton, Trouble, usePages, useRead } from '../parts/states.js';
import { Head, Status, Time, listKeys } from '../parts/bits.js';
import { Dialog, confirm } from '../parts/dialog.js';
import { GraphView } from '../parts/graph.js';
import { SchemaForm, blank, readForm } from '../parts/schema-form.js';
import { say, sayProblem } from '../parts/toast.js';
import * as format from '../format.js';
import { TaskDetail, durationOf } from './task.js';

const FILTERS = [
  ['', 'All'],
  ['running', 'Running'],
  ['paused', 'Paused'],
  ['pending', 'Waiting to start'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
  ['rejected', 'Rejected'],
];

/** @param {{ route: import('../router.js').Route }} props */
export default function Tasks({ route }) {
  const id = route.path[1];
  return id
    ? html`<${TaskDetail} key=${id} id=${id} />`
    : html`<${List}
        status=${route.query.get('status') ?? ''}
        search=${route.query.get('search') ?? ''}
        start=${route.query.get('start')}
      />`;
}

/** Tasks that can still be called off. @param {Task} task */
const isOpen = task => ['running', 'pending', 'paused'].includes(task.status);

/** @param {{ status: string, search: string, start: string | null }} props */
function List({ status, search, start }) {
  const [starting, setStarting] = useState(start !== null);
  const [busy, setBusy] = useState(false);
  const [text, setText] = useState(search);
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]));
  const path = withQuery('/tasks', { status, search, top: true, limit: 50 });
  const pages = usePages(path, { every: busy ? 3000 : 10_000 });
  const items = /** @type {Task[]} */ (pages.items);
  const some = items.some(task => task.status === 'running' || task.status === 'pending');
  useEffect(() => setBusy(some), [some]);
  useEffect(() => {
    if (text.trim() === search) return;
    const timer = setTimeout(() => replace(withQuery('/tasks', { status, search: text.trim() })), 250);
    return () => clearTimeout(timer);
  }, [text]);
  const open = items.filter(task => chosen.includes(task.id) && isOpen(task));
  const cancel = async () => {
    const sure = await confirm({
      title: `Cancel ${format.count(open.length, 'task')}?`,
      text: 'Completed steps are not undone. No further steps run.',
      action: 'Cancel them',
      danger: true,
    });
    if (sure === null) return;
    const done = await Promise.allSettled(open.map(task => post(`/tasks/${part(task.id)}/cancel`)));
    const failed = done.filter(one => one.status === 'rejected').length;
    say(failed ? `${format.count(failed, 'task')} could not be cancelled` : 'Cancelled', failed > 0);
    setChosen([]);
    pages.reload();
  };
  return html`<${Head} title="Tasks" text="All questions and runs, with every step.">
    ${
      may('run') &&
      html`<button class="button primary" type="button" onClick=${() => setStarting(true)}>
        <${Icon} name="play" size=${15} />Start a workflow
      </button>`
    }</${Head}>
    <div class="search big"><${Icon} name="search" size=${17} />
      <label class="hidden" for="find-task">Search tasks</label>
      <input
        id="find-task"
        type="search"
        placeholder="Search tasks"
        value=${text}
        autocomplete="off"
        onInput=${(/** @type {any} */ event) => setText(event.target.value)}
      /></div>
    <div class="tabs" role="group" aria-label="Filter by status">
      ${FILTERS.map(
        ([value, label]) =>
          html`<button
            key=${value}
            type="button"
            aria-pressed=${status === value}
            onClick=${() => replace(withQuery('/tasks', { status: value, search }))}
          >
            ${label}
          </button>`,
      )}</div>
    ${
      chosen.length > 0 &&
      html`<div class="bulk" role="group" aria-label="Selected tasks">
        <span>${format.count(chosen.length, 'task')} selected</span>
        <button class="button small" type="button" disabled=${!open.length} onClick=${cancel}>
          Cancel ${open.length ? format.number(open.length) : ''}
        </button>
        <button class="quiet-button" type="button" onClick=${() => setChosen([])}>Clear</button>
      </div>`
    }
    <${Read} read=${pages} lines=${6} kind="rows">${() =>
      items.length
        ? html`<ul class="rows selectable" onKeyDown=${listKeys} aria-label="Tasks">
              ${items.map(
                task =>
                  html`<${TaskRow} key=${task.id} task=${task} chosen=${chosen} onChoose=${setChosen} />`,
              )}
            </ul>
            <${More} pages=${pages} />`
        : html`<${Empty} icon="tasks" title=${status || search ? 'No such tasks' : 'No tasks yet'}>${
            status || search
              ? html`<button
                  class="button"
                  type="button"
                  onClick=${() => {
                    setText('');
                    replace('/tasks');
                  }}
                >
                  Show all
                </button>`
              : html`<p>Ask a question, or start a workflow.</p>`
          }</${Empty}>`}</${Read}>
    ${starting && html`<${Start} onClose=${() => setStarting(false)} />`}`;
}

/**
 * @param {{ task: Task, chosen: string[], onChoose: (ids: string[]) => void }} props
 */
function TaskRow({ task, chosen, onChoose }) {
  const isChosen = chosen.includes(task.id);
  return html`<li>
    <label class="row-choice">
      <span class="hidden">Select ${task.description}</span>
      <input
        type="checkbox"
        checked=${isChosen}
        onChange=${() => onChoose(isChosen ? chosen.filter(id => id !== task.id) : [...chosen, task.id])}
      />
    </label>
    <a class="row" data-item href=${`#/tasks/${task.id}`}>
      <span class="row-main"
        ><span class="row-title"><bdi>${task.description || 'Untitled'}</bdi></span
        ><span class="small muted">
          ${task.assigned_agent && html`${task.assigned_agent} · `}<${Time} at=${task.created_at} relative />
          ${task.started_at && task.completed_at ? ` · ${durationOf(task)}` : ''}</span
        ></span
      >
      <${Status} status=${task.is_rejected ? 'rejected' : task.status}
    /></a>
  </li>`;
}

/** @param {{ onClose: () => void }} props */
function Start({ onClose }) {
  const read = useRead('/workflows');
  const [name, setName] = useState('');
  const items = /** @type {any[]} */ (/** @type {any} */ (read.value)?.items ?? []);
  const able = items.filter(one => !one.problem),
    unable = items.filter(one => one.problem);
  return html`<${Dialog} wide title=${name ? format.words(name) : 'Start a workflow'} onClose=${onClose}>
    ${
      name
        ? html`<${Run} name=${name} onBack=${() => setName('')} />`
        : html`<${Read} read=${read} lines=${4} kind="rows">
      ${() =>
        items.length
          ? html`${
              able.length > 0 &&
              html`<ul class="rows" onKeyDown=${listKeys}>
                ${able.map(
                  one =>
                    html`<li key=${one.name}>
                      <button class="row" data-item type="button" onClick=${() => setName(one.name)}>
                        <span class="row-main"
                          ><span class="row-title">${format.words(one.name)}</span
                          ><span class="small muted">${one.description}</span></span
                        >
                        <span class="tag">${one.kind}</span>
                      </button>
                    </li>`,
                )}
              </ul>`
            }
            ${
              unable.length > 0 &&
              html`<details class="fold unable" open=${!able.length}>
                <summary>
                  ${unable.length === 1 ? '1 is invalid' : `${format.number(unable.length)} are invalid`}
                </summary>
                <div class="fold-body">
                  <ul class="rows">
                    ${unable.map(
                      one =>
                        html`<li key=${one.name} class="row still">
                          <span class="row-main"
                            ><span class="row-title"> ${format.words(one.name)}</span
                            ><span class="small muted pre">
                              ${one.problem.replace(/^workflow \S+ cannot run:\s*/, '').replace(/\n\s+/g, '\n')}</span
                            ></span
                          >
                        </li>`,
                    )}
                  </ul>
                </div>
              </details>`
            }`
          : html`<${Empty} icon="play" title="No workflows yet">
        <p>The operator of this server adds workflows and agents. They then appear here.</p></${Empty}>`}</${Read}>`
    }</${Dialog}>`;
}

/** @param {{ name: string, onBack: () => void }} props */
function Run({ name, onBack }) {
  const read = useRead(`/workflows/${part(name)}`);
  const workflow = /** @type {any} */ (read.value);
  const declared = workflow?.input_schema ?? workflow?.inputs;
  const schema = declared?.properties ? declared : null;
  const [text, setText] = useState('');
  const [fields, setFields] = useState(/** @type {Record<string, any> | null} */ (null));
  const [wrong, setWrong] = useState(/** @type {Record<string, string>} */ ({}));
  const [busy, setBusy] = useState(false);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    /** @type {any} */
    let input = text;
    if (schema) {
      const form = readForm(schema, fields ?? blank(schema));
      setWrong(form.wrong);
      if (Object.keys(form.wrong).length) return;
      input = form.value;
    } else if (/^\s*[[{]/.test(text)) {
      try {
        input = JSON.parse(text);
      } catch {
        setWrong({ '': 'This starts like JSON but is not valid JSON.' });
        return;
      }
    }
    setBusy(true);
    try {
      const { value } = await postWhole(`/workflows/${part(name)}/runs`, { input });
      go(`/tasks/${value.task_id}`);
    } catch (error) {
      sayProblem(error);
      setBusy(false);
    }
  };
  if (!workflow)
    return read.problem
      ? html`<${Trouble} problem=${read.problem} retry=${read.reload} />`
      : html`<${Skeleton} lines=${4} />`;
  return html`${
      workflow.description && html`<p class="muted">${workflow.description}</p>`
    }${workflow.nodes?.length ? html`<${GraphView} graph=${workflow} label=${`The steps of ${name}`} />` : null}
    <form onSubmit=${submit}>
      ${
        schema
          ? html`<${SchemaForm}
              schema=${schema}
              fields=${fields ?? blank(schema)}
              wrong=${wrong}
              onChange=${setFields}
            />`
          : html`<div class="field">
              <label for="run-input">Input</label>
              <textarea
                id="run-input"
                rows="5"
                value=${text}
                placeholder='Text, or JSON such as { "topic": "sales" }'
                onInput=${(/** @type {any} */ event) => setText(event.target.value)}
              ></textarea>
              ${wrong[''] && html`<p class="small bad-text" role="alert">${wrong['']}</p>`}
            </div>`
      }
      <div class="actions end">
        <button class="button" type="button" onClick=${onBack}>Back</button>
        <button class="button primary" type="submit" disabled=${busy}>
          <${Icon} name="play" size=${15} />Start
        </button>
      </div>
    </form>`;
}
