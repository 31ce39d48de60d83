// A conversation as the page holds it: its turns, the one that runs, and what the server streams about it. Threads outlive the view, so
// that going elsewhere and coming back finds the answer still being told.
import { Watched, conversationsChanged, rise, waitingChanged } from './store.js';
import { Problem, asProblem, get, part, post, remove } from './api.js';
import { follow } from './stream.js';

/** @typedef {{ what: string, state: string, milliseconds?: number }} LiveStep */
/** An option of a question, by the task that asked and its place. @typedef {{ task_id: string, option: number }} OptionChoice */
/**
 * @typedef {{ key: string, user: string, at: string, files: Upload[], status: 'running' | 'done', turn_id?: string, steps: LiveStep[], text: string,
 *   reply?: Reply, problem?: Problem, stopped?: boolean, away?: boolean, task_id?: string | null, fetching?: boolean }} Turn
 */

const RUNNING = 'steward.running';
let keys = 0;

export class Thread {
  /** @param {string | null} id */
  constructor(id) {
    this.id = id;
    this.title = '';
    this.status = /** @type {'ready' | 'loading' | 'failed'} */ (id ? 'loading' : 'ready');
    /** @type {Problem | null} */
    this.problem = null;
    /** @type {Turn[]} */
    this.turns = [];
    this.changes = new Watched(0);
    /** Told the id when the first answer gives the conversation one. @type {((id: string) => void) | null} */
    this.onNamed = null;
    /** @type {(() => void) | null} */
    this.unfollow = null;
    this.awaiting = false;
  }

  tell() {
    rise(this.changes);
  }
  get running() {
    return this.turns.some(turn => turn.status === 'running');
  }

  async load() {
    if (!this.id) return;
    this.status = 'loading';
    this.tell();
    try {
      const { conversation, messages } = await get(`/conversations/${part(this.id)}`);
      this.title = conversation.title;
      this.turns = turnsOf(messages);
      this.status = 'ready';
      this.problem = null;
      this.pickUp();
      this.tell();
      await this.fill();
    } catch (error) {
      this.problem = asProblem(error);
      this.status = 'failed';
      this.tell();
    }
  }

  /** Reads the whole replies of earlier turns, newest first, a few at a time. */
  async fill() {
    const wanted = this.turns.filter(turn => turn.task_id && !turn.reply && turn.status === 'done').reverse();
    for (const turn of wanted) turn.fetching = true;
    const next = async () => {
      for (let turn = wanted.shift(); turn; turn = wanted.shift()) {
        try {
          turn.reply = await get(`/tasks/${part(turn.task_id ?? '')}/reply`);
        } catch {
          /* it was not kept: its words are there */
        }
        turn.fetching = false;
        this.tell();
      }
    };
    await Promise.all([next(), next(), next()]);
  }

  /** After a reload, goes on with the turn that was running. */
  pickUp() {
    const kept = remembered();
    if (!kept || kept.conversation_id !== this.id || this.running) return;
    const before = this.turns.at(-1);
    if (before && before.user === kept.message && (before.reply || before.text)) return forget();
    const turn = before && before.user === kept.message ? before : newTurn(kept.message, []);
    if (turn !== before) this.turns.push(turn);
    turn.status = 'running';
    this.listen(turn, kept.turn_id);
  }

  /** @param {string} message @param {Upload[]} [files] @param {OptionChoice} [choice] */
  async send(message, files = [], choice) {
    if (this.running) return;
    const turn = newTurn(message, files);
    this.turns = [...this.turns, turn];
    this.tell();
    try {
      const body = {
        message,
        ...(this.id && { conversation_id: this.id }),
        ...(choice && { choice }),
        ...(files.length && { data: files.map(file => `upload:${file.id}`) }),
      };
      const { turn_id, events } = await post('/turns', body);
      remember({ turn_id, conversation_id: this.id, message });
      if (turn.stopped) {
        turn.turn_id = turn_id;
        return this.stop();
      }
      this.listen(turn, turn_id, events);
    } catch (error) {
      this.end(turn, { problem: asProblem(error) });
    }
  }

