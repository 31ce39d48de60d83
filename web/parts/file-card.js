// A file: what is in it, its profile, its first rows, and questions worth asking of it.
import { html, useState } from '../html.js';
import * as format from '../format.js';
import { Dialog } from './dialog.js';
import { Icon } from './icons.js';
import { Table } from './table.js';

/** Columns that are named on a card. */
const NAMED = 8;

/** `1,200 rows`, or `about 1,200 rows`. @param {UploadTable} table */
export const rowsOf = table =>
  table.rows === null || table.rows === undefined
    ? 'rows not counted'
    : `${table.rows_estimated ? 'about ' : ''}${format.count(table.rows, 'row')}`;

/** @type {Record<string, string>} */
const KINDS = {
  integer: 'whole number',
  number: 'number',
  text: 'text',
  date: 'date',
  timestamp: 'time',
  boolean: 'yes or no',
};

/** What is known of a column, in words. @param {UploadColumn} column */
function about(column) {
  const parts = [];
  if (column.looks_like) parts.push(`looks like ${format.words(column.looks_like).toLowerCase()}`);
  else if (column.type === 'text' && column.frequent?.length)
    parts.push(
      column.frequent
        .slice(0, 3)
        .map(one => one.value)
        .join(', '),
    );
  else if (column.min !== null && column.min !== undefined)
    parts.push(`${shown(column.min)} to ${shown(column.max ?? null)}`);
  if (column.nulls && column.seen) parts.push(`${format.percent(column.nulls / column.seen)} empty`);
  return parts.join(' · ');
}
/** @param {Cell} value */
const shown = value => {
  if (typeof value === 'number') return format.number(value);
  const text = String(value ?? '–');
  return /^\d{4}-\d\d-\d\d/.test(text) ? format.date(text.slice(0, 10), false) : text;
};

/**
 * The profile and the first rows of a file.
 * @param {{ file: Upload, onClose: () => void }} props
 */
export function FileDialog({ file, onClose }) {
  return html`<${Dialog} sheet title=${html`<bdi>${file.name}</bdi>`} onClose=${onClose}>
    <${FileDetails} file=${file} /></${Dialog}>`;
}

/** @param {{ file: Upload }} props */
export const FileDetails = ({ file }) =>
  html`${(file.tables ?? []).map(
    table =>
      html`<section key=${table.name} class="file-table">
        <h3><bdi>${table.name}</bdi> <span class="muted small">${rowsOf(table)}</span></h3>
        ${
          (table.preview ?? []).length > 0 &&
          html`<${Table}
            title="First rows"
            columns=${table.columns.map(column => column.label ?? column.name)}
            rows=${table.preview}
            plain
          />`
        }
        <details class="fold" open>
          <summary>${format.count(table.columns.length, 'column')}</summary>
          <div class="table-scroll" tabindex="0" role="region" aria-label=${`Columns of ${table.name}`}>
            <table class="profile">
              <thead>
                <tr>
                  <th scope="col">Column</th>
                  <th scope="col">Kind</th>
                  <th scope="col" class="right">Different values</th>
                  <th scope="col">Content</th>
                </tr>
              </thead>
              <tbody>
                ${table.columns.map(
                  column =>
                    html`<tr key=${column.name}>
                      <th scope="row"><bdi>${column.label ?? column.name}</bdi></th>
                      <td>${KINDS[column.type] ?? column.type}</td>
                      <td class="right">
                        ${column.distinct === undefined ? '–' : format.number(column.distinct)}
                      </td>
                      <td><bdi>${about(column)}</bdi></td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>
        </details>
      </section>`,
  )}`;

/**
 * What was found in a file.
 * @param {{ file: Upload, onRemove?: () => void, onAsk?: (question: string) => void }} props
 */
export function FileCard({ file, onRemove, onAsk }) {
  const [open, setOpen] = useState(false);
  const tables = file.tables ?? [];
  const [first] = tables;
  const more = tables.length > 1 ? `, ${format.count(tables.length, 'table')}` : '';
  const size = [first && rowsOf(first) + more, format.bytes(file.bytes)].filter(Boolean).join(' · ');
  return html`<div class="file-card">
    <span class="file-icon"><${Icon} name=${file.gone ? 'warn' : 'file'} /></span>
    <div class="file-text">
      <p>
        <strong><bdi>${file.name}</bdi></strong>
        <span class="muted small"> ${file.gone ? ' was deleted' : ` ${size}`}</span>
      </p>
      ${
        first &&
        html`<p class="small muted file-columns">
          <bdi
            >${first.columns
              .slice(0, NAMED)
              .map(column => column.label ?? column.name)
              .join(', ')}</bdi
          >${first.columns.length > NAMED ? ` and ${first.columns.length - NAMED} more` : ''}
        </p>`
      }
      ${
        first?.preview &&
        html`<button class="quiet-button" type="button" onClick=${() => setOpen(true)}>
          <${Icon} name="table" size=${14} />Look inside<span class="hidden"> ${file.name}</span>
        </button>`
      }
      ${
        onAsk &&
        (file.questions ?? []).length > 0 &&
        html`<div class="file-questions" role="group" aria-label="Questions worth asking">
          ${file.questions?.map(
            question =>
              html`<button
                key=${question}
                class="chip suggestion"
                type="button"
                onClick=${() => onAsk(question)}
              >
                <bdi>${question}</bdi>
              </button>`,
          )}
        </div>`
      }
    </div>
    ${
      onRemove &&
      html`<button class="icon-button" type="button" aria-label=${`Remove ${file.name}`} onClick=${onRemove}>
        <${Icon} name="close" size=${16} />
      </button>`
    }
    ${open && html`<${FileDialog} file=${file} onClose=${() => setOpen(false)} />`}
  </div>`;
}
