// Where a question is written: text that grows, files by button or drop, send and stop.
import { html, useEffect, useRef, useState } from '../html.js';
import { Watched, useWatched } from '../store.js';
import { asProblem, remove, upload, part } from '../api.js';
import { FileCard } from './file-card.js';
import { Icon } from './icons.js';
import { sayProblem } from './toast.js';

const TYPES = [
  'csv',
  'tsv',
  'json',
  'jsonl',
  'ndjson',
  'parquet',
  'arrow',
  'feather',
  'avro',
  'xlsx',
  'xlsm',
  'xls',
  'xlsb',
  'ods',
  'sqlite',
  'db',
  'gz',
  'zst',
  'bz2',
  'xz',
  'zip',
  'tar',
  'tgz',
];
const MOST = 100_000_000;

/**
 * @typedef {{ key: number, name: string, share: number, upload?: Upload, problem?: string, kept?:
 *   boolean }}
 *   Attached
 */
/** Files that go with the next question. @type {Watched<Attached[]>} */
export const attached = new Watched(/** @type {Attached[]} */ ([]));
let keys = 0;

/** @param {number} key @param {Partial<Attached>} change */
const change = (key, change) =>
  attached.set(attached.value.map(one => (one.key === key ? { ...one, ...change } : one)));

/** @param {Iterable<File>} files */
export function attach(files) {
  for (const file of files) {
    const key = ++keys;
    const type = file.name.split('.').pop()?.toLowerCase() ?? '';
    const wrong = !TYPES.includes(type)
      ? `This file format is not supported. Supported: ${TYPES.join(', ')}.`
      : file.size > MOST
        ? 'The file is larger than 100 MB. Store it on the server and configure it as a data source.'
        : '';
    attached.set([...attached.value, { key, name: file.name, share: 0, ...(wrong && { problem: wrong }) }]);
    if (wrong) continue;
    upload(file, share => change(key, { share })).then(
      done => change(key, { upload: done, share: 1 }),
      error => change(key, { problem: asProblem(error).message }),
    );
  }
}

/** A file of the library goes with the next question. @param {Upload} file */
export function attachKept(file) {
  if (attached.value.some(one => one.upload?.id === file.id)) return;
  const key = ++keys;
  attached.set([...attached.value, { key, name: file.name, share: 1, upload: file, kept: true }]);
}

/** @param {Attached} one */
function detach(one) {
  attached.set(attached.value.filter(other => other.key !== one.key));
  if (one.upload && !one.kept) remove(`/uploads/${part(one.upload.id)}`).catch(sayProblem);
}

/** @param {{ one: Attached, onAsk: (question: string) => void }} props */
function Attachment({ one, onAsk }) {
  if (one.upload)
    return html`<${FileCard} file=${one.upload} onRemove=${() => detach(one)} onAsk=${onAsk} />`;
  return html`<div class="file-card">
    <span class="file-icon"><${Icon} name=${one.problem ? 'warn' : 'file'} /></span>
    <div class="file-text">
      <p>
        <strong>${one.name}</strong>
      </p>
      ${
        one.problem
          ? html`<p class="small bad-text" role="alert">${one.problem}</p>`
          : html`<progress max="1" value=${one.share} aria-label=${`Uploading ${one.name}`}></progress>`
      }
    </div>
    <button class="icon-button" type="button" aria-label=${`Remove ${one.name}`} onClick=${() => detach(one)}>
      <${Icon} name="close" size=${16} />
    </button>
  </div>`;
}

/**
 * @param {{ running: boolean, stopping: boolean, last: string, onSend: (text: string, files:
 *   Upload[]) => void, onStop: () => void }} props
 */
