// How loading, nothing and trouble look, and the hook that reads something from the server and says
// which of them holds.
import { html, useEffect, useRef, useState } from '../html.js';
import { asProblem, get } from '../api.js';
import { Icon } from './icons.js';

/**
 * Reads a path and again when it changes. What was read stays visible while it is read again.
 * @template T
 * @param {string | null} path null reads nothing
 * @param {{ every?: number, on?: unknown }} [options] `every` reads again after so many
 *   milliseconds while the page is visible
 * @returns {{ value: T | null, problem: import('../api.js').Problem | null, loading: boolean,
 *   reload: () => void, put: (value: T) => void }}
 */
export function useRead(path, { every, on } = {}) {
  const [state, setState] = useState(
    /** @type {{ path: any, value: any, problem: any, loading: boolean }} */ ({
      path,
      value: null,
      problem: null,
      loading: !!path,
    }),
  );
  const [round, again] = useState(0);
  const busy = useRef(false);
  useEffect(() => {
    if (!path) return;
    const stop = new AbortController();
    setState(s => ({ path, value: s.path === path ? s.value : null, problem: null, loading: true }));
    busy.current = true;
    get(path, stop.signal).then(
      value => {
        if (!stop.signal.aborted) {
          busy.current = false;
          setState({ path, value, problem: null, loading: false });
        }
      },
      error => {
        if (!stop.signal.aborted) {
          busy.current = false;
          setState(s => ({ ...s, path, problem: asProblem(error), loading: false }));
        }
      },
    );
    return () => stop.abort();
  }, [path, round, on]);
  useEffect(() => {
    if (!every) return;
    // A slow answer is waited for, not asked for again and again.
    const timer = setInterval(() => {
      if (!document.hidden && !busy.current) again(n => n + 1);
    }, every);
    return () => clearInterval(timer);
  }, [every]);
  const current = state.path === path;
  return {
    value: current ? state.value : null,
    problem: current ? state.problem : null,
    loading: current ? state.loading : !!path,
    reload: () => again(n => n + 1),
    put: value => setState({ path, value, problem: null, loading: false }),
  };
}

/**
 * A module that is loaded when it is first needed.
 * @template T @param {() => Promise<T>} load @returns {{ module: T | null, failed: boolean }}
 */
export function useModule(load) {
  const [state, setState] = useState(
    /** @type {{ module: T | null, failed: boolean }} */ ({ module: null, failed: false }),
  );
  useEffect(() => {
    let over = false;
    load().then(
      module => {
        if (!over) setState({ module, failed: false });
      },
      () => {
        if (!over) setState({ module: null, failed: true });
      },
    );
    return () => {
      over = true;
    };
  }, []);
  return state;
}

/** @param {{ lines?: number, label?: string, kind?: string }} props */
export const Skeleton = ({ lines = 4, label = 'Loading', kind = 'lines' }) =>
  html`<div class="skeleton ${kind}" role="status" aria-label=${label}>
    ${Array.from(
      { length: lines },
      (_, at) =>
        html`<div
          key=${at}
          class="bone"
          style=${{ width: kind === 'lines' ? `${[92, 78, 86, 64, 72][at % 5]}%` : null }}
        ></div>`,
    )}
  </div>`;

/** @param {{ icon?: string, title: string, children?: any }} props */
export const Empty = ({ icon = 'spark', title, children }) =>
  html`<div class="empty">
    <span class="empty-icon"> <${Icon} name=${icon} size=${26} /></span>
    <h2>${title}</h2>
    ${children && html`<div class="empty-text">${children}</div>`}
  </div>`;

/** @param {{ problem: import('../api.js').Problem, retry?: () => void, title?: string }} props */
export function Trouble({ problem, retry, title }) {
  return html`<div class="trouble" role="alert">
    <${Icon} name="warn" />
    <div class="trouble-text">
      <p class="trouble-title">${title || titleOf(problem)}</p>
      <p>${problem.message}</p>
      ${
        problem.code || problem.request_id
          ? html`<p class="small muted">
              ${
                problem.code &&
                (problem.page
                  ? html`<a href=${problem.page} target="_blank" rel="noopener"
                      ><code>${problem.code}</code></a
                    > `
                  : html`<code> ${problem.code}</code> `)
              }${problem.request_id && html`Request <code>${problem.request_id}</code>`}
            </p>`
          : null
      }
      ${problem.retry_after ? html`<p class="small">You can try again in ${problem.retry_after} seconds.</p>` : null}
      ${
        retry &&
        html`<button class="button small" type="button" onClick=${retry}>
          <${Icon} name="refresh" size=${15} />Try again
        </button>`
      }
    </div>
  </div>`;
}

/** @param {import('../api.js').Problem} problem */
function titleOf({ status, title }) {
  if (status === 403) return 'Not allowed';
  if (status === 404) return 'Not found';
  if (status === 429) return 'Too many requests';
  return title || 'Error';
}

/**
 * Shows what was read, or why not yet, or why not.
 * @param {{ read: any, lines?: number, kind?: string, children: (value: any) => any }} props
 */
export function Read({ read, lines, kind, children }) {
  if (read.value !== null)
    return html`${
      read.problem && html`<${Trouble} problem=${read.problem} retry=${read.reload} />`
    }${children(read.value)}`;
  if (read.problem) return html`<${Trouble} problem=${read.problem} retry=${read.reload} />`;
  return html`<${Skeleton} lines=${lines} kind=${kind} />`;
}

/**
 * A list that is read page by page.
 * @param {string} path with its query
 * @param {{ every?: number }} [options]
 */
export function usePages(path, options) {
  const first = useRead(path, options);
  const [more, setMore] = useState(
    /** @type {{ path: string, items: any[], next: string | null | undefined, busy: boolean }} */ ({
      path,
      items: [],
      next: undefined,
      busy: false,
    }),
  );
  const latest = useRef(path);
  latest.current = path;
  const page = /** @type {Page<any> | null} */ (first.value);
  const mine = more.path === path ? more : { path, items: [], next: undefined, busy: false };
  const next = mine.next === undefined ? page?.next : mine.next;
  const load = async () => {
    if (!next || mine.busy) return;
    setMore({ ...mine, busy: true });
    try {
      const read = await get(`${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(next)}`);
      if (latest.current === path)
        setMore({ path, items: [...mine.items, ...read.items], next: read.next, busy: false });
    } catch {
      setMore({ ...mine, busy: false });
    }
  };
  return { ...first, items: page ? [...page.items, ...mine.items] : [], next, load, busy: mine.busy };
}

/** @param {{ pages: any }} props */
export const More = ({ pages }) =>
  pages.next
    ? html`<div class="more">
        <button class="button" type="button" disabled=${pages.busy} onClick=${pages.load}>
          ${pages.busy ? 'Loading…' : 'Show more'}
        </button>
      </div>`
    : null;
