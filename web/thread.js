// A conversation as the page holds it: its turns, the one that runs, and what the server streams
// about it. Threads outlive the view, so
// that going elsewhere and coming back finds the answer still being told.
import { Watched, conversationsChanged, rise, waitingChanged } from './store.js';
import { Problem, asProblem, get, part, post, remove, withQuery } from './api.js';
import { follow } from './stream.js';

/** @typedef {{ what: string, state: string, milliseconds?: number }} LiveStep */
/**
 * An option of a question, by the task that asked and its place.
 * @typedef {{ task_id: string, option: number }} OptionChoice
 */
/**
 * @typedef {{ key: string, user: string, at: string, files: Upload[], status: 'running' | 'done',
 *   turn_id?: string, steps: LiveStep[], text: string,
 *   reply?: Reply, problem?: Problem, stopped?: boolean, away?: boolean, task_id?: string | null,
 *   fetching?: boolean, interrupted?: boolean }} Turn
 */

const RUNNING = 'steward.running';
let keys = 0;

/**
 * Tells the other tabs of this browser what changed: a turn that began, a conversation that has
 * something new.
 */
const tabs = 'BroadcastChannel' in globalThis ? new BroadcastChannel('steward') : null;
/**
 * @param {{ kind: 'turn' | 'changed' | 'list', id?: string | null, turn_id?: string, message?:
 *   string, files?: Upload[] }} news
 */
const tellTabs = news => tabs?.postMessage(news);

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
    /**
     * Told the id when the first answer gives the conversation one.
     * @type {((id: string) => void) | null}
     */
    this.onNamed = null;
    /** @type {(() => void) | null} */
    this.unfollow = null;
    this.awaiting = false;
    this.archived = false;
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
      this.archived = conversation.status === 'archived';
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
    const turn = before && before.user === kept.message ? before : newTurn(kept.message, kept.files ?? []);
    if (turn !== before) this.turns.push(turn);
    turn.status = 'running';
    this.listen(turn, kept.turn_id);
  }

  /**
   * Reads the conversation again, keeping the replies that are here.
   */
  async refresh() {
    if (!this.id || this.running || this.status !== 'ready') return;
    try {
      const { conversation, messages } = await get(`/conversations/${part(this.id)}`);
      if (this.running) return;
      this.title = conversation.title;
      this.archived = conversation.status === 'archived';
      const known = new Map(this.turns.flatMap(turn => (taskOf(turn) ? [[taskOf(turn), turn]] : [])));
      const read = turnsOf(messages);
      // What was stopped or failed here is not in the conversation; it stays until the next reload.
      const apart = this.turns.filter(turn => !taskOf(turn) && !turn.reply);
      this.turns = [...read.map(turn => known.get(turn.task_id) ?? turn), ...apart];
      this.tell();
      await this.fill();
    } catch {
      /* what is shown stays */
    }
  }

  /**
   * Runs a changed statement within the conversation and gives its reply.
   * @param {string} sql @param {Upload[]} files @returns {Promise<Reply>}
   */
  async run(sql, files) {
    const reply = await post('/ask', {
      message: sql,
      ...(this.id && { conversation_id: this.id }),
      ...dataOf(files),
    });
    tellTabs({ kind: 'changed', id: this.id });
    return reply;
  }

  /**
   * @param {string} message @param {Upload[]} [files] @param {OptionChoice} [choice]
   * @param {('data' | 'question')[]} [without] what earlier turns left behind and does not count
   */
  async send(message, files = [], choice, without = []) {
    if (this.running) return;
    const turn = newTurn(message, files);
    this.turns = [...this.turns, turn];
    this.tell();
    try {
      const body = {
        message,
        ...(this.id && { conversation_id: this.id }),
        ...(choice && { choice }),
        ...dataOf(files),
      };
      const { turn_id, events } = await post(withQuery('/turns', { without: without.join(',') }), body);
      remember({ turn_id, conversation_id: this.id, message, files });
      tellTabs({ kind: 'turn', id: this.id, turn_id, message, files });
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
        if (problem.status === 404) return this.interrupted(turn);
        if (problem.status >= 400 && problem.status < 500) return this.end(turn, { problem });
      }
      await new Promise(resolve => setTimeout(resolve, wait));
    }
  }

  /**
   * The server does not know the turn any more: it was started again meanwhile. What it wrote down
   * is shown; what it did not finish can be asked again, with its files.
   * @param {Turn} turn
   */
  async interrupted(turn) {
    const written = this.id ? await get(`/conversations/${part(this.id)}`).catch(() => null) : null;
    const last = written && turnsOf(written.messages).at(-1);
    if (last?.user === turn.user && last.text) {
      turn.text = last.text;
      turn.task_id = last.task_id;
      turn.interrupted = true;
      this.end(turn, {});
      return this.fill();
    }
    turn.interrupted = true;
    return this.end(turn, {
      problem: new Problem({
        title: 'Interrupted',
        detail: 'The server was started again before the answer was complete.',
      }),
    });
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
    tellTabs({ kind: 'changed', id: this.id });
    rise(conversationsChanged);
    rise(waitingChanged);
    if (turn.reply?.waiting?.length) void this.awaitDecisions(turn.reply.waiting.length);
  }

  /**
   * Looks for decisions of others while a call of this conversation waits; what they decide is told
   * as a message.
   * @param {number} open how many calls wait
   */
  async awaitDecisions(open) {
    if (this.awaiting) return;
    this.awaiting = true;
    for (let wait = 2000; this.awaiting; wait = Math.min(wait * 1.5, 5_000)) {
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
        open -= fresh.length;
        this.awaiting = open > 0;
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
    // Only while it is the one being looked at: the user may have started a new conversation
    // meanwhile.
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

/** Another tab began a turn or changed a conversation: what is shown here follows. */
tabs?.addEventListener('message', ({ data }) => {
  if (data.kind !== 'turn') rise(conversationsChanged);
  const thread = data.id && threads.get(data.id);
  if (!thread || thread.status !== 'ready') return;
  if (data.kind === 'turn' && !thread.running) {
    const turn = newTurn(data.message, data.files ?? []);
    thread.turns = [...thread.turns, turn];
    thread.listen(turn, data.turn_id);
  } else if (data.kind === 'changed' && !thread.running) void thread.refresh();
});
// Another browser may have gone on with it.
document.addEventListener('visibilitychange', () => {
  const shown = /^#\/c\/([^?]+)/.exec(location.hash)?.[1];
  if (!document.hidden && shown) void threads.get(decodeURIComponent(shown))?.refresh();
});

/** Tells other tabs that the list of conversations changed. */
export const listChanged = () => {
  rise(conversationsChanged);
  tellTabs({ kind: 'list' });
};

/** @param {Upload[]} files those that are still there, as a request names them */
const dataOf = files => {
  const there = files.filter(file => file.id && !file.gone);
  return there.length ? { data: there.map(file => `upload:${file.id}`) } : {};
};
/** @param {Turn} turn */
const taskOf = turn => turn.reply?.task_id ?? turn.task_id;

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
      last.files = message.files ?? [];
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

/**
 * @param {{ turn_id: string, conversation_id: string | null, message: string, files?: Upload[] }}
 *   running
 */
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
/**
 * @returns {{ turn_id: string, conversation_id: string | null, message: string, files?: Upload[] }
 *   | null}
 */
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
  const turn = newTurn(kept.message, kept.files ?? []);
  fresh.turns.push(turn);
  fresh.listen(turn, kept.turn_id);
}
