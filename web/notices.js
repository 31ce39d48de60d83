// Says what is new: calls that wait for this person, and decisions of others on their requests.
import { say } from './parts/toast.js';

const KEY = 'steward.notices';
/** The newest notice that was said: what came before it is not said again. */
let last = read();
/** Whether a first list was seen. What was there before the page was opened is not news. */
let known = last !== '';

function read() {
  try {
    return localStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}

/** @param {string} at */
function keep(at) {
  last = at;
  known = true;
  try {
    localStorage.setItem(KEY, at);
  } catch {
    /* holds until the page is closed */
  }
}

/** @type {Record<string, string>} */
const WORDS = {
  approved: 'was approved',
  rejected: 'was rejected',
  modified: 'continues with changes',
  expired: 'timed out without a decision',
};

/** @param {Notices} notices */
export function tellNews(notices) {
  // Another tab may have said them.
  last = read() || last;
  const news = [
    ...notices.waiting.map(one => ({
      at: one.since,
      text: `${one.user} waits for your decision: ${one.description}`,
      target: '#/approvals',
    })),
    ...notices.decided.map(one => ({
      at: one.at,
      text: `“${one.description}” ${WORDS[one.decision] ?? one.decision}${
        one.decision === 'expired' ? '' : ` by ${one.by}`
      }`,
      target: `#/tasks/${one.task}`,
    })),
  ].sort((one, other) => (one.at < other.at ? -1 : 1));
  const newest = news.at(-1)?.at ?? '';
  if (known) for (const one of news.filter(one => one.at > last).slice(-3)) say(one.text, false, one.target);
  keep(newest > last ? newest : last || new Date(0).toISOString());
}
