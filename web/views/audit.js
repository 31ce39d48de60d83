// Audit: the head of the journal, verifying it on the server and in the browser, and looking at
// chains.
import { html, useEffect, useState } from '../html.js';
import { asProblem, get, getExport, part, post, url } from '../api.js';
import { go } from '../router.js';
import { Icon } from '../parts/icons.js';
import { Empty, More, Read, Trouble, usePages, useRead } from '../parts/states.js';
import { Code, Copy, Head, Json, Time, save } from '../parts/bits.js';
import { openNote, same, verifyChain, verifyInclusion } from '../verify.js';
import * as format from '../format.js';

const SYSTEM_CHAIN = '00000000-0000-0000-0000-000000000000';

/** @param {{ route: import('../router.js').Route }} props */
export default function Audit({ route }) {
  const chain = route.path[1];
  return chain ? html`<${Chain} key=${chain} chain=${chain} />` : html`<${Overview} />`;
}

function Overview() {
  const head = useRead('/audit/head');
  const recent = useRead('/tasks?limit=10');
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [id, setId] = useState('');
  const verify = async () => {
    setBusy(true);
    setProblem(null);
    setFound(null);
    try {
      setFound(await post('/audit/verify'));
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  return html`<${Head} title="Audit"
    text="Every action is an entry in the journal. Changes of the journal are detected.">
    <button class="button primary" type="button" disabled=${busy} onClick=${verify}><${Icon} name="audit"
      size=${16} />
    ${busy ? 'Verifying…' : 'Verify the journal'}</button></${Head}>
    <div aria-live="polite">${
      found &&
      html`<div class="verdict ${found.valid === false ? 'bad' : 'good'}">
        <${Icon} name=${found.valid === false ? 'warn' : 'tick'} size=${22} />
        <div>
          <p class="verdict-title">
            ${found.valid === false ? 'The journal was changed' : 'The journal is valid'}
          </p>
          <p>
            ${format.count(found.entries, 'entry', 'entries')} in ${format.count(found.chains, 'chain')},
            ${format.number(found.signed)} under a signed head,
            ${format.count(found.payloads ?? 0, 'payload')}
            checked${found.erased ? `, ${format.number(found.erased)} erased` : ''}.
          </p>
        </div>
      </div>`
    }
      ${problem && html`<${Trouble} problem=${problem} retry=${verify} title="Verification failed" />`}</div>
    <section class="block"><h2>Signed head</h2><${Read} read=${head} lines=${3}>
      ${(/** @type {any} */ value) =>
        value?.size
          ? html`<div class="card padded">
              <dl class="pairs">
                <dt>Entries</dt>
                <dd>${format.number(value.size)}</dd>
                <dt>Root</dt>
                <dd><code class="break">${value.root}</code></dd>
                <dt>Key</dt>
                <dd><code class="break"> ${value.vkey}</code> <${Copy} text=${value.vkey} /></dd>
              </dl>
              <${Code}
                title="The signed head. Keep a copy on another system to detect a rewritten journal."
                text=${value.note}
              />
            </div>`
          : html`<p class="muted">
              The journal is empty. There is nothing to sign yet.
            </p>`}</${Read}></section>
    <section class="block"><h2>Inspect a chain</h2>
      <form class="inline-form" onSubmit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        if (id.trim()) go(`/audit/${id.trim()}`);
      }}>
      <label class="hidden" for="chain-id">Id of a task or a conversation</label>
      <input id="chain-id" placeholder="Id of a task or a conversation" value=${id} onInput=${(
        /** @type {any} */ event,
      ) => setId(event.target.value)} />
      <button class="button" type="submit">Open</button><a class="button"
        href=${`#/audit/${SYSTEM_CHAIN}`}>System chain</a></form>
      <${Read} read=${recent} lines=${4} kind="rows">${(/** @type {any} */ value) =>
        value.items.length
          ? html`<ul class="rows">
              ${value.items.map(
                (/** @type {Task} */ task) =>
                  html`<li key=${task.id}>
                    <a class="row" href=${`#/audit/${task.id}`}
                      ><span class="row-main">
                        <span class="row-title">${task.description}</span
                        ><span class="small muted"><${Time} at=${task.created_at} relative /></span
                      ></span>
                      <${Icon} name="right" size=${16}
                    /></a>
                  </li>`,
              )}
            </ul>`
          : html`<${Empty} icon="audit" title="No chains yet" />`}</${Read}></section>`;
}

/** @typedef {{ text: string, state: 'busy' | 'good' | 'bad' | 'skipped' }} Check */

/**
 * Whether this browser saw this key before; the first sight is remembered.
 * @param {string} vkey
 * @returns {Check}
 */
function known(vkey) {
  try {
    const before = JSON.parse(localStorage.getItem('steward.key') ?? 'null');
    if (!before) {
      localStorage.setItem('steward.key', JSON.stringify({ vkey, at: new Date().toISOString() }));
      return { state: 'good', text: 'This browser stores the key for later comparison.' };
    }
    return before.vkey === vkey
      ? { state: 'good', text: `The key is the one that this browser stored on ${format.time(before.at)}.` }
      : {
          state: 'bad',
          text:
            `The key differs from the one that this browser stored on ${format.time(before.at)}. ` +
            'Ask your administrator why it changed.',
        };
  } catch {
    return {
      state: 'skipped',
      text: 'This browser cannot store data, so the key cannot be compared with an earlier one.',
    };
  }
}

/** @param {{ chain: string }} props */
function Chain({ chain }) {
  const read = usePages(`/audit/chains/${part(chain)}/entries?after=0&limit=100`);
  const [more, setMore] = useState(/** @type {any[]} */ ([]));
  const [checks, setChecks] = useState(/** @type {Check[]} */ ([]));
  const [chainHead, setChainHead] = useState('');
  const [busy, setBusy] = useState(false);
  const [open, setOpen] = useState(-1);
  const entries = [...read.items, ...more].map(one => /** @type {Entry} */ (one.entry ?? one));
  // Where the server gives no cursor, the next entries are asked for by their place.
  const last = entries.at(-1)?.sequence_number ?? 0;
  const full =
    !read.next &&
    (more.length ? more.length % 100 === 0 : entries.length >= 100 && entries.length % 100 === 0);
  const loadMore = async () => {
    const { items } = await get(`/audit/chains/${part(chain)}/entries?after=${last}&limit=100`);
    setMore([...more, ...items]);
  };

  const verify = async () => {
    /** @type {Check[]} */
    const done = [];
    const show = (/** @type {Check} */ check) => setChecks([...done, check]);
    const add = (/** @type {Check} */ check) => {
      done.push(check);
      setChecks([...done]);
    };
    setBusy(true);
    try {
      if (!crypto.subtle)
        throw new Error('Browsers compute hashes only on https or on localhost. Open the page there.');
      show({ state: 'busy', text: 'Fetching the chain' });
      const exported = await getExport(`/audit/chains/${part(chain)}/export`);
      const result = await verifyChain(exported.text, (at, all) =>
        show({ state: 'busy', text: `Checking entry ${format.number(at + 1)} of ${format.number(all)}` }),
      );
      add({
        state: 'good',
        text: `${format.count(result.entries, 'entry', 'entries')}: the links, hashes and digests of all are valid.`,
      });
      show({ state: 'busy', text: 'Fetching the head and a proof' });
      if (!result.entries) {
        add({ state: 'skipped', text: 'The chain is empty. There is nothing else to check.' });
        setBusy(false);
        return;
      }
      const [head, proof] = await Promise.all([
        get('/audit/head'),
        get(`/audit/proofs/${part(chain)}/${result.entries}`),
      ]);
      if (proof.digest !== result.tip) throw new Error('The proof is not for the last entry of this chain.');
      if (proof.key !== head.vkey) throw new Error('The proof names another key than the head.');
      const note = await openNote(proof.head, proof.key);
      if (note.origin !== proof.key.split('+')[0])
        throw new Error('The head does not cover the whole journal.');
      if (note.size !== proof.size) throw new Error('The proof is for another head.');
      await verifyInclusion(proof.digest, proof.index, proof.size, proof.inclusion, note.root);
      add({
        state: 'good',
        text:
          'A Merkle proof links the last entry to the signed head over ' +
          `${format.count(note.size, 'entry', 'entries')}. ` +
          'Each entry covers its predecessor, so the head covers the whole chain.',
      });
      add(
        note.signed
          ? { state: 'good', text: 'The Ed25519 signature of the head is valid.' }
          : {
              state: 'skipped',
              text: 'This browser does not support Ed25519. The signature of the head was not checked.',
            },
      );
      if (exported.head) {
        const own = await openNote(exported.head, proof.key);
        if (
          !own.origin.endsWith(`/chain/${chain}`) ||
          own.size !== result.entries ||
          !same(own.root, result.root)
        )
          throw new Error('The head of the exported chain does not match its entries.');
        setChainHead(exported.head);
        add({
          state: 'good',
          text: 'The exported chain has its own signed head over exactly these entries.',
        });
      }
      add(known(proof.key));
    } catch (error) {
      add({ state: 'bad', text: error.name === 'Problem' ? error.message : String(error.message ?? error) });
    }
    setBusy(false);
  };
  useEffect(() => {
    document.title = 'Journal – Steward';
  }, []);
  const passed =
    checks.length > 1 && checks.every(check => check.state === 'good' || check.state === 'skipped') && !busy;
  return html`<${Head} title=${
    chain === SYSTEM_CHAIN ? 'System chain' : 'Journal chain'
  } back=${{ to: '/audit', label: 'Audit' }} text=${html`<code class="break">${chain}</code>`}>
      <button class="button primary" type="button" disabled=${busy} onClick=${verify}>
        <${Icon} name="audit" size=${16} />Verify in this browser</button>
        <a class="button" href=${url(`/audit/chains/${part(chain)}/export`)} download=${`${chain}.jsonl`}>
        <${Icon} name="download" size=${16} />Export</a>
        ${chain !== SYSTEM_CHAIN && html`<a class="button" href=${`#/tasks/${chain}`}>Open the task</a>`}</${Head}>
    <div aria-live="polite">${
      checks.length > 0 &&
      html`<div class="card padded checks">
        <ul>
          ${checks.map(
            (check, at) =>
              html`<li key=${at} class=${check.state}>
                <span class="step-mark">
                  ${
                    check.state === 'busy'
                      ? html`<span class="spinner"></span>`
                      : html`<${Icon}
                          name=${check.state === 'good' ? 'tick' : check.state === 'bad' ? 'cross' : 'warn'}
                          size=${15}
                        />`
                  }</span
                >
                <span>${check.text}</span>
              </li>`,
          )}
        </ul>
        ${passed && html`<p class="verdict-title good-text">Verified by this browser, not by the server.</p>`}${
          chainHead &&
          html`<div class="actions">
            <button
              class="button small"
              type="button"
              onClick=${() => save(`${chain}.jsonl.head`, chainHead)}
            >
              <${Icon} name="download" size=${15} />Head of the chain
            </button>
            <span class="small muted"
              >Save it beside the export: both together can be checked on any machine.</span
            >
          </div>`
        }
      </div>`
    }</div>
    <section class="block"><h2>Entries</h2><${Read} read=${read} lines=${6} kind="rows">${() =>
      entries.length
        ? html`<ol class="entries">
              ${entries.map(
                (entry, at) =>
                  html`<li key=${entry.entry_id ?? at}>
                    <button
                      type="button"
                      class="entry"
                      aria-expanded=${open === at}
                      onClick=${() => setOpen(open === at ? -1 : at)}
                    >
                      <span class="entry-number"> ${entry.sequence_number}</span
                      ><span class="entry-type">${format.words(entry.event_type)}</span
                      ><span class="small muted">${entry.actor}</span>
                      <span class="small muted entry-time">${format.timeOfDay(entry.timestamp)}</span>
                    </button>
                    ${
                      open === at &&
                      html`<div class="entry-more">
                        <dl class="pairs">
                          <dt>Time</dt>
                          <dd>${format.exactTime(entry.timestamp)}</dd>
                          <dt>Hash</dt>
                          <dd>
                            <code class="break">${entry.hash}</code>
                          </dd>
                          <dt>Digest</dt>
                          <dd><code class="break">${entry.digest}</code></dd>
                        </dl>
                        <${Json} value=${entry.event_data} />
                        <a
                          class="button small"
                          href=${url(`/audit/proofs/${part(chain)}/${entry.sequence_number}`)}
                          download=${`proof-${chain}-${entry.sequence_number}.json`}
                        >
                          <${Icon} name="download" size=${15} />Proof</a
                        >
                      </div>`
                    }
                  </li>`,
              )}
            </ol>
            ${
              read.next
                ? html`<${More} pages=${read} />`
                : full
                  ? html`<div class="more">
                      <button class="button" type="button" onClick=${loadMore}>Show more</button>
                    </div>`
                  : null
            }`
        : html`<${Empty} icon="audit" title="No entries">
        <p>This chain is empty or belongs to another user.</p></${Empty}>`}</${Read}></section>`;
}
