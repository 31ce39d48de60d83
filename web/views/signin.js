// The sign-in page: a provider when there is one, and one field for an access key.
import { html, useEffect, useState } from '../html.js';
import { asProblem, get, signIn } from '../api.js';
import { Icon } from '../parts/icons.js';

/** @param {{ onDone: () => void }} props */
export function SignIn({ onDone }) {
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [provider, setProvider] = useState('');
  useEffect(() => {
    get('/session').then(
      found => setProvider(found.provider ?? ''),
      () => {},
    );
  }, []);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!key.trim()) {
      setProblem('Enter your access key.');
      return;
    }
    setBusy(true);
    setProblem('');
    try {
      await signIn(key.trim());
      onDone();
    } catch (error) {
      const { status, message } = asProblem(error);
      setProblem(status === 401 || status === 403 ? 'This access key is invalid or expired.' : message);
    }
    setBusy(false);
  };
  return html`<main class="sign-in" id="main">
    <form onSubmit=${submit}>
      <span class="mark"><${Icon} name="tick" size=${26} /></span>
      <h1>Sign in to Steward</h1>
      ${
        provider &&
        html`<a class="button primary full" href="/sign-in">Sign in with <bdi>${provider}</bdi></a>
          <p class="or">or</p>`
      }
      <label class="field"
        ><span>Access key</span>
        <input
          type="password"
          name="key"
          autocomplete="current-password"
          value=${key}
          autofocus
          aria-invalid=${problem ? 'true' : null}
          aria-describedby="key-help"
          onInput=${(/** @type {any} */ event) => setKey(event.target.value)}
      /></label>
      ${problem && html`<p class="bad-text" role="alert">${problem}</p>`}
      <button class="button ${provider ? '' : 'primary'} full" type="submit" disabled=${busy}>
        ${busy ? 'Signing in…' : 'Sign in'}
      </button>
      <p class="small muted" id="key-help">
        Ask an administrator for a key. The browser stores only a session cookie, not the key.
      </p>
    </form>
  </main>`;
}
