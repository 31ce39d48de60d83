// One turn of a conversation: what was said, with its files, and its answer while it is told and
// after.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../html.js';
import { part, patch } from '../api.js';
import { listChanged } from '../thread.js';
import { copy } from './bits.js';
import { FileCard } from './file-card.js';
import { Icon } from './icons.js';
import { Prose } from './prose.js';
import { ReplyCard, Steps } from './reply.js';
import { formatSql, isQuery } from './sql.js';
import { Skeleton, Trouble } from './states.js';
import { say, sayProblem } from './toast.js';

/**
 * Brings the beginning of an element below the title of the thread.
 * @param {Element | null} element
 */
export function toTop(element) {
  const main = document.getElementById('main');
  if (main && element)
    main.scrollTop += element.getBoundingClientRect().top - main.getBoundingClientRect().top - 58;
}

/**
 * Stands where the composer is while a conversation is archived.
 * @param {{ id: string, onRestored: () => void }} props
 */
export function Archived({ id, onRestored }) {
  const restore = async () => {
    try {
      await patch(`/conversations/${part(id)}`, { status: 'active' });
      say('Restored');
      listChanged();
      onRestored();
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<p class="note archived">
    <${Icon} name="archive" size=${16} /><span>This conversation is archived.</span>
    <button class="button small" type="button" onClick=${restore}>Restore</button>
  </p>`;
}

/** How much of a long message is shown at once. */
const SHOWN_LINES = 8,
  SHOWN_LETTERS = 700;

/** @param {string} text */
function shortened(text) {
  const lines = text.split('\n');
  if (lines.length <= SHOWN_LINES && text.length <= SHOWN_LETTERS) return null;
  return `${lines.slice(0, SHOWN_LINES).join('\n').slice(0, SHOWN_LETTERS).trimEnd()}…`;
}

/**
 * A question that is changed before it is asked again.
 * @param {{ turn: import('../thread.js').Turn, busy: boolean, onAsk: (text: string) => void,
 *   onClose: () => void }} props
 */
function EditQuestion({ turn, busy, onAsk, onClose }) {
  const [text, setText] = useState(turn.user);
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  const ask = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (text.trim() && !busy) onAsk(text.trim());
  };
  return html`<form class="said editing" onSubmit=${ask}>
    <textarea
      ref=${field}
      dir="auto"
      aria-label="Edit the question"
      rows=${Math.min(10, Math.max(2, text.split('\n').length))}
      value=${text}
      onInput=${(/** @type {any} */ event) => setText(event.target.value)}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) ask(event);
        if (event.key === 'Escape') {
          event.stopPropagation();
          onClose();
        }
      }}
    ></textarea>
    <div class="actions end">
      <button class="button small" type="button" onClick=${onClose}>Cancel</button>
      <button class="button small primary" type="submit" disabled=${busy || !text.trim()}>Ask again</button>
    </div>
  </form>`;
}

/**
 * What was said: long messages are folded, SQL is shown as code, and it can be changed and asked
 * again, with its files.
 * @param {{ turn: import('../thread.js').Turn, busy: boolean,
 *   onSay: import('./reply.js').Say }} props
 */
function Said({ turn, busy, onSay }) {
  const [whole, setWhole] = useState(false);
  const [editing, setEditing] = useState(false);
  if (editing)
    return html`<${EditQuestion}
      turn=${turn}
      busy=${busy}
      onClose=${() => setEditing(false)}
      onAsk=${(/** @type {string} */ text) => {
        setEditing(false);
        onSay(text, turn.files);
      }}
    />`;
  const sql = isQuery(turn.user) && /\bfrom\b/i.test(turn.user);
  const short = shortened(turn.user);
  const shown = short && !whole ? short : turn.user;
  return html`<div class="said">
    <div class="bubble ${sql ? 'sql' : ''}" dir="auto">
      ${sql ? html`<code>${formatSql(shown)}</code>` : shown}
      ${
        short &&
        html`<button
          class="quiet-button unfold"
          type="button"
          aria-expanded=${whole}
          onClick=${() => setWhole(!whole)}
        >
          ${whole ? 'Show less' : 'Show all'}
        </button>`
      }
    </div>
    ${turn.files.map(file => html`<${FileCard} key=${file.id ?? file.name} file=${file} />`)}
    ${
      turn.status === 'done' &&
      html`<div class="said-tools">
        <button
          class="icon-button"
          type="button"
          aria-label="Edit and ask again"
          title="Edit and ask again"
          onClick=${() => setEditing(true)}
        >
          <${Icon} name="edit" size=${15} />
        </button>
        <button
          class="icon-button"
          type="button"
          aria-label="Copy the question"
          title="Copy"
          onClick=${() => copy(turn.user)}
        >
          <${Icon} name="copy" size=${15} />
        </button>
      </div>`
    }
  </div>`;
}

/**
 * What an answer took over from earlier turns, each with a way to ask without it.
 * @param {{ turn: import('../thread.js').Turn, before: string, last: boolean,
 *   onSay: import('./reply.js').Say }} props
 */
function CarriedOver({ turn, before, last, onSay }) {
  const carried = turn.reply?.carried ?? [];
  if (!carried.length) return null;
  const names = (turn.reply?.analyses ?? []).flatMap(one => one.sources.map(source => source.name));
  const labels = {
    data: `Data: ${[...new Set(names)].join(', ') || 'as before'}`,
    question: before ? `Earlier question: ${before}` : 'The earlier question',
  };
  return html`<div class="carried" role="group" aria-label="Taken over from earlier">
    ${carried.map(
      kind =>
        html`<span key=${kind} class="chip carried-chip"
          ><bdi>${labels[kind]}</bdi> ${
            last &&
            html`<button
              type="button"
              aria-label=${`Ask again without: ${labels[kind]}`}
              title="Ask again without this"
              onClick=${() => onSay(turn.user, turn.files, undefined, [kind])}
            >
              <${Icon} name="close" size=${12} />
            </button>`
          }</span
        >`,
    )}
  </div>`;
}

/**
 * @param {{ turn: import('../thread.js').Turn, last: boolean, many: boolean, before: string,
 *   busy: boolean, onSay: import('./reply.js').Say, onRun: (sql: string) => Promise<Reply> }} props
 */
export function TurnView({ turn, last, many, before, busy, onSay, onRun }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (last && (turn.status === 'running' || many)) toTop(box.current);
  }, []);
  const { reply } = turn;
  const again = () => onSay(turn.user, turn.files);
  const first = { what: turn.stopped ? 'Stopping' : 'Understanding the question', state: 'running' };
  return html`<article ref=${box} class="turn ${last ? 'last' : ''}" aria-label=${turn.user || 'Answer'}>
    ${turn.user && html`<${Said} turn=${turn} busy=${busy} onSay=${onSay} />`}
    <div class="answer">
      ${turn.status === 'running' && html`<${Steps} steps=${turn.steps.length ? turn.steps : [first]} />`}
      <${CarriedOver} turn=${turn} before=${before} last=${last && !busy} onSay=${onSay} />
      ${
        reply
          ? html`<div>
              <${ReplyCard}
                reply=${reply}
                question=${turn.user}
                onSay=${onSay}
                onRun=${onRun}
                last=${last && turn.status === 'done'}
              />
            </div>`
          : turn.text
            ? html`<div class=${turn.status === 'running' ? 'telling' : ''}>
                <${Prose} text=${turn.text} />
              </div>`
            : null
      }
      ${
        turn.away &&
        html`<p class="note warn" role="status">
          <${Icon} name="warn" size=${16} /><span>Connection lost. Reconnecting…</span>
        </p>`
      }
      ${turn.fetching && !reply && html`<${Skeleton} lines=${2} label="Loading tables and charts" />`}
      ${
        turn.problem &&
        !reply &&
        !turn.stopped &&
        html`<${Trouble} problem=${turn.problem} retry=${last && !busy ? again : undefined} />`
      }
      ${
        turn.interrupted && !turn.problem && last && !busy
          ? html`<p>
              <button class="button small" type="button" onClick=${again}>
                <${Icon} name="refresh" size=${15} />Ask again
              </button>
            </p>`
          : null
      }
      ${
        turn.stopped && turn.status === 'done' && !reply
          ? html`<p class="muted stopped">
              <${Icon} name="stop" size=${15} />Stopped. No further steps were run.
              ${
                last && turn.user && !busy
                  ? html` <button class="quiet-button" type="button" onClick=${again}>Ask again</button>`
                  : null
              }
            </p>`
          : null
      }
    </div>
  </article>`;
}
