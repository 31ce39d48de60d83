// Users and roles, for owners: who there is, what they hold, and what they may do in effect.
import { html, useState } from '../html.js';
import { get, part, post, remove, signIn } from '../api.js';
import { me } from '../store.js';
import * as format from '../format.js';
import { Copy } from '../parts/bits.js';
import { Dialog, confirm } from '../parts/dialog.js';
import { Icon } from '../parts/icons.js';
import { Read, useRead } from '../parts/states.js';
import { say, sayProblem } from '../parts/toast.js';

/** Names with commas between them. @param {string} text */
const names = text =>
  text
    .split(/[,\n]/)
    .map(one => one.trim())
    .filter(Boolean);
/** @param {(value: string) => void} set */
const typed = set => (/** @type {any} */ event) => set(event.target.value);

/** @type {Record<string, string>} */
const RIGHTS = {
  ask: 'Ask questions',
  tools: 'Call tools',
  run: 'Run workflows',
  approve: 'Approve calls',
  audit: 'Audit the journal',
  verify: 'Verify answers',
  admin: 'Administer',
};

export function Access() {
  const users = useRead('/admin/users');
  const roles = useRead('/admin/roles');
  const [user, setUser] = useState(/** @type {any} */ (null));
  const [role, setRole] = useState(/** @type {any} */ (null));
  const [tested, setTested] = useState(/** @type {Record<string, any>} */ ({}));
  const people = /** @type {any[]} */ (/** @type {any} */ (users.value)?.items ?? []);
  const known = /** @type {any} */ (roles.value) ?? { items: [], domains: [], tools: [], workflows: [] };
  const test = async (/** @type {any} */ one) => {
    try {
      const found = await get(`/admin/users/${part(one.user)}/access`);
      setTested({ ...tested, [one.user]: found });
    } catch (error) {
      sayProblem(error);
    }
  };
  const drop = async (/** @type {any} */ one) => {
    const sure = await confirm({
      title: `Remove ${one.name || one.user}?`,
      text: 'Their keys open nothing from now on. What they did stays in the journal.',
      action: 'Remove',
      danger: true,
    });
    if (sure === null) return;
    try {
      await remove(`/admin/users/${part(one.user)}`);
      say('Removed');
      users.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  const dropRole = async (/** @type {any} */ one) => {
    const sure = await confirm({
      title: `Remove the role ${one.name}?`,
      text: 'Nobody may have it any more.',
      action: 'Remove',
      danger: true,
    });
    if (sure === null) return;
    try {
      await remove(`/admin/roles/${part(one.name)}`);
      say('Removed');
      roles.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<section class="block"><div class="block-head"><h2>Users</h2>
      <button class="button small" type="button" onClick=${() => setUser({})}>
        <${Icon} name="plus" size=${15} />New user</button></div>
    <${Read} read=${users} lines=${2} kind="rows">${() =>
      people.length
        ? html`<ul class="rows">
            ${people.map(
              one =>
                html`<li key=${one.user} class="row still">
                  <span class="avatar" aria-hidden="true"
                    >${(one.name || one.user).slice(0, 1).toUpperCase()}</span
                  ><span class="row-main"
                    ><span class="row-title"><bdi>${one.name || one.user}</bdi></span>
                    <span class="small muted">${[one.user, ...(one.roles ?? [])].join(' · ')}</span>
                    ${tested[one.user] && html`<span class="small">${inWords(tested[one.user])}</span>`}</span
                  >
                  ${one.disabled ? html`<span class="tag bad">disabled</span>` : null}
                  <span class="row-side"
                    ><button class="button small" type="button" onClick=${() => test(one)}>
                      Test<span class="hidden"> the access of ${one.user}</span>
                    </button>
                    <button class="button small" type="button" onClick=${() => setUser(one)}>
                      Edit<span class="hidden"> ${one.user}</span>
                    </button></span
                  >
                  <button
                    class="icon-button"
                    type="button"
                    aria-label=${`Remove ${one.user}`}
                    onClick=${() => drop(one)}
                  >
                    <${Icon} name="trash" size=${16} />
                  </button>
                </li>`,
            )}
          </ul>`
        : html`<p class="muted">
            Only you use this Steward. Add users to work as a team.
          </p>`}</${Read}></section>
    <section class="block"><div class="block-head"><h2>Roles</h2>
      <button class="button small" type="button" onClick=${() => setRole({})}>
        <${Icon} name="plus" size=${15} />New role</button></div>
    <${Read} read=${roles} lines=${2} kind="rows">${() =>
      known.items.length
        ? html`<ul class="rows">
            ${known.items.map(
              (/** @type {any} */ one) =>
                html`<li key=${one.name} class="row still">
                  <span class="row-main"
                    ><span class="row-title">${one.name}</span>
                    <span class="small muted">${holds(one)}</span></span
                  >
                  <span class="row-side"
                    ><button class="button small" type="button" onClick=${() => setRole(one)}>
                      Edit<span class="hidden"> ${one.name}</span>
                    </button></span
                  >
                  <button
                    class="icon-button"
                    type="button"
                    aria-label=${`Remove the role ${one.name}`}
                    onClick=${() => dropRole(one)}
                  >
                    <${Icon} name="trash" size=${16} />
                  </button>
                </li>`,
            )}
          </ul>`
        : html`<p class="muted">
            No roles yet. A role says what its users may ask, call, run and approve.
          </p>`}</${Read}></section>
    ${
      user &&
      html`<${UserForm}
        one=${user}
        roles=${known.items}
        first=${people.length === 0}
        onClose=${() => {
          setUser(null);
          users.reload();
        }}
      />`
    }
    ${
      role &&
      html`<${RoleForm}
        one=${role}
        known=${known}
        onClose=${() => {
          setRole(null);
          roles.reload();
        }}
      />`
    }`;
}

/** What somebody may do, in a sentence. @param {any} found */
function inWords(found) {
  if (found.disabled) return 'Is not let in.';
  const rights = Object.entries(found.may ?? {}).flatMap(([right, yes]) =>
    yes ? [(RIGHTS[right] ?? right).toLowerCase()] : [],
  );
  const domains = found.domains.length ? found.domains.join(', ') : 'none';
  return `May ${rights.join(', ') || 'do nothing'}. Domains: ${domains}. ${format.count(found.tools, 'tool')}.`;
}

/** @param {any} role */
function holds(role) {
  const parts = [
    role.domains.length && `asks ${role.domains.join(', ')}`,
    role.tools.length && `calls ${role.tools.join(', ')}`,
    role.run.length && `runs ${role.run.join(', ')}`,
    role.approve.length && `approves ${role.approve.join(', ')}`,
    role.audit && 'audits',
    role.verify && 'verifies answers',
    role.admin && 'administers',
    role.rules && format.count(role.rules, 'rule over rows', 'rules over rows'),
  ].filter(Boolean);
  return parts.join(' · ') || 'holds nothing';
}

/** @param {{ one: any, roles: any[], first: boolean, onClose: () => void }} props */
function UserForm({ one, roles, first, onClose }) {
  const [user, setUser] = useState(one.user ?? '');
  const [name, setName] = useState(one.name ?? '');
  const [held, setHeld] = useState(/** @type {string[]} */ (one.roles ?? []));
  const [subjects, setSubjects] = useState((one.subjects ?? []).join(', '));
  const [disabled, setDisabled] = useState(!!one.disabled);
  const [key, setKey] = useState('');
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      // With the first user, nobody is let in without signing in: the owner gets a key before.
      const own = first
        ? await post('/admin/keys', { user: me.value?.user ?? '', name: 'Owner', days: 365 })
        : null;
      await post('/admin/users', {
        user: user.trim(),
        name: name.trim(),
        roles: held,
        subjects: names(subjects),
        disabled,
      });
      say('Saved');
      if (!own) return onClose();
      await signIn(own.key);
      setKey(own.key);
    } catch (error) {
      sayProblem(error);
    }
  };
  if (key)
    return html`<${Dialog} title="Your own key" onClose=${() => location.reload()}>
      <p>From now on everyone signs in, you too. This is your key; copy it now, it is not shown again.</p>
      <p class="made-key"><code>${key}</code></p>
      <div class="actions end"><${Copy} text=${key} label="Copy the key" />
        <button class="button primary" type="button" onClick=${() => location.reload()}>Done</button></div>
          </${Dialog}>`;
  return html`<${Dialog} title=${one.user ? 'Edit user' : 'New user'} onClose=${onClose}><form onSubmit=${save}>
    <label class="field"><span>User</span>
      <input required disabled=${!!one.user} value=${user} onInput=${typed(setUser)} autocomplete="off" /></label>
    <label class="field"><span>Name</span><input value=${name} onInput=${typed(setName)} autocomplete="off" /></label>
    <fieldset class="field"><legend>Roles</legend><div class="checks-row">
      ${['owner', ...roles.map(role => role.name)].map(
        role =>
          html`<label key=${role}
            ><input
              type="checkbox"
              checked=${held.includes(role)}
              onChange=${() =>
                setHeld(held.includes(role) ? held.filter(other => other !== role) : [...held, role])}
            />
            ${role}</label
          >`,
      )}</div></fieldset>
    <label class="field"><span>Names at the identity provider <span class="muted small">(email or id)</span></span>
      <input value=${subjects} onInput=${typed(setSubjects)} autocomplete="off" /></label>
    <label class="field inline"><input type="checkbox" checked=${disabled} onChange=${() => setDisabled(!disabled)} />
      Not let in any more</label>
    ${
      first &&
      html`<p class="note">
        <span>This is the first user. From then on everyone signs in, you too; you get your own key.</span>
      </p>`
    }
    <div class="actions end"><button class="button" type="button" onClick=${onClose}>Cancel</button>
      <button class="button primary" type="submit">Save</button></div></form></${Dialog}>`;
}

/** @param {{ one: any, known: any, onClose: () => void }} props */
function RoleForm({ one, known, onClose }) {
  const [fields, setFields] = useState(
    /** @type {Record<string, any>} */ ({
      name: one.name ?? '',
      domains: (one.domains ?? []).join(', '),
      tools: (one.tools ?? []).join(', '),
      run: (one.run ?? []).join(', '),
      approve: (one.approve ?? []).join(', '),
      audit: !!one.audit,
      verify: !!one.verify,
      admin: !!one.admin,
    }),
  );
  const set = (/** @type {string} */ field) => (/** @type {any} */ event) =>
    setFields({
      ...fields,
      [field]: event.target.type === 'checkbox' ? event.target.checked : event.target.value,
    });
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await post('/admin/roles', {
        name: fields.name.trim(),
        domains: names(fields.domains),
        tools: names(fields.tools),
        tables: one.tables ?? {},
        run: names(fields.run),
        approve: names(fields.approve),
        audit: fields.audit,
        verify: fields.verify,
        admin: fields.admin,
      });
      say('Saved');
      onClose();
    } catch (error) {
      sayProblem(error);
    }
  };
  /** @type {[string, string, string[]][]} */
  const lists = [
    ['domains', 'May ask these domains', known.domains],
    ['tools', 'May call these tools', known.tools],
    ['run', 'May run these workflows', known.workflows],
    ['approve', 'May approve calls of these tools', known.tools],
  ];
  return html`<${Dialog} title=${one.name ? `Role ${one.name}` : 'New role'} onClose=${onClose}><form
    onSubmit=${save}>
    ${
      !one.name &&
      html`<label class="field"
        ><span>Name</span><input required value=${fields.name} onInput=${set('name')} autocomplete="off"
      /></label>`
    }
    ${lists.map(
      ([field, label, offered]) =>
        html`<label class="field" key=${field}
          ><span
            >${label} <span class="muted small">(names with commas; <code>todo.*</code> for all)</span></span
          >
          <input list=${`known-${field}`} value=${fields[field]} onInput=${set(field)} autocomplete="off" />
          <datalist id=${`known-${field}`}>
            ${offered.slice(0, 100).map(name => html`<option value=${name}></option>`)}
          </datalist></label
        >`,
    )}
    <div class="checks-row">
      ${['audit', 'verify', 'admin'].map(
        right =>
          html`<label key=${right}
            ><input type="checkbox" checked=${fields[right]} onChange=${set(right)} /> ${RIGHTS[right]}</label
          >`,
      )}</div>
    <div class="actions end"><button class="button" type="button" onClick=${onClose}>Cancel</button>
      <button class="button primary" type="submit">Save</button></div></form></${Dialog}>`;
}
