// State that several views share: a value that can be watched, and the few such values of the page.
import { useEffect, useState } from './html.js';

/** @template T */
export class Watched {
  /** @param {T} value */
  constructor(value) {
    this.value = value;
    /** @type {Set<() => void>} */
    this.watchers = new Set();
  }
  /** @param {T} value */
  set(value) {
    if (value === this.value) return;
    this.value = value;
    this.tell();
  }
  tell() {
    for (const watcher of [...this.watchers]) watcher();
  }
  /** @param {() => void} watcher */
  watch(watcher) {
    this.watchers.add(watcher);
    return () => {
      this.watchers.delete(watcher);
    };
  }
}

/** Renders again when the value changes. @template T @param {Watched<T>} watched @returns {T} */
export function useWatched(watched) {
  const [, again] = useState(0);
  const seen = watched.value;
  useEffect(() => {
    const stop = watched.watch(() => again(n => n + 1));
    // It may have changed between drawing and now.
    if (watched.value !== seen) again(n => n + 1);
    return stop;
  }, [watched]);
  return seen;
}

/** Who is signed in. @type {Watched<Me | null>} */
export const me = new Watched(/** @type {Me | null} */ (null));
/** How many calls wait for a decision. */
export const waiting = new Watched(0);
/** Rises when something may wait that did not before. */
export const waitingChanged = new Watched(0);
/** Rises when the list of conversations should be read again. */
export const conversationsChanged = new Watched(0);
/** The theme that holds now: what charts are drawn in. @type {Watched<'light' | 'dark'>} */
export const theme = new Watched(/** @type {'light' | 'dark'} */ ('light'));

/**
 * What this person may do; a right the server does not name is granted.
 * @param {'ask' | 'tools' | 'run' | 'approve' | 'audit' | 'verify' | 'admin'} right
 */
export const may = right => me.value?.may?.[right] !== false;

/** Counts up. @param {Watched<number>} watched */
export const rise = watched => watched.set(watched.value + 1);

const dark = matchMedia('(prefers-color-scheme: dark)');
/** What was chosen. @returns {'system' | 'light' | 'dark'} */
export function chosenTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === 'dark' || chosen === 'light' ? chosen : 'system';
}
function settle() {
  const chosen = chosenTheme();
  theme.set(chosen === 'system' ? (dark.matches ? 'dark' : 'light') : chosen);
}
dark.addEventListener('change', settle);
settle();

/** @param {'system' | 'light' | 'dark'} choice */
export function chooseTheme(choice) {
  if (choice === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  try {
    if (choice === 'system') localStorage.removeItem('steward.theme');
    else localStorage.setItem('steward.theme', choice);
  } catch {
    /* holds until the page is closed */
  }
  settle();
}
