// A table that sorts and pages in the browser, with numbers and dates in the reader's locale and
// the raw values as CSV.
import { html, useEffect, useMemo, useRef, useState, classes } from '../html.js';
import * as format from '../format.js';
import { Icon } from './icons.js';
import { fileTitle, save } from './bits.js';
import { say } from './toast.js';

const PAGE = 25;
const DATE = /^\d{4}-\d\d-\d\d(T00:00:00(\.0+)?Z?)?$/;
const MOMENT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;
// Ids, years and postal codes are names: 2021 is not 2,021.
const NAMING = /(^|[\s_.])(id|ids|year|zip|postcode|code|no|number|sku|isbn)$/i;

/** @typedef {'number' | 'name' | 'month' | 'date' | 'moment' | 'text'} Kind */

/**
 * What a column holds, by its values.
 * @param {string} column
 * @param {Cell[]} values
 * @returns {Kind}
 */
function kindOf(column, values) {
  const there = values.filter(value => value !== null && value !== '');
  if (!there.length) return 'text';
  if (there.every(value => typeof value === 'number'))
    return NAMING.test(column) && !/^(number|count) of/i.test(column) ? 'name' : 'number';
  if (there.every(value => typeof value === 'string' && DATE.test(value)))
    return /month|quarter/i.test(column) && there.every(value => String(value).slice(8, 10) === '01')
      ? 'month'
      : 'date';
  if (there.every(value => typeof value === 'string' && MOMENT.test(value))) return 'moment';
  return 'text';
}

/**
 * Whether numbers of a column show their decimals, so that they stand below each other.
 * @param {Cell[]} values
 */
const broken = values =>
  values.some(value => typeof value === 'number' && !Number.isInteger(value)) &&
  values.every(value => typeof value !== 'number' || value === 0 || Math.abs(value) >= 0.01);

/** @param {Cell | object} value @param {Kind} kind @param {boolean} [decimals] */
export function cell(value, kind, decimals) {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'number')
    return kind === 'name' ? format.name(value) : decimals ? format.decimals(value) : format.number(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'object') return JSON.stringify(value);
  if (kind === 'month' || kind === 'date') return format.date(value, kind === 'month');
  if (kind === 'moment') return format.time(value.replace(' ', 'T'));
  return value;
}

/** Text of the data keeps its own direction. @param {string} text @param {Kind} kind */
const isolated = (text, kind) => (kind === 'text' ? html`<bdi>${text}</bdi>` : text);

/** @param {string[]} columns @param {Cell[][]} rows */
export function toCsv(columns, rows) {
  /** @param {any} value */
  const quoted = value => {
    let text =
      value === null || value === undefined
        ? ''
        : typeof value === 'object'
          ? JSON.stringify(value)
          : String(value);
    // A spreadsheet would run what begins like a formula.
    if (typeof value === 'string' && /^[=+@\t\r]|^-[^\d.]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map(row => row.map(quoted).join(',')).join('\r\n') + '\r\n';
}

/** @param {any} a @param {any} b */
function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined || a === '') return 1;
  if (b === null || b === undefined || b === '') return -1;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true, sensitivity: 'base' });
}

/**
 * @param {{ title?: string, columns: string[], rows: Cell[][], truncated?: boolean, note?: string,
 *   file?: string, marked?: { column: string, rows: number[] }, plain?: boolean }} props
 */
