// Verifies the journal in the browser, as docs/journal.md describes: hash chains, digests, Merkle
// proofs and the signature of the head.
// It trusts nothing the server says about itself, only what it can recompute.

/** A number as it was written: `1.0` and `1` hash differently, so the text must survive reading. */
class Written {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

/** Reads JSON and keeps numbers as written. @param {string} text @returns {any} */
export function readJson(text) {
  let at = 0;
  const fail = () => {
    throw new Error(`not JSON at character ${at}`);
  };
  const space = () => {
    while (' \t\n\r'.includes(text[at]) && at < text.length) at += 1;
  };
  /** @param {string} sign */
  const take = sign => {
    if (text[at] !== sign) fail();
    at += 1;
  };
  const string = () => {
    const match = /"(?:[^"\\]|\\.)*"/y;
    match.lastIndex = at;
    const found = match.exec(text);
    if (!found) return fail();
    at += found[0].length;
    return JSON.parse(found[0]);
  };
  /** @returns {any} */
  const value = () => {
    space();
    const sign = text[at];
    if (sign === '"') return string();
    if (sign === '{') {
      /** @type {Map<string, any>} */
      const members = new Map();
      at += 1;
      space();
      if (text[at] === '}') {
        at += 1;
        return members;
      }
      for (;;) {
        space();
        const name = string();
        if (members.has(name)) fail();
        space();
        take(':');
        members.set(name, value());
        space();
        if (text[at] === '}') {
          at += 1;
          return members;
        }
        take(',');
      }
    }
    if (sign === '[') {
      /** @type {any[]} */
      const items = [];
      at += 1;
      space();
      if (text[at] === ']') {
        at += 1;
        return items;
      }
      for (;;) {
        items.push(value());
        space();
        if (text[at] === ']') {
          at += 1;
          return items;
        }
        take(',');
      }
    }
    const word = /true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
    word.lastIndex = at;
    const found = word.exec(text)?.[0];
    if (!found) return fail();
    at += found.length;
    return found === 'true' ? true : found === 'false' ? false : found === 'null' ? null : new Written(found);
  };
  const read = value();
  space();
  if (at !== text.length) fail();
  return read;
}

/** @param {string} a @param {string} b */
const byCodePoint = (a, b) => {
  const x = [...a],
    y = [...b];
  for (let n = 0; n < Math.min(x.length, y.length); n += 1) {
    const d = (x[n].codePointAt(0) ?? 0) - (y[n].codePointAt(0) ?? 0);
    if (d) return d;
  }
  return x.length - y.length;
};

/**
 * As Python's `json.dumps(value, sort_keys=True)` writes it.
 * @param {any} value
 * @returns {string}
 */