export function Composer({ running, stopping, last, onSend, onStop }) {
  const [text, setText] = useState('');
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const files = useWatched(attached);
  const loading = files.some(one => !one.upload && !one.problem);
  const ready = files.flatMap(one => (one.upload ? [one.upload] : []));
  const grow = () => {
    const area = field.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, 220)}px`;
  };
  useEffect(grow, [text]);
  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) field.current?.focus();
  }, []);
  /** A question that was offered for a file goes off with all files that are here. */
  const ask = (/** @type {string} */ question) => {
    if (running || loading) return;
    attached.set([]);
    onSend(question, ready);
  };
  const send = () => {
    const said = text.trim();
    if (!said || running || loading) return;
    setText('');
    attached.set([]);
    onSend(said, ready);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
    if (event.key === 'ArrowUp' && !text && last) {
      event.preventDefault();
      setText(last);
    }
    if (event.key === 'Escape') {
      if (running) onStop();
      else field.current?.blur();
    }
  };
  return html`<form
    class="composer"
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      send();
    }}
  >
    ${
      files.length > 0 &&
      html`<div class="attachments">
        ${files.map(one => html`<${Attachment} key=${one.key} one=${one} onAsk=${ask} />`)}
      </div>`
    }
    <div class="composer-row">
      <label class="hidden" for="question">Your question</label>
      <textarea
        id="question"
        dir="auto"
        ref=${field}
        rows="1"
        placeholder=${ready.length ? 'Ask about this file' : 'Ask about your data and tools'}
        value=${text}
        onInput=${(/** @type {any} */ event) => setText(event.target.value)}
        onKeyDown=${keys}
        enterkeyhint="send"
      ></textarea>
    </div>
    <div class="composer-tools">
      <input
        ref=${picker}
        type="file"
        class="hidden"
        tabindex="-1"
        aria-hidden="true"
        multiple
        accept=${TYPES.map(type => '.' + type).join(',')}
        onChange=${(/** @type {any} */ event) => {
          attach([...event.target.files]);
          event.target.value = '';
          field.current?.focus();
        }}
      />
      <button
        class="icon-button"
        type="button"
        aria-label="Add a file"
        title="Add a file: Excel, CSV, JSON, Parquet, SQLite, also zipped"
        onClick=${() => picker.current?.click()}
      >
        <${Icon} name="clip" />
      </button>
      <span class="hint small muted"
        ><kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> starts a new line</span
      >
      ${
        running
          ? html`<button
              class="send stop"
              type="button"
              aria-label="Stop"
              title="Stop (Esc)"
              disabled=${stopping}
              onClick=${onStop}
            >
              <${Icon} name="stop" />
            </button>`
          : html`<button class="send" type="submit" aria-label="Send" disabled=${!text.trim() || loading}>
              <${Icon} name="send" />
            </button>`
      }
    </div>
  </form>`;
}

/** Takes files dropped anywhere on the page. */
export function DropZone() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    let deep = 0;
    const has = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes('Files');
    const enter = (/** @type {DragEvent} */ event) => {
      if (has(event)) {
        deep += 1;
        setOver(true);
      }
    };
    const leave = (/** @type {DragEvent} */ event) => {
      if (has(event) && (deep -= 1) <= 0) {
        deep = 0;
        setOver(false);
      }
    };
    const hover = (/** @type {DragEvent} */ event) => {
      if (has(event)) event.preventDefault();
    };
    const drop = (/** @type {DragEvent} */ event) => {
      if (!has(event)) return;
      event.preventDefault();
      deep = 0;
      setOver(false);
      attach([...(event.dataTransfer?.files ?? [])]);
      if (!/^#\/($|c\/)/.test(location.hash || '#/')) location.hash = '#/';
    };
    const all = /** @type {[string, any][]} */ ([
      ['dragenter', enter],
      ['dragleave', leave],
      ['dragover', hover],
      ['drop', drop],
    ]);
    for (const [kind, call] of all) addEventListener(kind, call);
    return () => {
      for (const [kind, call] of all) removeEventListener(kind, call);
    };
  }, []);
  return over
    ? html`<div class="drop" aria-hidden="true">
        <div>
          <${Icon} name="file" size=${34} />
          <p>Drop files to ask about them</p>
          <p class="small">Excel, CSV, JSON, Parquet or SQLite, also zipped, up to 100 MB</p>
        </div>
      </div>`
    : null;
}