export function Table({ title, columns, rows, truncated, note, file, marked, plain }) {
  const [sort, setSort] = useState(/** @type {{ at: number, down: boolean } | null} */ (null));
  const [page, setPage] = useState(() => (marked?.rows.length ? Math.floor(marked.rows[0] / PAGE) : 0));
  const kinds = useMemo(
    () =>
      columns.map((column, at) =>
        kindOf(
          column,
          rows.map(row => row[at]),
        ),
      ),
    [columns, rows],
  );
  const decimals = useMemo(() => columns.map((_, at) => broken(rows.map(row => row[at]))), [columns, rows]);
  const order = useMemo(() => {
    const all = rows.map((_, at) => at);
    if (!sort) return all;
    return all.sort(
      (a, b) =>
        compare(rows[a][sort.at], rows[b][sort.at]) *
        (sort.down && rows[a][sort.at] !== null && rows[b][sort.at] !== null ? -1 : 1),
    );
  }, [rows, sort]);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const shown = order.slice(page * PAGE, (page + 1) * PAGE);
  const turn = (/** @type {number} */ at) => {
    setSort(
      sort?.at !== at
        ? { at, down: kinds[at] === 'number' }
        : sort.down === (kinds[at] === 'number')
          ? { at, down: !sort.down }
          : null,
    );
    setPage(0);
  };
  const figure = useRef(/** @type {any} */ (null));
  useEffect(() => {
    // A document of the answer holds every row, not only the page that is shown.
    if (figure.current)
      figure.current.tableRows = () =>
        order.map(row =>
          columns.map((_, at) => [cell(rows[row][at], kinds[at], decimals[at]), kinds[at] === 'number']),
        );
  });
  const name = fileTitle(file || title || 'table');
  const sheet = async () => {
    try {
      const { workbook } = await import('./xlsx.js');
      save(`${name}.xlsx`, workbook([{ title: title || 'Table', columns, rows }]));
    } catch {
      say('The workbook could not be written.', true);
    }
  };
  return html`<figure class="table" ref=${figure}>
    ${
      !plain &&
      html`<figcaption>
        <span class="table-title" dir="auto">${title}</span
        ><span class="muted small">
          ${format.count(rows.length, 'row')}${truncated ? ', truncated' : ''}</span
        >
        <span class="table-tools">
          <button
            class="quiet-button"
            type="button"
            onClick=${() => save(`${name}.csv`, toCsv(columns, rows), 'text/csv')}
          >
            <${Icon} name="download" size=${15} />CSV
          </button>
          <button class="quiet-button" type="button" onClick=${sheet}>
            <${Icon} name="download" size=${15} />Excel
          </button>
        </span>
      </figcaption>`
    }
    <div class="table-scroll" tabindex="0" role="region" aria-label=${title || 'Table'}>
      <table>
        <thead>
          <tr>
            ${columns.map(
              (column, at) =>
                html`<th
                  key=${at}
                  scope="col"
                  class=${classes(kinds[at] === 'number' && 'right')}
                  aria-sort=${sort?.at === at ? (sort.down ? 'descending' : 'ascending') : 'none'}
                >
                  <button type="button" onClick=${() => turn(at)}>
                    ${format.words(column)}<span class="sort" aria-hidden="true">
                      ${sort?.at === at ? (sort.down ? '↓' : '↑') : ''}</span
                    >
                  </button>
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            row =>
              html`<tr key=${row} class=${classes(marked?.rows.includes(row) && 'marked')}>
                ${columns.map(
                  (column, at) =>
                    html`<td
                      key=${at}
                      class=${classes(
                        kinds[at] === 'number' && 'right',
                        ['date', 'month', 'moment'].includes(kinds[at]) && 'nowrap',
                        marked?.rows.includes(row) && marked.column === column && 'marked-cell',
                      )}
                      title=${typeof rows[row][at] === 'number' ? String(rows[row][at]) : null}
                    >
                      ${isolated(cell(rows[row][at], kinds[at], decimals[at]), kinds[at])}
                    </td>`,
                )}
              </tr>`,
          )}
          ${
            !rows.length &&
            html`<tr>
              <td colspan=${columns.length} class="muted">No rows.</td>
            </tr>`
          }
        </tbody>
      </table>
    </div>
    ${
      pages > 1 &&
      html`<div class="pager">
        <button
          class="icon-button"
          type="button"
          aria-label="Previous page"
          disabled=${page === 0}
          onClick=${() => setPage(page - 1)}
        >
          <${Icon} name="left" size=${16} />
        </button>
        <span class="small" aria-live="polite">
          ${format.number(page * PAGE + 1)}–${format.number(Math.min(rows.length, (page + 1) * PAGE))} of
          ${format.number(rows.length)}</span
        >
        <button
          class="icon-button"
          type="button"
          aria-label="Next page"
          disabled=${page >= pages - 1}
          onClick=${() => setPage(page + 1)}
        >
          <${Icon} name="right" size=${16} />
        </button>
      </div>`
    }
    ${
      truncated || note
        ? html`<p class="small muted table-note">${note || 'The table has more rows than shown here.'}</p>`
        : null
    }
  </figure>`;
}
