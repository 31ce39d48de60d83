// The list of conversations in the side bar, with search.
import { html, useEffect, useState, classes } from '../html.js';
import { conversationsChanged, useWatched } from '../store.js';
import { withQuery } from '../api.js';
import { Icon } from './icons.js';
import { Skeleton, usePages, Trouble } from './states.js';
import { listKeys } from './bits.js';

/** @param {string} at */
function group(at) {
  const days = Math.floor((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  return days <= 0
    ? 'Today'
    : days === 1
      ? 'Yesterday'
      : days < 7
        ? 'This week'
        : days < 31
          ? 'This month'
          : 'Earlier';
}

/** @param {{ current: string | null }} props */
export function Conversations({ current }) {
  const [search, setSearch] = useState('');
  const [asked, setAsked] = useState('');
  const [archived, setArchived] = useState(false);
  const round = useWatched(conversationsChanged);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(search.trim()), 200);
    return () => clearTimeout(timer);
  }, [search]);
  const pages = usePages(
    withQuery('/conversations', {
      search: asked,
      status: archived ? 'archived' : asked ? 'all' : '',
      limit: 40,
    }),
  );
  useEffect(() => {
    if (round) pages.reload();
  }, [round]);
  const shown = /** @type {Conversation[]} */ (pages.items);
  let before = '';
  return html`<section class="conversations" aria-label="Conversations">
    <div class="search">
      <${Icon} name="search" size=${16} /><label class="hidden" for="find-conversation"
        >Search conversations</label
      >
      <input
        id="find-conversation"
        type="search"
        placeholder="Search conversations"
        value=${search}
        onInput=${(/** @type {any} */ event) => setSearch(event.target.value)}
        autocomplete="off"
      />
      <button
        class="icon-button"
        type="button"
        aria-pressed=${archived}
        aria-label="Archived conversations"
        title=${archived ? 'Show current conversations' : 'Show archived conversations'}
        onClick=${() => setArchived(!archived)}
      >
        <${Icon} name="archive" size=${16} />
      </button>
    </div>
    <div class="conversation-list" onKeyDown=${listKeys}>
      ${
        pages.value === null
          ? pages.problem
            ? html`<${Trouble} problem=${pages.problem} retry=${pages.reload} />`
            : html`<${Skeleton} lines=${6} />`
          : null
      }
      ${
        pages.value !== null && !shown.length
          ? html`<p class="muted small conversation-none">
              ${
                asked
                  ? 'No conversations found.'
                  : archived
                    ? 'Nothing is archived.'
                    : 'Your conversations appear here.'
              }
            </p>`
          : null
      }
      ${shown.map(one => {
        const heading = group(one.updated_at);
        const first = heading !== before;
        before = heading;
        return html`${first && html`<p class="conversation-group" key=${heading}>${heading}</p>`}
          <a
            key=${one.id}
            data-item
            class=${classes('conversation', one.id === current && 'current')}
            aria-current=${one.id === current ? 'page' : null}
            href=${`#/c/${one.id}`}
            title=${one.title}
          >
            <bdi>${one.title || 'Untitled'}</bdi>${
              one.status === 'archived' ? html` <span class="small muted">archived</span>` : null
            }</a
          >`;
      })}
      ${pages.next && html`<button class="quiet-button" type="button" onClick=${pages.load}>Show more</button>`}
    </div>
  </section>`;
}
