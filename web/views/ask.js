// Ask: the thread of a conversation, or the empty page with examples.
import { html, useEffect, useLayoutEffect, useState } from '../html.js';
import { may, useWatched } from '../store.js';
import { beginAnew, pickUpFresh, threadOf } from '../thread.js';
import { replace } from '../router.js';
import { Skeleton, Trouble } from '../parts/states.js';
import { Composer } from '../parts/composer.js';
import { ConversationMenu } from '../parts/conversation-menu.js';
import { Start } from '../parts/start.js';
import { Archived, TurnView, toTop } from '../parts/turn.js';

/**
 * What a screen reader announces for the turn that was asked here: the step it is at, then the
 * answer in one piece.
 * @param {import('../thread.js').Turn | undefined} turn
 */
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
  // Before the next event: a message that is sent right after the click belongs to the new
  // conversation.
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
    /** @type {('data' | 'question')[]} */ without = [],
  ) => {
    void thread.send(text, files, choice, without);
    // What was pressed may be gone now; the keyboard goes on where the next thing is said.
    const fine = matchMedia('(pointer: fine)').matches;
    const next = fine ? document.getElementById('question') : document.getElementById('main');
    next?.focus({ preventScroll: true });
  };
  const running = thread.turns.find(turn => turn.status === 'running');
  const composer = !may('ask')
    ? html`<p class="note">
        <span>You do not have the right to ask. Contact an administrator.</span>
      </p>`
    : thread.archived && thread.id
      ? html`<${Archived} id=${thread.id} onRestored=${() => thread.refresh()} />`
      : html`<${Composer}
          running=${!!running}
          stopping=${!!running?.stopped}
          last=${thread.turns.at(-1)?.user ?? ''}
          onSend=${send}
          onStop=${() => thread.stop()}
        />`;
  const words = announcement(thread.turns.at(-1));
  useEffect(() => speak(words), [words]);
  // A conversation opens at its last turn, and stays there while tables and charts arrive, until
  // the reader moves.
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
        ${composer} <${Start} onSay=${send} />
      </div>
    </div>`;
  return html`<div class="ask">
    <div class="thread-head">
      <h1 tabindex="-1" class="thread-title" dir="auto">${thread.title || thread.turns[0].user}</h1>
      ${thread.id && html`<${ConversationMenu} thread=${thread} />`}
    </div>
    <div class="thread" role="region" aria-label="Conversation">
      ${thread.turns.map(
        (turn, at) =>
          html`<${TurnView}
            key=${turn.key}
            turn=${turn}
            last=${at === thread.turns.length - 1}
            many=${thread.turns.length > 1}
            before=${thread.turns[at - 1]?.user ?? ''}
            busy=${!!running || thread.archived}
            onSay=${send}
            onRun=${(/** @type {string} */ sql) => thread.run(sql, turn.files)}
          />`,
      )}
    </div>
    <div class="dock">${composer}</div>
  </div>`;
}
