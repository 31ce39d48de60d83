// Speaks HTTP with the server: one function per verb, problems as errors, the CSRF token on
// everything that changes state.

const BASE = '/api/v1';
let csrf = '';
let onSignedOut = () => {};

/**
 * Messages also serve the command line; a sentence that names a command is left out here.
 * @param {string} text
 */
const forThePage = text =>
  text
    .split(/(?<=[.!?:])\s+/)
    .filter(sentence => !/`steward [^`]*`/.test(sentence))
    .join(' ')
    .replace(/[:\s]+$/, '');

/** What the server says went wrong. `detail` is a sentence for people. */
export class Problem extends Error {
  /** @param {ProblemDocument} document */
  constructor(document) {
    super(forThePage(document.detail ?? '') || document.title || 'Something went wrong.');
    this.name = 'Problem';
    this.status = document.status ?? 0;
    this.code = document.code ?? '';
    this.title = document.title ?? '';
    this.request_id = document.request_id ?? '';
    /** Where the code is explained, when the server says so. */
    this.page = document.type?.startsWith('/page/') ? document.type : '';
    this.retry_after = document.retry_after ?? 0;
  }
}

/** @param {any} error @returns {Problem} */
export function asProblem(error) {
  if (error instanceof Problem) return error;
  if (error?.detail || error?.title) return new Problem(error);
  if (error?.name === 'AbortError')
    return new Problem({ title: 'Stopped', detail: 'The request was cancelled.' });
  return new Problem({
    title: 'Server unreachable',
    detail: 'The Steward server does not answer. Check that it is running, then try again.',
  });
}

/** @param {string} token */
export function setToken(token) {
  csrf = token;
}
/** @param {() => void} call */
export function whenSignedOut(call) {
  onSignedOut = call;
}

/** @param {string} path */
export const url = path => BASE + path;

/**
 * A path with a query; what is empty is left out.
 * @param {string} path
 * @param {Record<string, any>} query
 */
export function withQuery(path, query) {
  const given = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  return given.length
    ? `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
    : path;
}

/** A path segment. @param {string | number} text */
export const part = text => encodeURIComponent(String(text));

/** @param {Response} answer @returns {Promise<Problem>} */
async function problemOf(answer) {
  const retry_after = Number(answer.headers.get('Retry-After')) || 0;
  let document = /** @type {ProblemDocument} */ ({});
  try {
    document = await answer.json();
  } catch {
    /* not every proxy speaks JSON */
  }
  return new Problem({
    title: answer.statusText,
    detail: `The server answered ${answer.status}.`,
    ...document,
    status: answer.status,
    retry_after,
  });
}

/**
 * @param {string} method @param {string} path
 * @param {{ body?: any, signal?: AbortSignal, as?: 'json' | 'text' | 'whole', quiet?: boolean }}
 *   [options]
 */
async function call(method, path, { body, signal, as = 'json', quiet } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: as === 'text' ? '*/*' : 'application/json' };
  if (method !== 'GET') headers['X-CSRF-Token'] = csrf;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const answer = await fetch(BASE + path, {
    method,
    headers,
    signal,
    credentials: 'same-origin',
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!answer.ok) {
    if (answer.status === 401 && !quiet) onSignedOut();
    throw await problemOf(answer);
  }
  if (as === 'text') return answer.text();
  const text = await answer.text();
  const value = text ? JSON.parse(text) : null;
  return as === 'whole' ? { status: answer.status, value } : value;
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = (path, signal) => call('GET', path, { signal });
/** @param {string} path @returns {Promise<string>} */
export const getText = path => call('GET', path, { as: 'text' });
/**
 * An exported chain and its signed head, which travels in a header.
 * @param {string} path
 * @returns {Promise<{ text: string, head: string | null }>}
 */
export async function getExport(path) {
  const answer = await fetch(BASE + path, { credentials: 'same-origin' });
  if (!answer.ok) throw await problemOf(answer);
  const head = answer.headers.get('x-steward-head');
  return { text: await answer.text(), head: head && decodeURIComponent(head) };
}
/** @param {string} path @param {any} [body] @returns {Promise<any>} */
export const post = (path, body) => call('POST', path, { body: body ?? {} });
/**
 * Also tells the status, where 200 and 202 mean different things.
 * @param {string} path
 * @param {any} body
 * @returns {Promise<{status: number, value: any}>}
 */
export const postWhole = (path, body) => call('POST', path, { body, as: 'whole' });
/** @param {string} path @param {any} body @returns {Promise<any>} */
export const patch = (path, body) => call('PATCH', path, { body });
/** @param {string} path @returns {Promise<any>} */
export const remove = path => call('DELETE', path);

/** Who is asking; null when a login is needed. @returns {Promise<Me | null>} */
export async function me() {
  try {
    const found = await call('GET', '/me', { quiet: true });
    setToken(found.csrf);
    return found;
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return null;
    throw error;
  }
}

/** @param {string} key */
export const signIn = key => call('POST', '/session', { body: { key }, quiet: true });

/**
 * Uploads a file and tells how far it is.
 * @param {File} file @param {(share: number) => void} progress @returns {Promise<Upload>}
 */
export function upload(file, progress) {
  // fetch() cannot say how far an upload is; XMLHttpRequest can.
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', BASE + withQuery('/uploads', { name: file.name }));
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.setRequestHeader('X-CSRF-Token', csrf);
    request.upload.onprogress = event => progress(event.lengthComputable ? event.loaded / event.total : 0);
    request.onerror = () => reject(asProblem(null));
    request.onload = () => {
      let document = {};
      try {
        document = JSON.parse(request.responseText);
      } catch {
        /* answered below */
      }
      if (request.status < 300) resolve(/** @type {Upload} */ (document));
      else
        reject(
          new Problem({
            detail: `The server answered ${request.status}.`,
            ...document,
            status: request.status,
          }),
        );
    };
    request.send(file);
  });
}
