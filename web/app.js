// The shell of the page: signing in, navigation, routes, and what is there whatever is shown.
import { html, render, useEffect, useErrorBoundary, useRef, useState, classes } from './html.js';
import { asProblem, get, me as readMe, remove, whenSignedOut } from './api.js';
import { tellNews } from './notices.js';
import { chooseTheme, may, me, theme, useWatched, waiting, waitingChanged } from './store.js';
import { go, useRoute } from './router.js';
import { Icon } from './parts/icons.js';
import { Skeleton, Trouble, useModule } from './parts/states.js';
import { Menu } from './parts/menu.js';
import { Toasts, sayProblem } from './parts/toast.js';
import { Confirm } from './parts/dialog.js';
import { Conversations } from './parts/conversations.js';
import { DropZone } from './parts/composer.js';
import { Ask } from './views/ask.js';

/**
 * Views other than Ask load when they are first shown.
 * @type {Record<string, { label: string, icon: string, load: () => Promise<any> }>}
 */
const VIEWS = {
  boards: { label: 'Boards', icon: 'board', load: () => import('./views/boards.js') },
  files: { label: 'Files', icon: 'file', load: () => import('./views/files.js') },
  tasks: { label: 'Tasks', icon: 'tasks', load: () => import('./views/tasks.js') },
  approvals: { label: 'Approvals', icon: 'approvals', load: () => import('./views/approvals.js') },
  tools: { label: 'Tools', icon: 'tools', load: () => import('./views/tools.js') },
  recipes: { label: 'Recipes', icon: 'recipes', load: () => import('./views/recipes.js') },
  verified: { label: 'Verified', icon: 'tick', load: () => import('./views/verified.js') },
  schedules: { label: 'Schedules', icon: 'tasks', load: () => import('./views/schedules.js') },
  audit: { label: 'Audit', icon: 'audit', load: () => import('./views/audit.js') },
  analytics: { label: 'Analytics', icon: 'analytics', load: () => import('./views/analytics.js') },
  settings: { label: 'Settings', icon: 'settings', load: () => import('./views/settings.js') },
  shared: { label: 'Shared answer', icon: 'share', load: () => import('./views/shared.js') },
};
/** Views that are reached by a link only. */
const LINKED = ['shared'];

/** @param {{ name: string, route: import('./router.js').Route }} props */
function Later({ name, route }) {
  const [view, setView] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const load = () => {
    setProblem(null);
    VIEWS[name].load().then(
      module => setView(() => module.default),
      error => setProblem(asProblem(error)),
    );
  };
  useEffect(load, [name]);
  useEffect(() => {
    document.title = `${VIEWS[name].label} – Steward`;
  }, [name]);
  if (problem) return html`<div class="view"><${Trouble} problem=${problem} retry=${load} /></div>`;
  return view
    ? html`<div class="view"><${view} route=${route} /></div>`
    : html`<div class="view"><${Skeleton} lines=${5} /></div>`;
}

/** @param {{ route: import('./router.js').Route }} props */
function Routed({ route }) {
  const [failed, reset] = useErrorBoundary(error => console.error(error));
  const [name, id] = route.path;
  useEffect(() => {
    if (failed) reset();
  }, [route.whole]);
  if (failed)
    return html`<div class="view">
      <h1 tabindex="-1">This view failed</h1>
      <${Trouble}
        problem=${asProblem({ title: 'Error in the page', detail: String(failed?.message ?? failed) })}
        retry=${reset}
      />
    </div>`;
  if (!name) return html`<${Ask} key="ask" id=${null} anew=${route.query.get('new')} />`;
  if (name === 'c' && id) return html`<${Ask} key="ask" id=${id} />`;
  if (VIEWS[name]) return html`<${Later} key=${name} name=${name} route=${route} />`;
  return html`<div class="view">
    <h1 tabindex="-1">Page not found</h1>
    <p>There is no page at this address. <a href="#/">Go to the start page</a></p>
  </div>`;
}

