// Ask: the thread of a conversation, or the empty page with examples.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../html.js';
import { conversationsChanged, may, rise, useWatched } from '../store.js';
import { beginAnew, dropThread, pickUpFresh, threadOf } from '../thread.js';
import { getText, part, patch, remove, upload } from '../api.js';
import { go, replace } from '../router.js';
import * as format from '../format.js';
import { Icon } from '../parts/icons.js';
import { Skeleton, Trouble, useRead } from '../parts/states.js';
import { Composer, FileCard } from '../parts/composer.js';
import { ReplyCard, Steps } from '../parts/reply.js';
import { Prose } from '../parts/prose.js';
import { copy, save } from '../parts/bits.js';
import { confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';

/** Brings the beginning of an element below the title of the thread. @param {Element | null} element */
function toTop(element) {
  const main = document.getElementById('main');
  if (main && element)
    main.scrollTop += element.getBoundingClientRect().top - main.getBoundingClientRect().top - 58;
}

/** What a screen reader announces for the turn that was asked here: the step it is at, then the answer in one piece. @param {import('../thread.js').Turn | undefined} turn */
function announcement(turn) {
  if (!turn?.turn_id) return '';
  if (turn.status === 'running')
    return (
      turn.steps.find(step => step.state === 'running')?.what ??
      (turn.steps.length ? '' : 'Understanding the question')
    );
  const options = turn.reply?.question?.options.map(option => option.label).join(', ');
  return [
    turn.reply?.answer ?? turn.problem?.message ?? turn.text,
    options && `Choices: ${options}`,
    turn.stopped && 'Stopped.',
  ]
    .filter(Boolean)
    .join('\n');
}

/** @param {{ id: string | null, anew?: string | null }} props */
export function Ask(props) {
  const [spoken, speak] = useState('');
  return html`<${Page} ...${props} speak=${speak} />
    <div class="hidden" role="status" aria-live="polite">${spoken}</div>`;
}

/** @param {{ id: string | null, anew?: string | null, speak: (text: string) => void }} props */
function Page({ id, anew, speak }) {
  const [, again] = useState(0);
  useEffect(() => {
    if (!id) pickUpFresh();
  }, [id]);
  // Before the next event: a message that is sent right after the click belongs to the new conversation.
  useLayoutEffect(() => {
    if (anew) {
      beginAnew();
      replace('/');
      again(n => n + 1);
    }
  }, [anew]);
  const thread = threadOf(id);
  useWatched(thread.changes);
  thread.onNamed = name => {
    if (location.hash === '' || location.hash === '#/' || location.hash === '#') replace(`/c/${name}`);
  };
  const send = (
    /** @type {string} */ text,
    /** @type {Upload[]} */ files = [],
    /** @type {import('../thread.js').OptionChoice | undefined} */ choice,
  ) => {
    void thread.send(text, files, choice);
  };
  const running = thread.turns.find(turn => turn.status === 'running');
  const composer = !may('ask')
    ? html`<p class="note">
        <span>You do not have the right to ask. Contact an administrator.</span>
      </p>`
    : html`<${Composer}
        running=${!!running}
        stopping=${!!running?.stopped}
        last=${thread.turns.at(-1)?.user ?? ''}
        onSend=${send}
        onStop=${() => thread.stop()}
      />`;
  const words = announcement(thread.turns.at(-1));
  useEffect(() => speak(words), [words]);
  // A conversation opens at its last turn, and stays there while tables and charts arrive, until the reader moves.
  const ready = thread.status === 'ready' && !!id;
  useEffect(() => {
    const list = document.querySelector('.thread');
    const turns = list?.querySelectorAll('.turn') ?? [];
    if (!ready || !list || turns.length < 2) return;
    const settle = () => toTop(turns[turns.length - 1]);
    const watcher = new ResizeObserver(settle);
    watcher.observe(list);
    const stop = () => watcher.disconnect();
    const moves = ['wheel', 'touchstart', 'keydown', 'pointerdown'];
    for (const move of moves) addEventListener(move, stop, { once: true, passive: true });
    const timer = setTimeout(stop, 5000);
    return () => {
      clearTimeout(timer);
      stop();
      for (const move of moves) removeEventListener(move, stop);
    };
  }, [ready, id]);
  useEffect(() => {
    document.title =
      thread.title || thread.turns[0]?.user ? `${thread.title || thread.turns[0].user} – Steward` : 'Steward';
  }, [thread.title, thread.turns.length]);

  if (thread.status === 'loading')
    return html`<div class="ask">
      <div class="thread">
        <h1 class="hidden" tabindex="-1">Conversation</h1>
        <${Skeleton} lines=${3} label="Loading the conversation" /><${Skeleton} lines=${5} />
      </div>
    </div>`;
  if (thread.status === 'failed' && thread.problem)
    return html`<div class="ask">
      <div class="thread">
        <h1 class="hidden" tabindex="-1">Conversation</h1>
        <${Trouble}
          problem=${thread.problem}
          retry=${() => thread.load()}
          title=${thread.problem.status === 404 ? 'Conversation not found' : undefined}
        />
        <p><a href="#/?new=1">Start a new conversation</a></p>
      </div>
    </div>`;
  if (!thread.turns.length)
    return html`<div class="ask start">
      <div class="start-body">
        <h1 tabindex="-1">What would you like to know?</h1>
        ${composer} <${Examples} onSay=${send} />
      </div>
    </div>`;
  return html`<div class="ask">
    <div class="thread-head">
      <h1 tabindex="-1" class="thread-title">${thread.title || thread.turns[0].user}</h1>
      ${thread.id && html`<${Menu} id=${thread.id} title=${thread.title || thread.turns[0].user} />`}
    </div>
    <div class="thread" role="region" aria-label="Conversation">
      ${thread.turns.map((turn, at) => html`<${TurnView} key=${turn.key} turn=${turn} last=${at === thread.turns.length - 1} many=${thread.turns.length > 1} onSay=${send} />`)}
    </div>
    <div class="dock">${composer}</div>
  </div>`;
}

/** @param {{ turn: import('../thread.js').Turn, last: boolean, many: boolean, onSay: import('../parts/reply.js').Say }} props */
function TurnView({ turn, last, many, onSay }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (last && (turn.status === 'running' || many)) toTop(box.current);
  }, []);
  const { reply } = turn;
  return html`<article ref=${box} class="turn ${last ? 'last' : ''}" aria-label=${turn.user || 'Answer'}>
    ${
      turn.user &&
      html`<div class="said">
        <div class="bubble">${turn.user}</div>
        ${turn.files.map(file => html`<${FileCard} key=${file.id} file=${file} />`)}
      </div>`
    }
    <div class="answer">
      ${turn.status === 'running' ? html`<${Steps} steps=${turn.steps.length ? turn.steps : [{ what: turn.stopped ? 'Stopping' : 'Understanding the question', state: 'running' }]} />` : null}
      ${
        reply
          ? html`<div>
              <${ReplyCard} reply=${reply} onSay=${onSay} last=${last && turn.status === 'done'} />
            </div>`
          : turn.text
            ? html`<div class=${turn.status === 'running' ? 'telling' : ''}>
                <${Prose} text=${turn.text} />
              </div>`
            : null
      }
      ${turn.away && html`<p class="note warn" role="status"><${Icon} name="warn" size=${16} /><span>Connection lost. Reconnecting…</span></p>`}
      ${turn.fetching && !reply && html`<${Skeleton} lines=${2} label="Loading tables and charts" />`}
      ${turn.problem && !reply && html`<${Trouble} problem=${turn.problem} retry=${last ? () => onSay(turn.user) : undefined} />`}
      ${
        turn.stopped && turn.status === 'done' && !reply
          ? html`<p class="muted stopped">
              <${Icon} name="stop" size=${15} />Stopped. No further steps were
              run.${last && turn.user ? html` <button class="quiet-button" type="button" onClick=${() => onSay(turn.user)}>Ask again</button>` : null}
            </p>`
          : null
      }
    </div>
  </article>`;
}