  /** @param {Turn} turn @param {string} turn_id @param {string} [events] */
  listen(turn, turn_id, events = `/turns/${part(turn_id)}/events`) {
    turn.turn_id = turn_id;
    const tell = () => this.tell();
    this.unfollow = follow(events, {
      waiting: ({ servers }) => {
        turn.steps = [{ what: `Waiting for ${servers.join(', ')} to start`, state: 'running' }];
        tell();
      },
      understood: ({ steps }) => {
        turn.steps = (steps ?? []).map((/** @type {any} */ what) => ({
          what: String(what.what ?? what),
          state: 'waiting',
        }));
        tell();
      },
      began: ({ step, what }) => {
        turn.steps = put(turn.steps, step, { ...turn.steps[step], what, state: 'running' });
        tell();
      },
      ended: ({ step, well, milliseconds }) => {
        turn.steps = put(turn.steps, step, {
          ...(turn.steps[step] ?? { what: '' }),
          state: well ? 'well' : 'badly',
          milliseconds,
        });
        tell();
      },
      text: ({ delta }) => {
        turn.text += delta;
        tell();
      },
      text_reset: () => {
        turn.text = '';
        tell();
      },
      reply: reply => {
        turn.reply = reply;
        this.named(reply.conversation_id);
        tell();
      },
      problem: problem => {
        turn.problem = new Problem(problem);
        tell();
      },
      done: () => this.end(turn, {}),
      lost: () => this.ask(turn),
      away: () => {
        turn.away = true;
        tell();
      },
      back: () => {
        if (turn.away) {
          turn.away = false;
          tell();
        }
      },
    });
    tell();
  }

  /** The stream is gone: asks how the turn stands instead, until it is over. @param {Turn} turn */
  async ask(turn) {
    for (let wait = 1000; turn.status === 'running'; wait = Math.min(wait * 2, 15_000)) {
      try {
        const { status, reply, problem } = await get(`/turns/${part(turn.turn_id ?? '')}`);
        if (status !== 'running') {
          if (reply) {
            turn.reply = reply;
            this.named(reply.conversation_id);
          }
          return this.end(turn, {
            problem: problem && new Problem(problem),
            stopped: status === 'cancelled',
          });
        }
      } catch (error) {
        const problem = asProblem(error);
        if (problem.status >= 400 && problem.status < 500) return this.end(turn, { problem });
      }
      await new Promise(resolve => setTimeout(resolve, wait));
    }
  }

  async stop() {
    const turn = this.turns.find(turn => turn.status === 'running');
    if (!turn) return;
    turn.stopped = true;
    this.tell();
    if (!turn.turn_id) return;
    try {
      await remove(`/turns/${part(turn.turn_id)}`);
    } catch {
      /* it was over already */
    }
    // The stream says `done` soon; when it does not, the page does not wait for it.
    setTimeout(() => {
      if (turn.status === 'running') this.end(turn, { stopped: true });
    }, 3000);
  }

  /** @param {Turn} turn @param {{ problem?: Problem, stopped?: boolean }} how */
  end(turn, { problem, stopped }) {
    this.unfollow?.();
    this.unfollow = null;
    forget();
    turn.status = 'done';
    turn.away = false;
    if (problem) turn.problem = problem;
    if (stopped) turn.stopped = true;
    if (turn.reply || turn.problem) turn.stopped = turn.reply ? false : turn.stopped;
    else if (!turn.stopped && !turn.text)
      turn.problem = new Problem({ title: 'No answer', detail: 'The answer did not arrive. Ask again.' });
    this.tell();
    rise(conversationsChanged);
    rise(waitingChanged);
    if (turn.reply?.waiting?.length) void this.awaitDecisions();
  }

