// Where a number comes from: the statement that was run, the table that came back, and the cells it
// was taken from.
import { html } from '../html.js';
import * as format from '../format.js';
import { Dialog } from './dialog.js';
import { Table } from './table.js';
import { Code } from './bits.js';

/** @type {Record<string, string>} */
const OPERATIONS = {
  value: 'unchanged value of the cell',
  sum: 'the sum of these rows',
  mean: 'the mean of these rows',
  average: 'the mean of these rows',
  count: 'the number of these rows',
  difference: 'the difference of these rows',
  change: 'the change between these rows',
  change_percent: 'the change between these rows, in percent',
  share: 'the share of these rows',
  ratio: 'the ratio of these rows',
  max: 'the largest of these rows',
  min: 'the smallest of these rows',
};

/** The numbers of rows, or how many there are. @param {number[]} rows */
const rowsNamed = rows =>
  rows.length > 12
    ? format.count(rows.length, 'row')
    : rows.map(row => format.number(row + 1)).join(', ') || '–';

/** @param {{ text: string, analyses: Analysis[], onClose: () => void }} props */
export function EvidenceDialog({ text, analyses, onClose }) {
  const seen = new Set();
  const found = analyses
    .flatMap(analysis => analysis.evidence.filter(one => one.text === text).map(one => ({ one, analysis })))
    .filter(({ one }) => {
      const key = JSON.stringify([one.call_id, one.table, one.column, one.rows, one.operation]);
      return !seen.has(key) && seen.add(key);
    });
  return html`<${Dialog} sheet title=${html`Where <span class="number-big">${text}</span> comes from`}
    onClose=${onClose}>
    ${found.map(({ one, analysis }, at) => {
      const table = analysis.tables.find(table => table.name === one.table);
      const sql = analysis.sql.find(sql => sql.call_id === one.call_id);
      return html`<section key=${at} class="evidence">
        <dl class="pairs">
          <dt>Column</dt>
          <dd>${format.words(one.column)}</dd>
          <dt>Table</dt>
          <dd>${table?.title ?? one.table}</dd>
          <dt>${one.rows.length === 1 ? 'Row' : 'Rows'}</dt>
          <dd>${rowsNamed(one.rows)}</dd>
          <dt>Operation</dt>
          <dd>${OPERATIONS[one.operation] ?? format.words(one.operation)}</dd>
        </dl>
        ${
          table &&
          html`<${Table}
            title=${table.title}
            columns=${table.columns}
            rows=${table.rows}
            truncated=${table.truncated}
            marked=${{ column: one.column, rows: one.rows }}
          />`
        }
        ${sql && html`<${Code} title="Query" text=${sql.sql} />`}
      </section>`;
    })}</${Dialog}>`;
}