/** What can be asked, out of what is set up. @param {{ onSay: (text: string, files?: Upload[]) => void }} props */
function Examples({ onSay }) {
  const domains = useRead('/domains');
  const items = /** @type {any} */ (domains.value)?.items ?? [];
  const examples = items.flatMap((/** @type {any} */ domain) => exampleOf(domain)).slice(0, 5);
  const [busy, setBusy] = useState(false);
  const tryData = async () => {
    setBusy(true);
    try {
      const bytes = await (await fetch('/page/example.csv')).blob();
      onSay('Analyze sales in 2021; trends + charts', [
        await upload(new File([bytes], 'example_sales.csv'), () => {}),
      ]);
    } catch (error) {
      sayProblem(error);
      setBusy(false);
    }
  };
  return html`<div class="examples">
    ${domains.loading && !domains.value ? html`<${Skeleton} lines=${3} kind="cards" />` : null}
    ${
      (domains.value || domains.problem) &&
      html`<h2 class="hidden">Examples</h2>
        <ul>
          ${examples.map(
            (/** @type {any} */ one) =>
              html`<li key=${one.say}>
                <button type="button" class="example" onClick=${() => onSay(one.say)}>
                  <span class="example-say">${one.say}</span><span class="small muted">${one.domain}</span>
                </button>
              </li>`,
          )}
          <li>
            <button type="button" class="example" disabled=${busy} onClick=${tryData}>
              <span class="example-say">
                ${busy ? 'Uploading…' : 'Analyze sales in 2021; trends + charts'}</span
              ><span class="small muted">With example data</span>
            </button>
          </li>
        </ul>`
    }
    <p class="muted drop-hint">
      <${Icon} name="file" size=${16} />Drop a file anywhere – Excel, CSV, JSON, Parquet or SQLite – and ask
      about it.
    </p>
  </div>`;
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

/** @param {{ id: string, title: string }} props */
function Menu({ id, title }) {
  const run = (/** @type {() => Promise<void>} */ work) => async (/** @type {any} */ event) => {
    event.currentTarget.closest('details')?.removeAttribute('open');
    try {
      await work();
    } catch (error) {
      sayProblem(error);
    }
  };
  const leave = () => {
    dropThread(id);
    rise(conversationsChanged);
    go('/?new=1');
  };
  return html`<details
    class="menu"
    onKeyDown=${(/** @type {any} */ event) => {
      if (event.key === 'Escape') {
        event.currentTarget.removeAttribute('open');
        event.currentTarget.querySelector('summary').focus();
      }
    }}
    onFocusOut=${(/** @type {any} */ event) => {
      if (event.relatedTarget && !event.currentTarget.contains(event.relatedTarget))
        event.currentTarget.removeAttribute('open');
    }}
  >
    <summary class="icon-button" aria-label="Conversation menu" role="button">
      <${Icon} name="more" />
    </summary>
    <div class="menu-items">
      <button type="button" onClick=${run(() => copy(`${location.origin}/#/c/${id}`, 'Link copied'))}>
        <${Icon} name="link" size=${16} />Copy link
      </button>
      <button
        type="button"
        onClick=${run(async () => save(`${title.slice(0, 60).replace(/[^\p{L}\p{N}]+/gu, '_') || 'conversation'}.md`, await getText(`/conversations/${part(id)}/export`), 'text/markdown'))}
      >
        <${Icon} name="download" size=${16} />Export as Markdown
      </button>
      <button
        type="button"
        onClick=${run(async () => {
          if (
            (await confirm({
              title: 'Archive this conversation?',
              text: 'It is removed from the list. Search still finds it.',
              action: 'Archive',
            })) === null
          )
            return;
          await patch(`/conversations/${part(id)}`, { status: 'archived' });
          say('Archived');
          leave();
        })}
      >
        <${Icon} name="archive" size=${16} />Archive
      </button>
      <button
        type="button"
        class="bad-text"
        onClick=${run(async () => {
          if (
            (await confirm({
              title: 'Delete this conversation?',
              text: 'Its messages are deleted permanently. The journal still proves which actions were taken.',
              action: 'Delete',
              danger: true,
            })) === null
          )
            return;
          await remove(`/conversations/${part(id)}`);
          say('Deleted');
          leave();
        })}
      >
        <${Icon} name="trash" size=${16} />Delete
      </button>
    </div>
  </details>`;
}