/** Counts what waits for approval while the page is looked at, and says what is new. */
function useWaiting() {
  const round = useWatched(waitingChanged);
  useEffect(() => {
    const count = () => {
      if (!document.hidden)
        get('/notices').then(
          notices => {
            waiting.set(notices.waiting.length);
            tellNews(notices);
          },
          () => {},
        );
    };
    count();
    const timer = setInterval(count, 5_000);
    document.addEventListener('visibilitychange', count);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', count);
    };
  }, [round]);
}

/** Who is signed in, and what is theirs to set: theme, settings, signing out. */
function Account() {
  const who = useWatched(me);
  const now = useWatched(theme);
  const out = async () => {
    try {
      await remove('/session');
      location.replace('/');
    } catch (error) {
      sayProblem(error);
    }
  };
  const name = who?.name || who?.user || '?';
  return html`<${Menu}
    label="Account: "
    className="account"
    head=${html`<p class="menu-head">
      <strong><bdi>${name}</bdi></strong>
      <span class="small muted">${who?.roles.join(', ')} · Steward ${who?.version}</span>
    </p>`}
    items=${[
      { icon: 'settings', label: 'Settings', href: '#/settings' },
      now === 'dark'
        ? { icon: 'sun', label: 'Light theme', run: () => chooseTheme('light') }
        : { icon: 'moon', label: 'Dark theme', run: () => chooseTheme('dark') },
      who?.signed_in_with === 'session' && { icon: 'out', label: 'Sign out', run: out },
    ]}
  >
    <span class="avatar" aria-hidden="true">${name.slice(0, 1).toUpperCase()}</span>
    <span class="nav-label who"><bdi>${name}</bdi></span></${Menu}>`;
}

