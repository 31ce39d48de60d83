// Modal dialogs on the browser's own <dialog>, which keeps the focus inside and gives it back.
import { html, useEffect, useRef, useState } from '../html.js';
import { Watched, useWatched } from '../store.js';
import { Icon } from './icons.js';

/**
 * @param {{ title: any, onClose: () => void, children?: any, sheet?: boolean, wide?: boolean }}
 *   props
 */
export function Dialog({ title, onClose, children, sheet, wide }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = ref.current;
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog?.showModal();
    return () => {
      dialog?.close();
      before?.focus?.();
    };
  }, []);
  return html`<dialog
    ref=${ref}
    class="dialog ${sheet ? 'sheet' : ''} ${wide ? 'wide' : ''}"
    aria-labelledby="dialog-title"
    onCancel=${(/** @type {Event} */ e) => {
      e.preventDefault();
      onClose();
    }}
    onClick=${(/** @type {MouseEvent} */ e) => {
      if (e.target === ref.current) onClose();
    }}
  >
    <div class="dialog-body">
      <div class="dialog-head">
        <h2 id="dialog-title">${title}</h2>
        <button class="icon-button" type="button" aria-label="Close" onClick=${onClose}>
          <${Icon} name="close" />
        </button>
      </div>
      ${children}
    </div>
  </dialog>`;
}

/**
 * @typedef {{ title: string, text: string, action: string, danger?: boolean, field?: string,
 *   value?: string,
 *   answer: (value: string | null) => void }} Question
 */
/** @type {Watched<Question | null>} */
const asked = new Watched(/** @type {Question | null} */ (null));

/**
 * Asks before something is done. Answers null when it is called off, else what was written (or '').
 * @param {Omit<Question, 'answer'>} question @returns {Promise<string | null>}
 */
export const confirm = question =>
  new Promise(resolve =>
    asked.set({
      ...question,
      answer: value => {
        asked.set(null);
        resolve(value);
      },
    }),
  );

export function Confirm() {
  const question = useWatched(asked);
  const [text, setText] = useState('');
  useEffect(() => setText(question?.value ?? ''), [question]);
  if (!question) return null;
  return html`<${Dialog} title=${question.title} onClose=${() => question.answer(null)}>
    <form onSubmit=${(/** @type {Event} */ e) => {
      e.preventDefault();
      question.answer(text);
    }}>
    ${question.text && html`<p>${question.text}</p>`}
    ${
      question.field &&
      html`<label class="field"
        ><span>${question.field}</span>
        <input value=${text} onInput=${(/** @type {any} */ e) => setText(e.target.value)} autofocus
      /></label>`
    }
    <div class="actions end"><button class="button" type="button"
      onClick=${() => question.answer(null)}>Cancel</button>
    <button class="button ${question.danger ? 'danger' : 'primary'}" type="submit" autofocus=${!question.field}>
      ${question.action}</button></div></form></${Dialog}>`;
}
