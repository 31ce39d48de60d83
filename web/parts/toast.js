// Short notices at the edge of the page, read out by screen readers.
import { html, useEffect, useRef } from '../html.js';
import { Watched, useWatched } from '../store.js';
import { asProblem } from '../api.js';

/** @typedef {{ id: number, text: string, bad: boolean, target?: string }} Notice */
/** @type {Watched<Notice[]>} */
const notices = new Watched(/** @type {Notice[]} */ ([]));
let last = 0;

/** @param {string} text @param {boolean} [bad] @param {string} [target] where it leads */
export function say(text, bad = false, target) {
  const id = ++last;
  notices.set([...notices.value.slice(-2), { id, text, bad, target }]);
  const time = bad || target ? 9000 : 4000;
  setTimeout(() => notices.set(notices.value.filter(notice => notice.id !== id)), time);
}
/** @param {any} error */
export const sayProblem = error => {
  const problem = asProblem(error);
  say(problem.code ? `${problem.message} (${problem.code})` : problem.message, true);
};

/**
 * Notices are a popover: it stands above a dialog that is open, and is raised again by each notice.
 */
export function Toasts() {
  const shown = useWatched(notices);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const newest = shown.at(-1)?.id ?? 0;
  useEffect(() => {
    const element = box.current;
    if (!element?.showPopover) return;
    if (element.matches(':popover-open')) element.hidePopover();
    if (newest) element.showPopover();
  }, [newest]);
  return html`<div class="toasts" popover="manual" ref=${box} role="status" aria-live="polite">
    ${shown.map(
      notice =>
        html`<div key=${notice.id} class="toast ${notice.bad ? 'bad' : ''}">
          ${notice.target ? html`<a href=${notice.target}>${notice.text}</a>` : notice.text}
        </div>`,
    )}
  </div>`;
}
