// The start page: from nothing to a first answer over one's own data, and what else can be asked.
import { html, useState } from '../html.js';
import { upload } from '../api.js';
import * as format from '../format.js';
import { may } from '../store.js';
import { attachKept, attached } from './composer.js';
import { rowsOf } from './file-card.js';
import { Icon } from './icons.js';
import { Skeleton, useRead } from './states.js';
import { sayProblem } from './toast.js';
import { useWatched } from '../store.js';

/** Files and questions that are offered at once. */
const FILES = 3,
  QUESTIONS = 4;

/** @param {{ onSay: (text: string, files?: Upload[]) => void }} props */
export function Start({ onSay }) {
  const domains = useRead('/domains');
  const uploads = useRead('/uploads');
  const brought = useWatched(attached);
  const items = /** @type {any[]} */ (/** @type {any} */ (domains.value)?.items ?? []);
  const files = /** @type {Upload[]} */ (/** @type {any} */ (uploads.value)?.items ?? []).slice(0, FILES);
  const examples = items.flatMap(exampleOf).slice(0, QUESTIONS);
  // A file that was just brought along asks its own questions.
  if (brought.length) return null;
  const ready = (domains.value || domains.problem) && (uploads.value || uploads.problem);
  if (!ready) return html`<div class="examples"><${Skeleton} lines=${3} kind="cards" /></div>`;
  return html`<div class="examples">
    ${!files.length && html`<${FirstSteps} onSay=${onSay} connected=${items.length > 0} />`}
    ${
      files.length > 0 &&
      html`<section>
        <h2>Your files</h2>
        <ul>
          ${files.map(
            file =>
              html`<li key=${file.id}>
                <button type="button" class="example" onClick=${() => attachKept(file)}>
                  <span class="example-say"><${Icon} name="file" size=${15} /> <bdi>${file.name}</bdi></span>
                  <span class="small muted">${file.tables?.[0] ? rowsOf(file.tables[0]) : ''}</span>
                </button>
              </li>`,
          )}
        </ul>
        <p class="small"><a href="#/files">All files</a></p>
      </section>`
    }
    ${
      examples.length > 0 &&
      html`<section>
        <h2>Ask what is connected</h2>
        <ul>
          ${examples.map(
            (/** @type {any} */ one) =>
              html`<li key=${one.say}>
                <button type="button" class="example" onClick=${() => onSay(one.say)}>
                  <span class="example-say"><bdi>${one.say}</bdi></span>
                  <span class="small muted">${one.domain}</span>
                </button>
              </li>`,
          )}
        </ul>
      </section>`
    }
  </div>`;
}

/**
 * What to do first: bring data, or try it with an example.
 * @param {{ onSay: (text: string, files?: Upload[]) => void, connected: boolean }} props
 */
function FirstSteps({ onSay, connected }) {
  const [busy, setBusy] = useState(false);
  const example = async () => {
    setBusy(true);
    try {
      const bytes = await (await fetch('/page/example.csv')).blob();
      const file = await upload(new File([bytes], 'example_sales.csv'), () => {});
      onSay('Analyze sales in 2021; trends + charts', [file]);
    } catch (error) {
      sayProblem(error);
      setBusy(false);
    }
  };
  const pick = () =>
    /** @type {HTMLInputElement | null} */ (document.querySelector('.composer input[type=file]'))?.click();
  return html`<section class="first-steps">
    <h2>${connected ? 'Bring your own data' : 'Get a first answer'}</h2>
    <ul>
      <li>
        <button type="button" class="example lead" onClick=${pick}>
          <span class="example-say"><${Icon} name="file" size=${17} /> Choose a file</span>
          <span class="small muted"
            >Excel, CSV, JSON, Parquet or SQLite. You see what is in it, and three questions to start
            with.</span
          >
        </button>
      </li>
      ${
        may('admin') &&
        html`<li>
          <a class="example lead" href="#/settings/connections">
            <span class="example-say"
              ><${Icon} name="database" size=${17} /> Connect a database or folder</span
            >
            <span class="small muted">Everyone with the right can ask it. Test it before it counts.</span>
          </a>
        </li>`
      }
      <li>
        <button type="button" class="example lead" disabled=${busy} onClick=${example}>
          <span class="example-say"
            ><${Icon} name="spark" size=${17} /> ${busy ? 'Uploading…' : 'Try it with example data'}</span
          >
          <span class="small muted">Sales of a shop: trends and charts.</span>
        </button>
      </li>
    </ul>
    <p class="muted drop-hint">You can also drop a file anywhere on this page.</p>
  </section>`;
}

/** @param {any} domain */
function exampleOf(domain) {
  const title = domain.title || format.words(domain.name);
  if (domain.examples?.length)
    return domain.examples
      .slice(0, 1)
      .map((/** @type {any} */ one) => ({ say: typeof one === 'string' ? one : one.request, domain: title }));
  const names = (domain.tools ?? []).map((/** @type {any} */ tool) =>
    String(tool.name ?? tool)
      .split('.')
      .pop(),
  );
  const list =
    names.find((/** @type {string} */ name) => /^(list|show)_/.test(name)) ??
    names.find((/** @type {string} */ name) => /^(search|find|get)_/.test(name));
  if (list)
    return [
      {
        say:
          list.startsWith('list_') || list.startsWith('show_')
            ? `Show the ${list.slice(5).replaceAll('_', ' ')}`
            : format.words(list),
        domain: title,
      },
    ];
  if (domain.data_sources) return [{ say: `What is in ${title}?`, domain: 'Data' }];
  return [];
}
