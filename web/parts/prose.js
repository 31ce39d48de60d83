// Turns the words of an answer into paragraphs, lists, emphasis and code, and makes numbers with
// evidence clickable. Everything stays
// text: there are no links and no HTML in an answer, because part of it may come from untrusted
// data.
import { html } from '../html.js';

/** @typedef {{ kind: 'p' | 'h' | 'ul' | 'ol' | 'pre', lines: string[] }} Block */

/** @param {string} text @returns {Block[]} */
export function blocks(text) {
  /** @type {Block[]} */
  const found = [];
  /** @type {Block | null} */
  let fence = null;
  let fresh = true;
  for (const line of text.split('\n')) {
    if (/^\s*```/.test(line)) {
      fence = fence ? null : { kind: 'pre', lines: [] };
      if (fence) found.push(fence);
      fresh = true;
      continue;
    }
    if (fence) {
      fence.lines.push(line);
      continue;
    }
    if (!line.trim()) {
      fresh = true;
      continue;
    }
    const bullet = /^\s*[•*-]\s+(.*)$/.exec(line),
      numbered = /^\s*\d{1,2}[.)]\s+(.*)$/.exec(line),
      heading = /^#{1,4}\s+(.*)$/.exec(line);
    /** @type {Block['kind']} */
    const kind = heading ? 'h' : bullet ? 'ul' : numbered ? 'ol' : 'p';
    const words = (heading ?? bullet ?? numbered)?.[1] ?? line.trim();
    const before = found.at(-1);
    if (before && before.kind === kind && (kind === 'ul' || kind === 'ol' || (kind === 'p' && !fresh)))
      before.lines.push(words);
    else found.push({ kind, lines: [words] });
    fresh = false;
  }
  return found;
}

/** @param {string} text */
const escaped = text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * The numbers that have evidence, each once; names out of a table do not need it.
 * @param {Evidence[]} evidence
 */
export const proven = evidence => [
  ...new Set(
    evidence
      .filter(one => one.operation !== 'label' && /\d/.test(one.text) && !/\p{L}{3}/u.test(one.text))
      .map(one => one.text),
  ),
];

/**
 * Finds the proven numbers in a text. A number inside a longer number does not count.
 * @param {Evidence[]} evidence @returns {RegExp | null}
 */
export function pattern(evidence) {
  const texts = proven(evidence).sort((a, b) => b.length - a.length);
  return texts.length
    ? new RegExp(`(?<![\\d\\p{L}]|\\d[.,])(?:${texts.map(escaped).join('|')})(?!\\d|[.,]\\d|\\p{L})`, 'gu')
    : null;
}

/**
 * @param {string} text
 * @param {RegExp | null} numbers
 * @param {((text: string) => void) | undefined} onNumber
 */
function inline(text, numbers, onNumber) {
  /** @type {any[]} */
  const out = [];
  for (const piece of text.split(/(\*\*[^*]+\*\*|`[^`]+`)/)) {
    if (/^\*\*.+\*\*$/.test(piece))
      out.push(html`<strong>${linked(piece.slice(2, -2), numbers, onNumber)}</strong>`);
    else if (/^`.+`$/.test(piece)) out.push(html`<code>${piece.slice(1, -1)}</code>`);
    else out.push(...linked(piece, numbers, onNumber));
  }
  return out;
}

/**
 * @param {string} text
 * @param {RegExp | null} numbers
 * @param {((text: string) => void) | undefined} onNumber
 */
function linked(text, numbers, onNumber) {
  if (!numbers || !onNumber) return [text];
  const out = [];
  let from = 0;
  for (const match of text.matchAll(numbers)) {
    // Brackets and punctuation stay on the number's line: a button would else allow a break between
    // them.
    const before = /[^\s]*$/.exec(text.slice(from, match.index))?.[0] ?? '';
    const after = /^[^\s\p{L}\p{N}]*/u.exec(text.slice(match.index + match[0].length))?.[0] ?? '';
    out.push(
      text.slice(from, match.index - before.length),
      html`<span class="nowrap"
        >${before}<button
          class="number"
          type="button"
          title="Where this number comes from"
          onClick=${() => onNumber(match[0])}
        >
          ${match[0]}</button
        >${after}</span
      >`,
    );
    from = match.index + match[0].length + after.length;
  }
  return [...out, text.slice(from)];
}

/** @param {{ text: string, numbers?: RegExp | null, onNumber?: (text: string) => void }} props */
export function Prose({ text, numbers = null, onNumber }) {
  const say = (/** @type {string} */ words) => inline(words, numbers, onNumber);
  return html`<div class="prose">
    ${blocks(text).map((block, at) => {
      if (block.kind === 'pre')
        return html`<pre key=${at} tabindex="0"><code>${block.lines.join('\n')}</code></pre>`;
      if (block.kind === 'ul')
        return html`<ul key=${at}>
          ${block.lines.map(line => html`<li dir="auto">${say(line)}</li>`)}
        </ul>`;
      if (block.kind === 'ol')
        return html`<ol key=${at}>
          ${block.lines.map(line => html`<li dir="auto">${say(line)}</li>`)}
        </ol>`;
      if (block.kind === 'h') return html`<h2 key=${at} dir="auto">${say(block.lines[0])}</h2>`;
      return html`<p key=${at} dir="auto">
        ${block.lines.map((line, n) => html`${n ? html`<br />` : null}${say(line)}`)}
      </p>`;
    })}
  </div>`;
}
