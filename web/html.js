// The one place that knows the rendering library: `html` templates and hooks. Text put into a
// template is always text; nothing
// here or elsewhere writes HTML.
import { h, render, Fragment, Component } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';

export { render, Fragment, Component };
export {
  useState,
  useEffect,
  useLayoutEffect,
  useRef,
  useMemo,
  useCallback,
  useErrorBoundary,
  useId,
} from './vendor/hooks.mjs';

const build = htm.bind(h);

/** @type {WeakMap<TemplateStringsArray, TemplateStringsArray>} */
const known = new WeakMap();

/**
 * Makes elements out of a template. A line break is a space, as in HTML: the formatter breaks lines
 * where a space may stand. The library alone would drop it and join the words.
 * @param {TemplateStringsArray} strings
 * @param {...any} values
 */
export const html = (strings, ...values) => {
  let kept = known.get(strings);
  if (!kept) {
    kept = spaced(strings);
    known.set(strings, kept);
  }
  return build(kept, ...values);
};

/**
 * The strings of a template with line breaks replaced by the space that they stand for, or by
 * nothing at the beginning and the end of an element.
 * @param {TemplateStringsArray} strings
 * @returns {TemplateStringsArray}
 */
export function spaced(strings) {
  let quote = '';
  let inTag = false;
  // What stands before the text: the beginning of its element, another element, or a value.
  let before = 'begin';
  const out = strings.map((string, index) => {
    let made = '';
    let at = 0;
    while (at < string.length) {
      if (inTag) {
        const end = endOfTag(string, at, quote);
        made += string.slice(at, end.at);
        ({ quote } = end);
        at = end.at;
        if (end.closed) {
          inTag = false;
          before = end.alone || before === 'closing' ? 'element' : 'begin';
        }
        continue;
      }
      const open = string.indexOf('<', at);
      const stop = open < 0 ? string.length : open;
      const after =
        open < 0
          ? index === strings.length - 1
            ? 'end'
            : 'value'
          : string[open + 1] === '/'
            ? 'end'
            : 'element';
      made += spacedText(string.slice(at, stop), before, after);
      if (open >= 0) {
        inTag = true;
        before = after === 'end' ? 'closing' : 'opening';
        made += '<';
      }
      at = open < 0 ? stop : open + 1;
    }
    if (!inTag) before = 'value';
    return made;
  });
  return /** @type {TemplateStringsArray} */ (/** @type {unknown} */ (out));
}

/**
 * A piece of text between two neighbours.
 * @param {string} text
 * @param {string} before
 * @param {string} after
 */
function spacedText(text, before, after) {
  const inner = before === 'element' || before === 'value';
  const more = after === 'element' || after === 'value';
  if (!text.trim()) {
    if (!text.includes('\n')) return text;
    return inner && more ? ' ' : '';
  }
  return text.replace(/^\s*\n\s*/, inner ? ' ' : '').replace(/\s*\n\s*$/, more ? ' ' : '');
}

/**
 * Where a tag ends, or the string does.
 * @param {string} string
 * @param {number} at
 * @param {string} quote
 */
function endOfTag(string, at, quote) {
  for (; at < string.length; at++) {
    const letter = string[at];
    if (quote) {
      if (letter === quote) quote = '';
    } else if (letter === '"' || letter === "'") {
      quote = letter;
    } else if (letter === '>') {
      return { at: at + 1, quote, closed: true, alone: string[at - 1] === '/' };
    }
  }
  return { at, quote, closed: false, alone: false };
}

/**
 * Class names that hold.
 * @param {...(string | false | null | undefined)} names
 */
export const classes = (...names) => names.filter(Boolean).join(' ');
