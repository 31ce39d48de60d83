// SQL for people: one clause a line, and a statement that can be changed and run in place.
import { html, useState } from '../html.js';
import { asProblem } from '../api.js';
import { Icon } from './icons.js';
import { Copy } from './bits.js';
import { Trouble } from './states.js';

/** Words that begin a line, longest first. */
const CLAUSES = [
  'LEFT OUTER JOIN',
  'RIGHT OUTER JOIN',
  'FULL OUTER JOIN',
  'INNER JOIN',
  'CROSS JOIN',
  'LEFT JOIN',
  'RIGHT JOIN',
  'FULL JOIN',
  'UNION ALL',
  'GROUP BY',
  'ORDER BY',
  'INTERSECT',
  'SELECT',
  'HAVING',
  'EXCEPT',
  'WINDOW',
  'OFFSET',
  'WHERE',
  'UNION',
  'LIMIT',
  'FROM',
  'WITH',
  'JOIN',
];
const NAMES = /[A-Za-z_À-￿][\w$À-￿]*/y;

/**
 * The parts of a statement: what is quoted or a comment stays whole.
 * @param {string} sql @returns {string[]}
 */
export function tokens(sql) {
  const found = [];
  let at = 0;
  while (at < sql.length) {
    const from = at;
    const letter = sql[at];
    if (/\s/.test(letter)) {
      at += 1;
      continue;
    }
    if (letter === "'" || letter === '"' || letter === '`') {
      at += 1;
      while (at < sql.length && (sql[at] !== letter || sql[at + 1] === letter))
        at += sql[at] === letter ? 2 : 1;
      at += 1;
    } else if (sql.startsWith('--', at)) {
      while (at < sql.length && sql[at] !== '\n') at += 1;
    } else if (sql.startsWith('/*', at)) {
      const end = sql.indexOf('*/', at);
      at = end < 0 ? sql.length : end + 2;
    } else {
      NAMES.lastIndex = at;
      const name = NAMES.exec(sql);
      const number = /^\d[\w.]*/.exec(sql.slice(at, at + 60));
      const sign = /^(<=|>=|<>|!=|\|\||::|->>|->|:=)/.exec(sql.slice(at, at + 3));
      at += name?.[0].length ?? number?.[0].length ?? sign?.[0].length ?? 1;
    }
    found.push(sql.slice(from, at));
  }
  return found;
}

/**
 * A statement with one clause a line and one column a line where there are several. Only white
 * space changes.
 * @param {string} sql
 */
export function formatSql(sql) {
  const parts = tokens(sql);
  /** @type {string[]} */
  const lines = [];
  let line = '';
  /** Open brackets: whether each holds a statement of its own. @type {boolean[]} */
  const open = [];
  let clause = '';
  const indent = () => '  '.repeat(open.filter(Boolean).length);
  const end = () => {
    if (line.trim()) lines.push(line.trimEnd());
    line = '';
  };
  /** @param {string} text */
  const add = text => {
    const glued = !line || /[(.]$/.test(line) || /^[),.;]$/.test(text) || /(::)$/.test(line) || text === '::';
    const called =
      text === '(' && /[\w"]$/.test(line) && !/\b(IN|AND|OR|AS|ON|NOT|OVER|FROM|VALUES)$/i.test(line);
    line += glued || called ? text : ` ${text}`;
  };
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at];
    const inside = open.length > 0 && !open[open.length - 1];
    if (part.startsWith('--')) {
      add(part);
      end();
      line = indent();
      continue;
    }
    const rest = parts
      .slice(at, at + 3)
      .join(' ')
      .toUpperCase();
    const begins = inside ? '' : (CLAUSES.find(one => rest === one || rest.startsWith(`${one} `)) ?? '');
    if (begins) {
      const words = begins.split(' ').length;
      end();
      line =
        indent() +
        parts
          .slice(at, at + words)
          .join(' ')
          .toUpperCase();
      at += words - 1;
      clause = begins;
      if (begins === 'SELECT' && parts[at + 1]?.toUpperCase() === 'DISTINCT') {
        line += ' DISTINCT';
        at += 1;
      }
      continue;
    }
    if (part === '(') {
      add(part);
      const query = /^(SELECT|WITH)$/i.test(parts[at + 1] ?? '');
      open.push(query);
      if (query) end();
      continue;
    }
    if (part === ')') {
      const query = open.pop();
      if (query) {
        end();
        line = `${indent()})`;
      } else line += ')';
      continue;
    }
    if (part === ',' && !inside && ['SELECT', 'WITH'].includes(clause)) {
      line += ',';
      end();
      line = `${indent()}  `;
      continue;
    }
    if (!inside && /^(AND|OR)$/i.test(part) && ['WHERE', 'HAVING'].includes(clause)) {
      end();
      line = `${indent()}  ${part.toUpperCase()}`;
      continue;
    }
    if (line.trim() === '') line += part;
    else add(part);
  }
  end();
  return lines.join('\n');
}

/** @param {string} text whether it only reads, by how it begins */
export const isQuery = text => /^\s*(select|with)\b/i.test(text);

/**
 * A statement that was run: formatted, copied, changed and run again.
 * @param {{ title?: string, sql: string, onRun?: (sql: string) => Promise<Reply>,
 *   children?: (reply: Reply) => any }} props
 */
export function SqlCard({ title, sql, onRun, children }) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [reply, setReply] = useState(/** @type {Reply | null} */ (null));
  const shown = formatSql(sql);
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!onRun || text === null) return;
    if (!isQuery(text)) {
      setProblem(
        asProblem({ title: 'Not run', detail: 'Only queries run here: begin with SELECT or WITH.' }),
      );
      return;
    }
    setBusy(true);
    setProblem(null);
    try {
      setReply(await onRun(text));
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  return html`<figure class="code sql">
    <figcaption>
      <span dir="auto">${title}</span>
      <span class="actions"
        ><${Copy} text=${shown} /> ${
          onRun &&
          text === null &&
          html`<button class="quiet-button" type="button" onClick=${() => setText(shown)}>
            <${Icon} name="edit" size=${15} />Edit
          </button>`
        }</span
      >
    </figcaption>
    ${
      text === null
        ? html`<pre tabindex="0"><code>${shown}</code></pre>`
        : html`<form onSubmit=${run}>
            <textarea
              class="mono"
              aria-label="SQL"
              spellcheck=${false}
              rows=${Math.min(20, Math.max(4, text.split('\n').length + 1))}
              value=${text}
              onInput=${(/** @type {any} */ event) => setText(event.target.value)}
              onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void run(event);
              }}
            ></textarea>
            <div class="actions">
              <button class="button small primary" type="submit" disabled=${busy || !text.trim()}>
                <${Icon} name="play" size=${14} />${busy ? 'Running…' : 'Run'}
              </button>
              <button
                class="button small"
                type="button"
                onClick=${() => {
                  setText(null);
                  setReply(null);
                  setProblem(null);
                }}
              >
                Discard
              </button>
              <span class="small muted">Runs with your rights and is kept in this conversation.</span>
            </div>
          </form>`
    }
    ${problem && html`<${Trouble} problem=${problem} />`}
    ${reply && html`<div class="sql-result" aria-live="polite">${children?.(reply)}</div>`}
  </figure>`;
}
