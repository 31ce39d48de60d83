// Tasks: what was done and is being done, and starting a workflow.
import { html, useEffect, useState } from '../html.js';
import { postWhole, part, withQuery } from '../api.js';
import { go, replace } from '../router.js';
import { may } from '../store.js';
import { Icon } from '../parts/icons.js';
import { Empty, More, Read, Skeleton, Trouble, usePages, useRead } from '../parts/states.js';
import { Head, Status, Time, listKeys } from '../parts/bits.js';
import { Dialog } from '../parts/dialog.js';
import { GraphView } from '../parts/graph.js';
import { SchemaForm, blank, readForm } from '../parts/schema-form.js';
import { sayProblem } from '../parts/toast.js';
import * as format from '../format.js';
import { TaskDetail } from './task.js';

const FILTERS = [
  ['', 'All'],
  ['running', 'Running'],
  ['paused', 'Paused'],
  ['pending', 'Waiting to start'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
];

/** @param {{ route: import('../router.js').Route }} props */
export default function Tasks({ route }) {
  const id = route.path[1];
  return id
    ? html`<${TaskDetail} key=${id} id=${id} />`
    : html`<${List} status=${route.query.get('status') ?? ''} start=${route.query.get('start')} />`;
}

/** @param {{ status: string, start: string | null }} props */
function List({ status, start }) {
  const [starting, setStarting] = useState(start !== null);
  const [busy, setBusy] = useState(false);
  const pages = usePages(withQuery('/tasks', { status, limit: 50 }), { every: busy ? 3000 : 10_000 });
  const some = pages.items.some(task => task.status === 'running' || task.status === 'pending');
  useEffect(() => setBusy(some), [some]);
  return html`<${Head} title="Tasks" text="All questions and runs, with every step.">
    ${
      may('run') &&
      html`<button class="button primary" type="button" onClick=${() => setStarting(true)}>
        <${Icon} name="play" size=${15} />Start a workflow
      </button>`
    }</${Head}>
    <div class="tabs" role="group" aria-label="Filter by status">
      ${FILTERS.map(
        ([value, label]) =>
          html`<button
            key=${value}
            type="button"
            aria-pressed=${status === value}
            onClick=${() => replace(withQuery('/tasks', { status: value }))}
          >
            ${label}
          </button>`,
      )}</div>
    <${Read} read=${pages} lines=${6} kind="rows">${() =>
      pages.items.length
        ? html`<ul class="rows" onKeyDown=${listKeys} aria-label="Tasks">
              ${pages.items.map(
                (/** @type {Task} */ task) =>
                  html`<li key=${task.id}>
                    <a class="row" data-item href=${`#/tasks/${task.id}`}>
                      <span class="row-main"
                        ><span class="row-title">${task.description || 'Untitled'}</span
                        ><span class="small muted">
                          ${task.assigned_agent && html`${task.assigned_agent} · `}<${Time}
                            at=${task.created_at}
                            relative
                          />
                          ${task.started_at && task.completed_at ? ` · ${format.duration(new Date(task.completed_at).getTime() - new Date(task.started_at).getTime())}` : ''}</span
                        ></span
                      >
                      <${Status} status=${task.status}
                    /></a>
                  </li>`,
              )}
            </ul>
            <${More} pages=${pages} />`
        : html`<${Empty} icon="tasks" title=${status ? 'No tasks with this status' : 'No tasks yet'}>
        ${status ? html`<button class="button" type="button" onClick=${() => replace('/tasks')}>Show all</button>` : html`<p>Ask a question, or start a workflow.</p>`}</${Empty}>`}</${Read}>
    ${starting && html`<${Start} onClose=${() => setStarting(false)} />`}`;
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
        <p>Put a YAML file into <code>workflows/</code> or <code>agents/</code> of the home folder. It then appears here.</p></${Empty}>`}</${Read}>`
    }</${Dialog}>`;
}

/** @param {{ name: string, onBack: () => void }} props */
function Run({ name, onBack }) {
  const read = useRead(`/workflows/${part(name)}`);
  const workflow = /** @type {any} */ (read.value);
  const schema = workflow?.input_schema?.properties ? workflow.input_schema : null;
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