  /** Looks for decisions of others while a call of this conversation waits; what they decide is told as a message. */
  async awaitDecisions() {
    if (this.awaiting) return;
    this.awaiting = true;
    for (let wait = 2000; this.awaiting; wait = Math.min(wait * 1.5, 30_000)) {
      await new Promise(resolve => setTimeout(resolve, wait));
      if (!this.id || threads.get(this.id) !== this) {
        this.awaiting = false;
        return;
      }
      if (this.running) continue;
      try {
        const { messages } = await get(`/conversations/${part(this.id)}`);
        const decided = turnsOf(messages).filter(turn => !turn.user && turn.text);
        const known = new Set(this.turns.map(turn => turn.text));
        const fresh = decided.filter(turn => !known.has(turn.text));
        if (!fresh.length) continue;
        this.turns = [...this.turns, ...fresh];
        this.awaiting = false;
        this.tell();
        rise(waitingChanged);
      } catch {
        /* it is asked again */
      }
    }
  }

  /** @param {string} id */
  named(id) {
    if (!id || this.id === id) return;
    this.id = id;
    threads.set(id, this);
    // Only while it is the one being looked at: the user may have started a new conversation meanwhile.
    if (fresh !== this) return;
    fresh = new Thread(null);
    this.onNamed?.(id);
  }
}

/** @type {Map<string, Thread>} */
const threads = new Map();
let fresh = new Thread(null);

/** The thread of this conversation, or of one that does not exist yet. @param {string | null} id */
export function threadOf(id) {
  if (!id) return fresh;
  let thread = threads.get(id);
  if (!thread) {
    thread = new Thread(id);
    threads.set(id, thread);
    void thread.load();
  }
  return thread;
}
/** Begins anew, leaving what runs to itself. */
export function beginAnew() {
  if (fresh.turns.length) fresh = new Thread(null);
}
/** @param {string} id */
export function dropThread(id) {
  threads.get(id)?.unfollow?.();
  threads.delete(id);
}

/** @param {string} user @param {Upload[]} files @returns {Turn} */
const newTurn = (user, files) => ({
  key: `t${++keys}`,
  user,
  at: new Date().toISOString(),
  files,
  status: 'running',
  steps: [],
  text: '',
});

/** @param {LiveStep[]} steps @param {number} at @param {LiveStep} step */
function put(steps, at, step) {
  const copy = [...steps];
  copy[at] = step;
  for (let n = 0; n < copy.length; n += 1) copy[n] ??= { what: '', state: 'waiting' };
  return copy;
}

/** @param {Message[]} messages @returns {Turn[]} */
function turnsOf(messages) {
  /** @type {Turn[]} */
  const turns = [];
  for (const message of [...messages].sort((a, b) => a.sequence_number - b.sequence_number)) {
    const last = turns.at(-1);
    if (message.role === 'user')
      turns.push({ ...newTurn(message.content, []), at: message.timestamp, status: 'done' });
    else if (last && !last.text) {
      last.text = message.content;
      last.task_id = message.task_id;
    } else
      turns.push({
        ...newTurn('', []),
        at: message.timestamp,
        status: 'done',
        text: message.content,
        task_id: message.task_id,
      });
  }
  return turns;
}

/** @param {{ turn_id: string, conversation_id: string | null, message: string }} running */
function remember(running) {
  try {
    sessionStorage.setItem(RUNNING, JSON.stringify(running));
  } catch {
    /* then a reload shows the history only */
  }
}
function forget() {
  try {
    sessionStorage.removeItem(RUNNING);
  } catch {
    /* nothing to forget */
  }
}
/** @returns {{ turn_id: string, conversation_id: string | null, message: string } | null} */
function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(RUNNING) ?? 'null');
  } catch {
    return null;
  }
}
/** A first question that was running when the page was reloaded. */
export function pickUpFresh() {
  const kept = remembered();
  if (!kept || kept.conversation_id || fresh.turns.length) return;
  const turn = newTurn(kept.message, []);
  fresh.turns.push(turn);
  fresh.listen(turn, kept.turn_id);
}
