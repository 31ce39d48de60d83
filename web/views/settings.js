// Settings: who you are, how the page looks, what is set up, and keys for administrators.
import { html, useState } from '../html.js';
import { part, post, remove } from '../api.js';
import { chooseTheme, chosenTheme, may, me, theme, useWatched } from '../store.js';
import { Icon } from '../parts/icons.js';
import { Read, useModule, useRead } from '../parts/states.js';
import { Copy, Head, Time } from '../parts/bits.js';
import { Dialog, confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';

/** @type {Record<string, string>} */
const WAYS = {
  loopback: 'this machine, without a login',
  key: 'an access key',
  session: 'a session',
  token: 'a token',
};

/** @type {[string, string, boolean][]} tabs: name, label, for administrators only */
const TABS = [
  ['', 'You', false],
  ['users', 'Users and roles', true],
  ['keys', 'Keys', true],
  ['connections', 'Connections', true],
  ['models', 'Models', true],
  ['configuration', 'Configuration', true],
];

/** @param {{ route: import('../router.js').Route }} props */
export default function Settings({ route }) {
  const tab = route.path[1] ?? '';
  const access = useModule(() => import('./admin-access.js'));
  const connections = useModule(() => import('./admin-connections.js'));
  const tabs = TABS.filter(([, , admins]) => !admins || may('admin'));
  return html`<${Head} title="Settings" /> ${
      tabs.length > 1 &&
      html`<nav class="tabs" aria-label="Settings">
        ${tabs.map(
          ([name, label]) =>
            html`<a
              key=${name}
              href=${`#/settings${name && `/${name}`}`}
              aria-current=${tab === name ? 'page' : null}
              >${label}</a
            >`,
        )}
      </nav>`
    }
    ${tab === '' && html`<${You} />`} ${tab === 'users' && access.module && html`<${access.module.Access} />`}
    ${tab === 'keys' && html`<${Keys} />`}
    ${tab === 'connections' && connections.module && html`<${connections.module.Connections} />`}
    ${tab === 'models' && html`<${Models} />`} ${tab === 'configuration' && html`<${Configuration} />`}`;
}

/** Who you are, and how the page looks. */
function You() {
  const who = /** @type {Me} */ (useWatched(me));
  useWatched(theme);
  const [, again] = useState(0);
  const out = async () => {
    try {
      await remove('/session');
      location.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<section class="block">
      <h2>Account</h2>
      <div class="card padded">
        <dl class="facts inside">
          <div>
            <dt>Name</dt>
            <dd>${who.name || who.user}</dd>
          </div>
          <div>
            <dt>User</dt>
            <dd><code>${who.user}</code></dd>
          </div>
          <div>
            <dt>Roles</dt>
            <dd>${who.roles.join(', ') || '–'}</dd>
          </div>
          <div>
            <dt>Rights</dt>
            <dd>
              ${
                Object.entries(who.may)
                  .flatMap(([right, yes]) => (yes ? [right] : []))
                  .join(', ') || '–'
              }
            </dd>
          </div>
          <div>
            <dt>Signed in with</dt>
            <dd>${WAYS[who.signed_in_with] ?? who.signed_in_with}</dd>
          </div>
        </dl>
        ${
          who.signed_in_with === 'session' || who.signed_in_with === 'key'
            ? html`<div class="actions">
                <button class="button" type="button" onClick=${out}>
                  <${Icon} name="out" size=${16} />Sign out
                </button>
              </div>`
            : null
        }
      </div>
    </section>
    <section class="block">
      <h2>Appearance</h2>
      <div class="card padded">
        <fieldset class="choice">
          <legend class="hidden">Theme</legend>
          ${
            /** @type {['system' | 'light' | 'dark', string, string][]} */ ([
              ['system', 'System', 'screen'],
              ['light', 'Light', 'sun'],
              ['dark', 'Dark', 'moon'],
            ]).map(
              ([value, label, icon]) =>
                html`<label key=${value}>
                  <input
                    type="radio"
                    name="theme"
                    checked=${chosenTheme() === value}
                    onChange=${() => {
                      chooseTheme(value);
                      again(n => n + 1);
                    }}
                  /><span> <${Icon} name=${icon} size=${17} />${label}</span></label
                >`,
            )
          }
        </fieldset>
      </div>
    </section>`;
}

function Models() {
  const read = useRead('/settings');
  const value = /** @type {any} */ (read.value);
  const models = Object.entries(value?.settings?.models ?? {});
  return html`<section class="block"><h2>Models</h2>
    <${Read} read=${read} lines=${3} kind="rows">${() =>
      models.length
        ? html`<ul class="rows">
            ${models.map(
              ([name, one]) =>
                html`<li key=${name} class="row still">
                  <${Icon} name="spark" />
                  <span class="row-main"
                    ><span class="row-title">${name}</span>
                    <span class="small muted"
                      >${
                        typeof one === 'object'
                          ? flat(one)
                              .map(([field, shown]) => `${field}: ${shown}`)
                              .join(' · ')
                          : String(one)
                      }</span
                    ></span
                  >
                </li>`,
            )}
          </ul>`
        : html`<p class="muted">
            No model is set up. Questions about data and tools are answered without one.
          </p>`}</${Read}></section>`;
}

function Configuration() {
  const read = useRead('/settings');
  return html`<section class="block"><h2>Configuration</h2>
      <p class="muted small">Secrets are hidden. The operator of this server changes these values.</p>
      <${Read} read=${read} lines=${6}>${(/** @type {any} */ value) =>
        html`<div class="card">
          <div class="table-scroll" tabindex="0" role="region" aria-label="Settings">
            <table class="settings">
              <tbody>
                ${flat({
                  version: value.version,
                  home: value.home,
                  store: value.store,
                  ...value.settings,
                }).map(
                  ([name, one]) =>
                    html`<tr key=${name}>
                      <th scope="row">${name}</th>
                      <td>
                        ${
                          one === null || one === ''
                            ? html`<span class="muted">–</span>`
                            : html`<code> ${String(one)}</code>`
                        }
                      </td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>
        </div>`}</${Read}></section>`;
}

/** @param {any} value @param {string} [under] @returns {[string, any][]} */
function flat(value, under = '') {
  return Object.entries(value ?? {}).flatMap(([name, one]) => {
    const path = under ? `${under}.${name}` : name;
    if (Array.isArray(one))
      return [[path, one.every(item => typeof item !== 'object') ? one.join(', ') : JSON.stringify(one)]];
    return one && typeof one === 'object'
      ? Object.keys(one).length
        ? flat(one, path)
        : [[path, '']]
      : [[path, one]];
  });
}

function Keys() {
  const read = useRead('/admin/keys');
  const users = useRead('/admin/users');
  const people = /** @type {any[]} */ (/** @type {any} */ (users.value)?.items ?? []);
  const [making, setMaking] = useState(false);
  const revoke = async (/** @type {any} */ one) => {
    if (
      (await confirm({
        title: `Revoke “${one.name}”?`,
        text: `Clients that use this key of ${one.user} are signed out immediately.`,
        action: 'Revoke',
        danger: true,
      })) === null
    )
      return;
    try {
      await remove(`/admin/keys/${part(one.id)}`);
      say('Revoked');
      read.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<section class="block"><div class="block-head"><h2>Access keys</h2><button class="button small"
    type="button"
      onClick=${() => setMaking(true)}>
      <${Icon} name="plus" size=${15} />New key</button></div>
    <${Read} read=${read} lines=${2} kind="rows">${(/** @type {any} */ value) =>
      value.items.length
        ? html`<ul class="rows">
            ${value.items.map(
              (/** @type {any} */ one) =>
                html`<li key=${one.id} class="row still ${one.revoked_at ? 'dim' : ''}">
                  <${Icon} name="key" />
                  <span class="row-main"
                    ><span class="row-title">${one.name}</span
                    ><span class="small muted">
                      ${one.user} · created
                      <${Time} at=${one.created_at} relative />
                      ${
                        one.expires_at ? html` · until <${Time} at=${one.expires_at} />` : null
                      }${one.scopes?.length ? ` · ${one.scopes.join(', ')}` : ''}</span
                    ></span
                  >
                  ${
                    one.revoked_at
                      ? html`<span class="tag bad">revoked</span>`
                      : html`<button class="button small" type="button" onClick=${() => revoke(one)}>
                          Revoke<span class="hidden"> ${one.name}</span>
                        </button>`
                  }
                </li>`,
            )}
          </ul>`
        : html`<p class="muted">No keys yet. Create one so that other users can sign in.</p>`}</${Read}>
    ${
      making &&
      html`<${NewKey}
        people=${people}
        onClose=${() => {
          setMaking(false);
          read.reload();
        }}
      />`
    }</section>`;
}

const RIGHTS = ['ask', 'tools', 'run', 'approve', 'audit', 'admin'];

/** @param {{ people: any[], onClose: () => void }} props */
function NewKey({ people, onClose }) {
  const known = people.filter(one => !one.disabled).map(one => String(one.user));
  const [user, setUser] = useState(known[0] ?? me.value?.user ?? '');
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState(/** @type {string[]} */ ([]));
  const [days, setDays] = useState('90');
  const [made, setMade] = useState('');
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const { key } = await post('/admin/keys', {
        user: user.trim(),
        name: name.trim(),
        ...(scopes.length && { scopes }),
        ...(days && { days: Number(days) }),
      });
      setMade(key);
    } catch (error) {
      sayProblem(error);
    }
  };
  const text = (/** @type {(value: string) => void} */ set) => (/** @type {any} */ event) =>
    set(event.target.value);
  return html`<${Dialog} title="New key" onClose=${onClose}>${
    made
      ? html`<p>Copy the key now. It is not shown again.</p>
          <p class="made-key"><code> ${made}</code></p>
          <div class="actions end">
            <${Copy} text=${made} label="Copy the key" />
            <button class="button primary" type="button" onClick=${onClose}>Done</button>
          </div>`
      : html`<form onSubmit=${submit}>
          <label class="field"
            ><span>User</span>
            <input
              required
              list="known-users"
              value=${user}
              onInput=${text(setUser)}
              autocomplete="off"
            /><datalist id="known-users">
              ${known.map(one => html`<option value=${one}></option>`)}
            </datalist></label
          ><label class="field"
            ><span>Name</span>
            <input
              required
              value=${name}
              placeholder="Laptop of Anna"
              onInput=${text(setName)}
              autocomplete="off"
          /></label>
          <fieldset class="field">
            <legend>Scopes <span class="muted small">(none selected: all rights of the user)</span></legend>
            <div class="checks-row">
              ${RIGHTS.map(
                one =>
                  html`<label key=${one}>
                    <input
                      type="checkbox"
                      checked=${scopes.includes(one)}
                      onChange=${(/** @type {any} */ event) =>
                        setScopes(
                          event.target.checked ? [...scopes, one] : scopes.filter(other => other !== one),
                        )}
                    />
                    ${one}</label
                  >`,
              )}
            </div>
          </fieldset>
          <label class="field"
            ><span>Valid for (days)</span>
            <input type="number" min="1" value=${days} onInput=${text(setDays)}
          /></label>
          <div class="actions end">
            <button class="button" type="button" onClick=${onClose}>Cancel</button>
            <button class="button primary" type="submit">Create key</button>
          </div>
        </form>`
  }</${Dialog}>`;
}
