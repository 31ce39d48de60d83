// Routes by the part of the address after `#`: `#/c/ID`, `#/tasks/ID?status=failed`.
import { Watched, useWatched } from './store.js';

/** @typedef {{ path: string[], query: URLSearchParams, whole: string }} Route */

/** @returns {Route} */
function read() {
  const whole = location.hash.replace(/^#/, '') || '/';
  const [path, query = ''] = whole.split('?');
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query), whole };
}
/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const route = new Watched(read());
addEventListener('hashchange', () => route.set(read()));

export const useRoute = () => useWatched(route);

/** @param {string} to such as `/tasks` */
export function go(to) {
  location.hash = '#' + to;
}

/** Changes the address without a new place in the history. @param {string} to */
export function replace(to) {
  history.replaceState(null, '', '#' + to);
  route.set(read());
}
