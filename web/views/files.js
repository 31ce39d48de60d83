// Files: what was brought along, what is in it, and what was asked of it.
import { html, useState } from '../html.js';
import { part, remove } from '../api.js';
import { go } from '../router.js';
import { beginAnew, threadOf } from '../thread.js';
import * as format from '../format.js';
import { attach, attachKept } from '../parts/composer.js';
import { FileDetails, rowsOf } from '../parts/file-card.js';
import { Head, Time, listKeys } from '../parts/bits.js';
import { Icon } from '../parts/icons.js';
import { Empty, Read, useRead } from '../parts/states.js';
import { confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';

/** When a file came: ids begin with the time in milliseconds. @param {string} id */
const broughtAt = id => new Date(parseInt(id.replace(/-/g, '').slice(0, 12), 16)).toISOString();

/** @param {Upload} file */
const sizeOf = file =>
  [file.tables?.[0] && rowsOf(file.tables[0]), format.bytes(file.bytes)].filter(Boolean).join(' · ');

/** @param {{ route: import('../router.js').Route }} props */
export default function Files({ route }) {
  const id = route.path[1];
  return id ? html`<${File} key=${id} id=${id} />` : html`<${List} />`;
}

/**
 * Asks a question of a file in a new conversation.
 * @param {string} question
 * @param {Upload} file
 */
function ask(question, file) {
  beginAnew();
  void threadOf(null).send(question, [file]);
  go('/');
}

/** Asks about a file: it goes with the next question. @param {Upload} file */
function askAbout(file) {
  attachKept(file);
  go('/?new=1');
}

function List() {
  const read = useRead('/uploads');
  const [search, setSearch] = useState('');
  const choose = () => {
    const input = document.createElement('input');
    input.type = 'file';
    input.multiple = true;
    input.onchange = () => {
      attach([...(input.files ?? [])]);
      go('/?new=1');
    };
    input.click();
  };
  const wanted = search.trim().toLowerCase();
  return html`<${Head} title="Files" text="Files that you brought along. They are yours alone.">
      <button class="button primary" type="button" onClick=${choose}>
        <${Icon} name="plus" size=${16} />Add files</button></${Head}>
    <${Read} read=${read} lines=${5} kind="rows">${(/** @type {any} */ value) => {
      const all = /** @type {Upload[]} */ (value.items);
      const shown = all.filter(file => file.name.toLowerCase().includes(wanted));
      if (!all.length)
        return html`<${Empty} icon="file" title="No files yet">
          <p>Add a file, or drop one anywhere on the page.</p></${Empty}>`;
      return html`<div class="search big">
          <${Icon} name="search" size=${17} /><label class="hidden" for="find-file">Find a file</label>
          <input
            id="find-file"
            type="search"
            placeholder="Search files"
            value=${search}
            onInput=${(/** @type {any} */ event) => setSearch(event.target.value)}
          />
        </div>
        <ul class="rows" onKeyDown=${listKeys} aria-label="Files">
          ${shown.map(
            file =>
              html`<li key=${file.id}>
                <a class="row" data-item href=${`#/files/${file.id}`}>
                  <${Icon} name="file" />
                  <span class="row-main"
                    ><span class="row-title"><bdi>${file.name}</bdi></span>
                    <span class="small muted"
                      >${sizeOf(file)} · added <${Time} at=${broughtAt(file.id)} relative /></span
                  ></span>
                </a>
              </li>`,
          )}
          ${!shown.length && html`<li class="muted">No file has this in its name.</li>`}
        </ul>`;
    }}</${Read}>`;
}

/** @param {{ id: string }} props */
function File({ id }) {
  const read = useRead(`/uploads/${part(id)}`);
  const file = /** @type {any} */ (read.value);
  const erase = async () => {
    const sure = await confirm({
      title: `Delete ${file.name}?`,
      text: 'Answers that were given stay. Questions that need the file cannot be asked again.',
      action: 'Delete',
      danger: true,
    });
    if (sure === null) return;
    try {
      await remove(`/uploads/${part(id)}`);
      say('Deleted');
      go('/files');
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<${Head} title=${html`<bdi>${file?.name ?? 'File'}</bdi>`} back=${{ to: '/files', label: 'Files' }}
      text=${file && html`${format.bytes(file.bytes)}, added <${Time} at=${broughtAt(id)} relative />`}>
      ${
        file &&
        html`<button class="button primary" type="button" onClick=${() => askAbout(file)}>
            <${Icon} name="ask" size=${16} />Ask about it
          </button>
          <button class="button" type="button" onClick=${erase}>
            <${Icon} name="trash" size=${16} />Delete
          </button>`
      }</${Head}>
    <${Read} read=${read} lines=${6}>${(/** @type {any} */ value) =>
      html`${
          value.questions?.length > 0 &&
          html`<section class="block">
            <h2>Questions worth asking</h2>
            <div class="file-questions">
              ${value.questions.map(
                (/** @type {string} */ question) =>
                  html`<button
                    key=${question}
                    class="chip suggestion"
                    type="button"
                    onClick=${() => ask(question, value)}
                  >
                    <bdi>${question}</bdi>
                  </button>`,
              )}
            </div>
          </section>`
        }
        <section class="block">
          <h2>Asked before</h2>
          ${
            value.asked.length
              ? html`<ul class="rows">
                  ${value.asked.map(
                    (/** @type {any} */ one, /** @type {number} */ at) =>
                      html`<li key=${at}>
                        <a class="row" href=${`#/c/${one.conversation_id}`}>
                          <${Icon} name="ask" size=${16} />
                          <span class="row-main"
                            ><span class="row-title"><bdi>${one.question}</bdi></span>
                            <span class="small muted"><${Time} at=${one.at} relative /></span
                          ></span>
                        </a>
                      </li>`,
                  )}
                </ul>`
              : html`<p class="muted">Nothing was asked of it yet.</p>`
          }
        </section>
        <section class="block"><${FileDetails} file=${value} /></section>`}</${Read}>`;
}
