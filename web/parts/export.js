// Answers as documents that stand alone: a web page with tables and charts, and a workbook of the
// tables.
import { workbook } from './xlsx.js';
import { fileTitle, save } from './bits.js';

const STYLE = `
body { font: 15px/1.55 system-ui, sans-serif; color: #1d1f24; max-width: 900px; margin: 40px auto; padding: 0 20px; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.05rem; margin: 1.4em 0 0.4em; }
.bubble { background: #f3f3f0; border-radius: 12px; padding: 10px 14px; margin: 28px 0 12px; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #e2e1dc; padding: 5px 10px; text-align: start; vertical-align: top; }
.right { text-align: end; }
figure { margin: 18px 0; break-inside: avoid; } figcaption { font-weight: 600; margin-bottom: 6px; }
pre { background: #f3f3f0; border-radius: 8px; padding: 10px 12px; overflow-x: auto; font-size: 0.85rem; }
svg { max-width: 100%; height: auto; } .muted, .small { color: #62666f; font-size: 0.88rem; }
.note, .missing { border-inline-start: 3px solid #cfcec9; padding-inline-start: 10px; }
`;

/** @param {string} text */
const escaped = text => text.replace(/[&<>"]/g, letter => `&#${letter.charCodeAt(0)};`);

/** What only works in the page: controls, icons, hidden words. */
const CONTROLS =
  'button, form, textarea, input, .icon, .hidden, .said-tools, .suggestions, .reply-foot, .pager, .skeleton, ' +
  '.vega-bindings, .figure-tools, .carried, .how-links, .evidence-list, script';

/**
 * A part of the page as a document of its own: text and drawings, every row of its tables, no
 * controls.
 * @param {Element} shown
 */
function plainCopy(shown) {
  const copy = /** @type {Element} */ (shown.cloneNode(true));
  const [tables, copies] = [shown.querySelectorAll('figure.table'), copy.querySelectorAll('figure.table')];
  copies.forEach((figure, at) => {
    const all = /** @type {any} */ (tables[at]).tableRows;
    const body = figure.querySelector('tbody');
    if (!all || !body) return;
    body.textContent = '';
    for (const row of all()) {
      const line = document.createElement('tr');
      for (const [text, right] of row) {
        const cell = document.createElement('td');
        cell.textContent = text;
        if (right) cell.className = 'right';
        line.append(cell);
      }
      body.append(line);
    }
  });
  // A heading that is a button keeps its words.
  for (const button of copy.querySelectorAll('th button, .number'))
    button.replaceWith(document.createTextNode(button.textContent?.trim() ?? ''));
  for (const control of copy.querySelectorAll(CONTROLS)) control.remove();
  for (const fold of copy.querySelectorAll('details')) fold.setAttribute('open', '');
  for (const one of copy.querySelectorAll('[style], [tabindex], [aria-label]')) {
    if (!one.closest('svg')) one.removeAttribute('style');
    one.removeAttribute('tabindex');
  }
  return new XMLSerializer().serializeToString(copy);
}

/**
 * @param {string} title @param {Iterable<Element>} shown
 */
export function webPage(title, shown) {
  const parts = [...shown].map(plainCopy);
  return (
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>` +
    `<style>${STYLE}</style></head><body><h1 dir="auto">${escaped(title)}</h1>${parts.join('\n')}</body></html>\n`
  );
}

/** The whole conversation that is shown. @param {string} title */
export const conversationPage = title => webPage(title, document.querySelectorAll('.thread > .turn'));

/** @param {Reply} reply */
export const tablesOf = reply => [
  ...(reply.analyses ?? []).flatMap(one =>
    one.tables.map(table => ({ ...table, title: table.title || table.name })),
  ),
  ...(reply.tables ?? []).map(table => ({ ...table, title: table.noun || table.source })),
];

/** @param {string} title @param {Reply} reply */
export const saveWorkbook = (title, reply) => save(`${fileTitle(title)}.xlsx`, workbook(tablesOf(reply)));