export function python(value, sort = true) {
  if (value instanceof Written) return value.text;
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string')
    return JSON.stringify(value).replace(
      /[\u007f-\uffff]/g,
      sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  if (Array.isArray(value)) return `[${value.map(one => python(one)).join(', ')}]`;
  const names = sort ? [...value.keys()].sort(byCodePoint) : [...value.keys()];
  return `{${names.map(name => `${python(name)}: ${python(value.get(name))}`).join(', ')}}`;
}

/** As RFC 8785 has it. @param {any} value @returns {string} */
export function canonical(value) {
  if (value instanceof Written) return JSON.stringify(Number(value.text));
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  // The default order of sort() is by UTF-16 unit, which is what the RFC asks for.
  return `{${[...value.keys()]
    .sort()
    .map(name => `${JSON.stringify(name)}:${canonical(value.get(name))}`)
    .join(',')}}`;
}

const encoder = new TextEncoder();
/** @param {...(string | Uint8Array)} pieces @returns {Promise<Uint8Array>} */
async function sha256(...pieces) {
  const all = pieces.map(piece => (typeof piece === 'string' ? encoder.encode(piece) : piece));
  const joined = new Uint8Array(all.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of all) {
    joined.set(piece, at);
    at += piece.length;
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', joined));
}
/** @param {Uint8Array} bytes */
const hex = bytes => [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('');
/** @param {string} text */
const unhex = text => Uint8Array.from(text.match(/../g) ?? [], pair => parseInt(pair, 16));
/** @param {string} text */
const base64 = text => Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
const ZERO = '0'.repeat(64);

/**
 * Checks every entry of an exported chain. Throws with the place and the reason at the first that
 *   does not hold.
 * @param {string} jsonl @param {(done: number, all: number) => void} [progress]
 * @returns {Promise<{ entries: number, tip: string, root: Uint8Array }>} how many, the digest of
 *   the last, and the Merkle root over all
 */
export async function verifyChain(jsonl, progress) {
  const lines = jsonl.split('\n').filter(Boolean);
  let parent = ZERO,
    digest = ZERO,
    chain = null;
  /** @type {Uint8Array[]} */
  const leaves = [];
  for (const [at, line] of lines.entries()) {
    const wrong = (/** @type {string} */ why) => new Error(`Entry ${at + 1}: ${why}`);
    const entry = readJson(line);
    if (python(entry, false) !== line) throw wrong('its text was modified.');
    if (entry.get('sequence_number')?.text !== String(at + 1))
      throw wrong('an entry is missing or out of order.');
    chain ??= entry.get('request_id');
    if (entry.get('request_id') !== chain) throw wrong('it belongs to another chain.');
    if (entry.get('parent_hash') !== parent || entry.get('parent_digest') !== digest)
      throw wrong('it does not follow the previous entry.');
    const hash = hex(
      await sha256(
        `${parent}${entry.get('timestamp')}${entry.get('event_type')}${python(entry.get('event_data'))}`,
      ),
    );
    if (hash !== entry.get('hash')) throw wrong('its hash does not match its content.');
    const own = entry.get('digest');
    entry.delete('digest');
    if (hex(await sha256('steward.journal.entry.v1\0', canonical(entry))) !== own)
      throw wrong('its digest does not match its content.');
    parent = hash;
    digest = own;
    leaves.push(await sha256(new Uint8Array([0]), unhex(own)));
    if (at % 50 === 0) progress?.(at, lines.length);
  }
  return { entries: lines.length, tip: digest, root: await rootOf(leaves) };
}

/**
 * The root of a tree as RFC 6962 has it.
 * @param {Uint8Array[]} leaves
 * @returns {Promise<Uint8Array>}
 */
async function rootOf(leaves) {
  if (!leaves.length) return sha256('');
  if (leaves.length === 1) return leaves[0];
  // Split at the largest power of two below the number of leaves.
  const half = 2 ** Math.floor(Math.log2(leaves.length - 1));
  return sha256(new Uint8Array([1]), await rootOf(leaves.slice(0, half)), await rootOf(leaves.slice(half)));
}
/** @param {Uint8Array} a @param {Uint8Array} b */
export const same = (a, b) => hex(a) === hex(b);

/**
 * Checks the signature of a head. @param {string} note @param {string} vkey
 * @returns {Promise<{ origin: string, size: number, root: Uint8Array, signed: boolean }>} `signed`
 *   is false where this browser cannot check Ed25519
 */
export async function openNote(note, vkey) {
  const cut = note.indexOf('\n\n');
  if (cut < 0) throw new Error('The head has no signature.');
  const text = note.slice(0, cut + 1);
  const [origin, size, root] = text.split('\n');
  const [name, id, ...rest] = vkey.trim().split('+');
  const key = base64(rest.join('+'));
  if (key[0] !== 1 || key.length !== 33) throw new Error('The key is not an Ed25519 key.');
  if (hex(await sha256(`${name}\n`, key)).slice(0, 8) !== id)
    throw new Error('The id of the key does not match the key.');
  const line = note
    .slice(cut + 2)
    .split('\n')
    .find(one => one.startsWith(`— ${name} `));
  if (!line) throw new Error('The head is not signed by this key.');
  const blob = base64(line.slice(`— ${name} `.length));
  if (hex(blob.slice(0, 4)) !== id) throw new Error('The head is signed by another key.');
  let signed = true;
  try {
    const verifier = await crypto.subtle.importKey('raw', key.slice(1), { name: 'Ed25519' }, false, [
      'verify',
    ]);
    if (!(await crypto.subtle.verify('Ed25519', verifier, blob.slice(4), encoder.encode(text))))
      throw new Error('The signature of the head is invalid.');
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    signed = false;
  }
  return { origin, size: Number(size), root: base64(root), signed };
}

/**
 * Checks that a digest is in the log under a head (RFC 9162, 2.1.3.2).
 * @param {string} digest @param {number} index @param {number} size @param {string[]} path @param
 *   {Uint8Array} root
 */
export async function verifyInclusion(digest, index, size, path, root) {
  if (index >= size) throw new Error('The index of the entry is beyond the head.');
  let fn = index,
    sn = size - 1;
  let hash = await sha256(new Uint8Array([0]), unhex(digest));
  for (const step of path) {
    if (sn === 0) throw new Error('The proof is too long.');
    const other = base64(step);
    if (fn % 2 === 1 || fn === sn) {
      hash = await sha256(new Uint8Array([1]), other, hash);
      while (fn % 2 === 0 && fn !== 0) {
        fn = Math.floor(fn / 2);
        sn = Math.floor(sn / 2);
      }
    } else hash = await sha256(new Uint8Array([1]), hash, other);
    fn = Math.floor(fn / 2);
    sn = Math.floor(sn / 2);
  }
  if (sn !== 0 || hex(hash) !== hex(root)) throw new Error('The proof does not match the signed head.');
}
