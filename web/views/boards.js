// Boards: answers side by side, read with the grants of whoever looks, filtered together.
import { html, useEffect, useMemo, useRef, useState, classes } from '../html.js';
import { asProblem, get, part, patch, post, remove, url, withQuery } from '../api.js';
import { may, me } from '../store.js';
import { go, replace } from '../router.js';
import * as format from '../format.js';
import { Icon } from '../parts/icons.js';
import { Empty, More, Read, Skeleton, Trouble, usePages, useRead } from '../parts/states.js';
import { Code, Head, Time, copy } from '../parts/bits.js';
import { Dialog, confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';
import { Chart } from '../parts/chart.js';
import { Table } from '../parts/table.js';
import { Prose } from '../parts/prose.js';

/** @param {{ route: import('../router.js').Route }} props */
export default function Boards({ route }) {
  const id = route.path[1];
  return id ? html`<${BoardPage} key=${id} id=${id} route=${route} />` : html`<${BoardList} />`;
}

/** Makes a board and opens it. */
async function make() {
  const name = await confirm({
    title: 'New board',
    text: 'Answers are pinned to it from a conversation.',
    action: 'Make it',
    field: 'Name',
  });
  if (!name?.trim()) return;
  try {
    go(`/boards/${(await post('/boards', { name: name.trim() })).id}`);
  } catch (error) {
    sayProblem(error);
  }
}

function BoardList() {
  const pages = usePages('/boards?limit=50');
  return html`<${Head} title="Boards" text="Answers side by side. Each viewer sees the rows that they may read.">
      <button class="button primary" type="button" onClick=${make}><${Icon} name="plus"
        size=${16} />New board</button></${Head}>
    <${Read} read=${pages} lines=${4} kind="rows">${() =>
      pages.items.length
        ? html`<ul class="rows">
              ${pages.items.map(
                one =>
                  html`<li key=${one.id}>
                    <a class="row" href=${`#/boards/${one.id}`}
                      ><span class="row-main"
                        ><span class="row-title">${one.name}</span>
                        <span class="small muted"
                          >${format.count(one.tiles.length, 'tile')}, by ${one.user_id}, changed
                          <${Time} at=${one.updated_at} relative /></span
                      ></span>
                      ${one.is_shared && html`<span class="tag">Shared</span>`}</a
                    >
                  </li>`,
              )}
            </ul>
            <${More} pages=${pages} />`
        : html`<${Empty} icon="board" title="No boards yet"><p>Make one, then choose <strong>Pin</strong> below
          an answer.</p></${Empty}>`}</${Read}>`;
}

/** @param {{ id: string, route: import('../router.js').Route }} props */
function BoardPage({ id, route }) {
  const chosen = route.query.get('filters') ?? '';
  const read = useRead(withQuery(`/boards/${part(id)}/view`, { filters: chosen }));
  const kept = useRead(`/boards/${part(id)}`);
  const last = useRef(/** @type {BoardView | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [edited, setEdited] = useState(/** @type {string | null} */ (null));
  const [adding, setAdding] = useState(/** @type {'text' | 'filter' | 'link' | null} */ (null));
  const view = /** @type {BoardView | null} */ (read.value ?? last.current);
  if (read.value) last.current = /** @type {BoardView} */ (read.value);
  useEffect(() => {
    if (view) document.title = `${view.board.name} – Steward`;
  }, [view?.board.name]);
  if (!view)
    return read.problem
      ? html`<${Trouble} problem=${read.problem} retry=${read.reload} />`
      : html`<${Waiting} board=${/** @type {Board | null} */ (kept.value)} />`;
  const { board } = view;
  const own = board.user_id === me.value?.user;
  const choose = (/** @type {BoardFilter} */ filter) => {
    const others = view.filters.filter(one => one.column !== filter.column).map(plain);
    replace(withQuery(`/boards/${id}`, { filters: JSON.stringify([...others, filter]) }));
  };
  const refresh = async () => {
    setBusy(true);
    try {
      read.put(await get(withQuery(`/boards/${part(id)}/view`, { filters: chosen, refresh: true })));
    } catch (error) {
      sayProblem(error);
    }
    setBusy(false);
  };
  const change = async (/** @type {any} */ what, /** @type {string} */ done) => {
    try {
      await patch(`/boards/${part(id)}`, what);
      say(done);
      read.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  const drop = async () => {
    if (
      (await confirm({
        title: 'Remove this board?',
        text: 'Its links end with it. The answers on it stay where they are.',
        action: 'Remove',
        danger: true,
      })) === null
    )
      return;
    try {
      await remove(`/boards/${part(id)}`);
      say('Removed');
      go('/boards');
    } catch (error) {
      sayProblem(error);
    }
  };
  const move = (/** @type {number} */ from, /** @type {number} */ to) => {
    const order = board.tiles.map(tile => tile.id);
    order.splice(to, 0, ...order.splice(from, 1));
    void change({ order }, 'Moved');
  };
  const tile = board.tiles.find(one => one.id === edited);
  return html`<${Head} back=${{ to: '/boards', label: 'Boards' }} title=${board.name}
      text=${html`As of
        <${Time}
          at=${view.as_of}
        />${own ? '' : `, by ${board.user_id}`}${board.is_shared ? ', shared' : ''}`}>
      <button class="button" type="button" disabled=${busy || read.loading} onClick=${refresh}><${Icon}
        name="refresh" size=${16} />Refresh</button>
      <a class="button" href=${url(
        withQuery(`/boards/${part(id)}/export`, { filters: chosen }),
      )} download><${Icon} name="download" size=${16} />Export</a>
      ${
        own &&
        html`<details class="menu">
          <summary class="button"><${Icon} name="more" size=${16} />Change</summary>
          <div class="menu-items">
            <button type="button" onClick=${() => setAdding('text')}>
              <${Icon} name="plus" size=${16} />Add text
            </button>
            <button type="button" onClick=${() => setAdding('filter')}>
              <${Icon} name="settings" size=${16} />Add a filter
            </button>
            <button
              type="button"
              onClick=${() =>
                change(
                  { is_shared: !board.is_shared },
                  board.is_shared ? 'No longer shared' : 'Shared with everybody here',
                )}
            >
              <${Icon} name="out" size=${16} />${board.is_shared ? 'Stop sharing' : 'Share'}
            </button>
            ${
              may('admin') &&
              html`<button type="button" onClick=${() => setAdding('link')}>
                <${Icon} name="link" size=${16} />Links
              </button>`
            }
            <button type="button" onClick=${drop}><${Icon} name="trash" size=${16} />Remove</button>
          </div>
        </details>`
      }</${Head}>
    ${read.problem && html`<${Trouble} problem=${read.problem} retry=${read.reload} />`}
    ${
      view.filters.length > 0 &&
      html`<form
        class="board-filters"
        aria-label="Filters"
        onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}
      >
        ${view.filters.map(
          filter =>
            html`<${Filter}
              key=${filter.column}
              filter=${filter}
              onChoose=${choose}
              onRemove=${
                own
                  ? () =>
                      change(
                        { filters: board.filters.filter(one => one.column !== filter.column) },
                        'Filter removed',
                      )
                  : null
              }
            />`,
        )}
      </form>`
    }
    ${
      view.tiles.length
        ? html`<div class=${classes('board-grid', read.loading && 'dimmed')} aria-busy=${read.loading}>
            ${view.tiles.map(
              (one, at) =>
                html`<${Tile}
                  key=${one.id}
                  tile=${one}
                  origin=${board.tiles[at]?.content.answer?.origin}
                  own=${own}
                  first=${at === 0}
                  last=${at === view.tiles.length - 1}
                  onEdit=${() => setEdited(one.id)}
                  onMove=${(/** @type {number} */ by) => move(at, at + by)}
                />`,
            )}
          </div>`
        : html`<${Empty} icon="board" title="Nothing is pinned yet"><p>Ask a question, then
          choose <strong>Pin</strong> below the answer.</p></${Empty}>`
    }
    ${
      tile &&
      html`<${EditTile}
        board=${id}
        tile=${tile}
        ran=${view.tiles.find(one => one.id === tile.id)?.sql}
        onClose=${(/** @type {boolean} */ changed) => {
          setEdited(null);
          if (changed) read.reload();
        }}
      />`
    }
    ${
      adding === 'text' &&
      html`<${AddText}
        board=${id}
        onClose=${(/** @type {boolean} */ changed) => {
          setAdding(null);
          if (changed) read.reload();
        }}
      />`
    }
    ${
      adding === 'filter' &&
      html`<${AddFilter}
        columns=${columnsOf(view)}
        onClose=${(/** @type {string | null} */ column) => {
          setAdding(null);
          if (column) void change({ filters: [...board.filters, { column }] }, 'Filter added');
        }}
      />`
    }
    ${
      adding === 'link' &&
      html`<${Links}
        board=${board}
        onClose=${() => {
          setAdding(null);
          read.reload();
        }}
      />`
    }`;
}

/** The board before its rows are there. @param {{ board: Board | null }} props */
const Waiting = ({ board }) =>
  board
    ? html`<${Head} back=${{ to: '/boards', label: 'Boards' }} title=${board.name} text="Reading the rows" />
        <div class="board-grid" aria-busy="true">
          ${board.tiles.map(
            tile =>
              html`<article key=${tile.id} class="card tile ${tile.width}" aria-label=${tile.title || 'Text'}>
                <header class="tile-head"><h2>${tile.title}</h2></header>
                <${Skeleton} lines=${3} label="Reading" />
              </article>`,
          )}
        </div>`
    : html`<${Skeleton} lines=${6} kind="cards" label="Reading the board" />`;

/** A filter without what can be chosen. @param {FilterChoices} filter @returns {BoardFilter} */
const plain = ({ column, values, from, until }) => ({ column, values, from, until });

/** Names that a filter may have: columns that are shown. @param {BoardView} view */
const columnsOf = view => [
  ...new Set(
    view.tiles.flatMap(tile =>
      tile.columns
        .filter(column => column.kind === 'text' || column.kind === 'date')
        .map(column => column.name),
    ),
  ),
];

/**
 * @param {{ filter: FilterChoices, onChoose: (filter: BoardFilter) => void, onRemove: (() => void)
 *   | null }} props
 */
function Filter({ filter, onChoose, onRemove }) {
  const { column, values, options, kind, range } = filter;
  const id = `filter-${column.replace(/\W+/g, '-')}`;
  const several = values.length > 1 ? values.join(', ') : null;
  const put = (/** @type {Partial<BoardFilter>} */ what) => onChoose({ ...plain(filter), ...what });
  const end = (/** @type {'from' | 'until'} */ name, /** @type {string} */ label) =>
    html`<label class="field"
      ><span>${format.words(column)} ${label}</span>
      <input
        type=${kind === 'date' ? 'date' : 'number'}
        step="any"
        min=${range?.[0]}
        max=${range?.[1]}
        value=${filter[name] ?? ''}
        onChange=${(/** @type {any} */ event) => put({ [name]: event.target.value || null })}
    /></label>`;
  return html`<div class="board-filter">
    ${
      kind === 'date' || kind === 'number'
        ? html`${end('from', 'from')}${end('until', 'to')}`
        : html`<div class="field">
            <label for=${id}>${format.words(column)}</label>
            <select
              id=${id}
              disabled=${!kind}
              value=${several ?? values[0] ?? ''}
              onChange=${(/** @type {any} */ event) => put({ values: event.target.value ? [event.target.value] : [] })}
            >
              <option value="">${kind ? 'All' : 'No such column'}</option>
              ${several && html`<option value=${several}>${several}</option>`}
              ${options.map(option => html`<option key=${option} value=${option}>${option}</option>`)}
            </select>
          </div>`
    }
    ${
      onRemove &&
      html`<button
        class="icon-button"
        type="button"
        aria-label=${`Remove the filter ${format.words(column)}`}
        onClick=${onRemove}
      >
        <${Icon} name="close" size=${15} />
      </button>`
    }
  </div>`;
}

/**
 * @param {{ tile: TileRows, origin?: string | null, own: boolean, first: boolean, last: boolean,
 *   onEdit: () => void, onMove: (by: number) => void }} props
 */
function Tile({ tile, origin, own, first, last, onEdit, onMove }) {
  const columns = useMemo(() => tile.columns.map(column => column.name), [tile]);
  const name = tile.title || 'Text';
  const table = html`<${Table}
    title=${name}
    columns=${columns}
    rows=${tile.rows}
    truncated=${tile.truncated}
  />`;
  const body =
    tile.text !== null
      ? html`<${Prose} text=${tile.text} numbers=${null} onNumber=${() => {}} />`
      : tile.status !== 'ready'
        ? html`<p class="note warn">
            <${Icon} name="warn" size=${16} /><span
              >${tile.status === 'refused' ? 'You may not see this. ' : ''}${tile.error}
              ${
                tile.error_code &&
                html` <a href=${`/page/errors/${tile.error_code}`} target="_blank" rel="noopener"
                  ><code>${tile.error_code}</code></a
                >`
              }</span
            >
          </p>`
        : tile.view === 'number'
          ? html`<p class="tile-number">${tile.number ?? '–'}</p>`
          : tile.view === 'chart' && tile.vega_lite
            ? html`<${Chart} title=${name} spec=${tile.vega_lite} />`
            : table;
  return html`<article class="card tile ${tile.width}" aria-label=${name}>
    <header class="tile-head">
      <h2>${tile.title}</h2>
      ${
        own &&
        html`<span class="tile-tools"
          ><button
            class="icon-button"
            type="button"
            disabled=${first}
            aria-label=${`Move ${name} back`}
            onClick=${() => onMove(-1)}
          >
            <${Icon} name="left" size=${15} />
          </button>
          <button
            class="icon-button"
            type="button"
            disabled=${last}
            aria-label=${`Move ${name} on`}
            onClick=${() => onMove(1)}
          >
            <${Icon} name="right" size=${15} />
          </button>
          <button class="icon-button" type="button" aria-label=${`Edit ${name}`} onClick=${onEdit}>
            <${Icon} name="settings" size=${15} /></button
        ></span>`
      }
    </header>
    ${body}
    ${
      tile.not_filtered_by.length > 0 &&
      html`<p class="small muted">Not filtered by ${tile.not_filtered_by.map(format.words).join(', ')}.</p>`
    }
    ${
      tile.text === null &&
      tile.status === 'ready' &&
      html`<details class="fold">
        <summary>Evidence</summary>
        <div class="fold-body stack">
          <p class="small"><strong>Question:</strong> ${tile.question}</p>
          ${tile.definition && html`<p class="small"><strong>Metric:</strong> ${tile.definition}</p>`}
          ${tile.view !== 'table' && table}
          ${tile.sql && html`<${Code} title="What ran for you" text=${tile.sql} />`}
          <p class="small muted">
            ${tile.sources.map(source => source.name).join(', ')} in ${format.duration(tile.milliseconds)}
            ${own && origin ? html` <a href=${`#/tasks/${origin}`}>The answer that was pinned</a>` : null}
          </p>
        </div>
      </details>`
    }
  </article>`;
}

const VIEWS = [
  ['auto', 'What fits'],
  ['chart', 'Chart'],
  ['table', 'Table'],
  ['number', 'Number'],
];
const WIDTHS = [
  ['small', 'A third'],
  ['medium', 'Half'],
  ['wide', 'The whole row'],
];

/**
 * @param {{ board: string, tile: BoardTile, ran?: string | null, onClose: (changed: boolean) =>
 *   void }} props
 */
function EditTile({ board, tile, ran, onClose }) {
  const answer = tile.content.answer;
  const [form, setForm] = useState({
    title: tile.title,
    width: tile.width,
    view: answer?.view ?? 'auto',
    question: answer?.question ?? '',
    sql: answer?.statement.sql ?? '',
    text: tile.content.text ?? '',
  });
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const on = (/** @type {string} */ name) => (/** @type {any} */ event) =>
    setForm({ ...form, [name]: event.target.value });
  const path = `/boards/${part(board)}/tiles/${part(tile.id)}`;
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    /** @type {any} */
    const what = { title: form.title, width: form.width };
    if (answer) {
      what.view = form.view;
      if (form.question.trim() !== answer.question) what.question = form.question.trim();
      if (form.sql.trim() && form.sql.trim() !== (answer.statement.sql ?? '')) what.sql = form.sql.trim();
    } else what.text = form.text;
    try {
      await patch(path, what);
      say('Changed, and run again');
      onClose(true);
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  const drop = async () => {
    try {
      await remove(path);
      say('Taken off');
      onClose(true);
    } catch (error) {
      sayProblem(error);
    }
  };
  const select = (
    /** @type {'view' | 'width'} */ name,
    /** @type {string} */ label,
    /** @type {string[][]} */ options,
  ) =>
    html`<label class="field"
      ><span>${label}</span>
      <select value=${form[name]} onChange=${on(name)}>
        ${options.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
      </select></label
    >`;
  return html`<${Dialog} title="Edit the tile" wide onClose=${() => onClose(false)}><form onSubmit=${save}>
    ${problem && html`<${Trouble} problem=${problem} />`}
    <label class="field"><span>Title</span><input value=${form.title} maxlength="200" onInput=${on('title')} />
      </label>
    ${
      answer
        ? html`<label class="field"
              ><span>Question</span
              ><textarea rows="2" value=${form.question} onInput=${on('question')}></textarea>
            </label>
            <label class="field"
              ><span>SQL</span
              ><textarea
                class="mono"
                rows="5"
                value=${form.sql}
                onInput=${on('sql')}
                placeholder="Leave this empty to run what the question is read as"
              ></textarea>
            </label>
            ${
              ran &&
              !form.sql &&
              html`<button class="quiet-button" type="button" onClick=${() => setForm({ ...form, sql: ran })}>
                Start from what ran
              </button>`
            }`
        : html`<label class="field"
            ><span>Text</span><textarea rows="6" value=${form.text} onInput=${on('text')}></textarea>
          </label>`
    }
    <div class="field-pair">${answer && select('view', 'Shown as', VIEWS)}${select('width', 'Width', WIDTHS)}</div>
    <div class="actions end"><button class="button" type="button" onClick=${drop}><${Icon} name="trash"
      size=${15} />Take off</button>
      <button class="button primary" type="submit" disabled=${busy}>${
        busy ? 'Running…' : 'Save and run'
      }</button></div></form></${Dialog}>`;
}

/** @param {{ board: string, onClose: (changed: boolean) => void }} props */
function AddText({ board, onClose }) {
  const [form, setForm] = useState({ title: '', text: '' });
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await post(`/boards/${part(board)}/tiles`, { text: form.text, title: form.title });
      onClose(true);
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<${Dialog} title="Add text" onClose=${() => onClose(false)}><form onSubmit=${save}>
    <label class="field"><span>Title</span><input value=${form.title} maxlength="200" onInput=${(
      /** @type {any} */ event,
    ) => setForm({ ...form, title: event.target.value })} /></label>
    <label class="field"><span>Text</span><textarea rows="5" required value=${form.text} onInput=${(
      /** @type {any} */ event,
    ) => setForm({ ...form, text: event.target.value })}></textarea></label>
    <div class="actions end"><button class="button primary" type="submit">Add</button></div></form></${Dialog}>`;
}

/** @param {{ columns: string[], onClose: (column: string | null) => void }} props */
function AddFilter({ columns, onClose }) {
  const [column, setColumn] = useState('');
  return html`<${Dialog} title="Add a filter" onClose=${() => onClose(null)}>
    <form onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      if (column.trim()) onClose(column.trim());
    }}>
    <label class="field"><span>Column</span><input required list="filter-columns" value=${column} onInput=${(
      /** @type {any} */ event,
    ) => setColumn(event.target.value)} /></label>
    <datalist id="filter-columns">${columns.map(name => html`<option value=${name}></option>`)}</datalist>
    <p class="small muted">It counts for every table with this column, and for tables whose rows belong to
      such a row. <code>sales.state</code> names the column of one table.</p>
    <div class="actions end"><button class="button primary" type="submit">Add</button></div></form></${Dialog}>`;
}

/** @param {{ board: Board, onClose: () => void }} props */
function Links({ board, onClose }) {
  const [links, setLinks] = useState(board.links);
  const [form, setForm] = useState({ hours: '168', viewer: me.value?.user ?? '' });
  const [address, setAddress] = useState('');
  const path = `/boards/${part(board.id)}/links`;
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const made = await post(path, { hours: Number(form.hours), viewer: form.viewer });
      setAddress(new URL(made.address, location.href).href);
      setLinks([...links, made.link]);
    } catch (error) {
      sayProblem(error);
    }
  };
  const end = async (/** @type {string} */ id) => {
    try {
      await remove(`${path}/${part(id)}`);
      setLinks(links.filter(one => one.id !== id));
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<${Dialog} title="Links without a sign-in" wide onClose=${onClose}>
    <p>Whoever has the link sees what its viewer may see at that moment, until it expires.</p>
    <form class="field-pair" onSubmit=${add}><label class="field"><span>Hours</span><input type="number" min="1"
      max="2160" required value=${form.hours} onInput=${(/** @type {any} */ event) =>
        setForm({ ...form, hours: event.target.value })} /></label>
      <label class="field"><span>Viewer</span><input required value=${form.viewer} onInput=${(
        /** @type {any} */ event,
      ) => setForm({ ...form, viewer: event.target.value })} /></label>
      <button class="button primary" type="submit">Make a link</button></form>
    ${
      address &&
      html`<p class="note">
          <span class="break">${address}</span
          ><button class="quiet-button" type="button" onClick=${() => copy(address)}>
            <${Icon} name="copy" size=${15} />Copy
          </button>
        </p>
        <p class="small muted">It is shown this once.</p>`
    }
    ${
      links.length > 0 &&
      html`<ul class="rows">
        ${links.map(
          one =>
            html`<li key=${one.id} class="row still">
              <span class="row-main"
                ><span class="row-title">As seen by ${one.viewer}</span>
                <span class="small muted">until <${Time} at=${one.expires_at} /></span></span
              ><button class="button small" type="button" onClick=${() => end(one.id)}>End it</button>
            </li>`,
        )}
      </ul>`
    }</${Dialog}>`;
}