function Shell() {
  const route = useRoute();
  const count = useWatched(waiting);
  const [drawer, setDrawer] = useState(false);
  const [folded, setFolded] = useState(() => {
    try {
      return localStorage.getItem('steward.folded') === '1';
    } catch {
      return false;
    }
  });
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const first = useRef(true);
  const [name = '', id = ''] = route.path;
  useWaiting();
  const place = name === 'c' ? 'c' : `${name}/${id}`;
  useEffect(() => {
    setDrawer(false);
    if (first.current) {
      first.current = false;
      return;
    }
    if (name === '' || name === 'c') {
      if (matchMedia('(pointer: fine)').matches)
        document.getElementById('question')?.focus({ preventScroll: true });
      return;
    }
    // A new page: readers of the screen hear its heading, and the keyboard goes on from there.
    main.current?.scrollTo(0, 0);
    let tries = 0;
    const timer = setInterval(() => {
      const heading = main.current?.querySelector('h1');
      if (!heading && ++tries < 20) return;
      clearInterval(timer);
      (heading ?? main.current)?.focus({ preventScroll: true });
    }, 40);
    return () => clearInterval(timer);
  }, [place]);
  useEffect(() => {
    const keys = (/** @type {KeyboardEvent} */ event) => {
      const typing = /** @type {HTMLElement} */ (event.target).closest?.(
        'input, textarea, select, [contenteditable]',
      );
      if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
        const field = /** @type {HTMLElement | null} */ (
          document.getElementById('question') ?? document.querySelector('main input[type=search]')
        );
        event.preventDefault();
        if (field) field.focus();
        else go('/');
      }
      if (event.key === 'Escape') setDrawer(false);
    };
    addEventListener('keydown', keys);
    return () => removeEventListener('keydown', keys);
  }, []);
  const fold = () => {
    setFolded(!folded);
    try {
      localStorage.setItem('steward.folded', folded ? '0' : '1');
    } catch {
      /* holds until reload */
    }
  };
  const link = (
    /** @type {string} */ to,
    /** @type {string} */ label,
    /** @type {string} */ icon,
    /** @type {boolean} */ current,
    /** @type {number} */ badge = 0,
  ) =>
    html`<a
      href=${'#' + to}
      class=${classes('nav', current && 'current')}
      aria-current=${current ? 'page' : null}
      title=${folded ? label : null}
    >
      <${Icon} name=${icon} /><span class="nav-label">${label}</span>${
        badge > 0 &&
        html`<span class="badge"
          ><span class="hidden">, </span>${badge} <span class="hidden"> waiting</span></span
        >`
      }</a
    >`;
  return html`<div class=${classes('shell', drawer && 'drawer-open', folded && 'folded')}>
    <a
      class="skip"
      href="#main"
      onClick=${(/** @type {Event} */ event) => {
        event.preventDefault();
        main.current?.focus();
      }}
      >Skip to content</a
    >
    <header class="bar">
      <button
        class="icon-button"
        type="button"
        aria-label="Menu"
        aria-expanded=${drawer}
        onClick=${() => setDrawer(!drawer)}
      >
        <${Icon} name="menu" /></button
      ><a class="brand" href="#/?new=1"
        ><span class="mark"><${Icon} name="tick" size=${15} /></span>Steward</a
      >
      <a class="icon-button" href="#/?new=1" aria-label="New conversation"><${Icon} name="plus" /></a>
    </header>
    ${drawer && html`<div class="scrim" onClick=${() => setDrawer(false)}></div>`}
    <aside class="side" aria-label="Sidebar">
      <div class="side-top">
        <a class="brand" href="#/?new=1"
          ><span class="mark"> <${Icon} name="tick" size=${15} /></span
          ><span class="nav-label">Steward</span></a
        >
        <button
          class="icon-button fold-button"
          type="button"
          aria-label=${folded ? 'Expand the sidebar' : 'Collapse the sidebar'}
          aria-expanded=${!folded}
          onClick=${fold}
        >
          <${Icon} name="panel" />
        </button>
      </div>
      <nav aria-label="Main">
        <a class="nav new" href="#/?new=1" title=${folded ? 'New conversation' : null}
          ><${Icon} name="plus" /> <span class="nav-label">New conversation</span></a
        >
        ${link('/', 'Ask', 'ask', name === '' || name === 'c')}
        ${Object.entries(VIEWS)
          .filter(([view]) => !LINKED.includes(view) && (view !== 'audit' || may('audit')))
          .map(([view, { label, icon }]) =>
            link('/' + view, label, icon, name === view, view === 'approvals' ? count : 0),
          )}
      </nav>
      <${Conversations} current=${name === 'c' ? id : null} />
      <div class="side-foot"><${Account} /></div>
    </aside>
    <main id="main" ref=${main} tabindex="-1"><${Routed} route=${route} /></main>
    <${DropZone} />
  </div>`;
}

/** The sign-in page, which most never see. @param {{ onDone: () => void }} props */
function SignInPage({ onDone }) {
  const { module } = useModule(() => import('./views/signin.js'));
  return module && html`<${module.SignIn} onDone=${onDone} />`;
}

function App() {
  const [state, setState] = useState(/** @type {'loading' | 'out' | 'in' | 'failed'} */ ('loading'));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const load = async () => {
    setState('loading');
    try {
      const found = await readMe();
      me.set(found);
      setState(found ? 'in' : 'out');
    } catch (error) {
      setProblem(asProblem(error));
      setState('failed');
    }
  };
  useEffect(() => {
    whenSignedOut(() => setState('out'));
    void load();
  }, []);
  return html`${
      state === 'in'
        ? html`<${Shell} />`
        : state === 'out'
          ? html`<${SignInPage} onDone=${load} />`
          : html`<main class="sign-in">
              ${
                state === 'failed'
                  ? html`<h1 class="hidden">Steward</h1>
                      <${Trouble} problem=${problem} retry=${load} />`
                  : html`<${Skeleton} lines=${3} label="Loading Steward" />`
              }
            </main>`
    } <${Toasts} /><${Confirm} />`;
}

const root = document.getElementById('root');
if (root) {
  root.textContent = '';
  render(html`<${App} />`, root);
}
