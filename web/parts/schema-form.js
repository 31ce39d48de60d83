// A form out of a JSON schema: a field for each property, JSON for what is nested. Reads back the
// arguments or says what is wrong.
import { html } from '../html.js';
import * as format from '../format.js';

/** @param {any} schema @returns {string} */
function typeOf(schema) {
  const type = Array.isArray(schema?.type)
    ? schema.type.find((/** @type {string} */ one) => one !== 'null')
    : schema?.type;
  if (schema?.enum) return 'enum';
  if (type) return type;
  const other = (schema?.anyOf ?? schema?.oneOf ?? []).find(
    (/** @type {any} */ one) => one.type && one.type !== 'null',
  );
  return other ? typeOf(other) : 'any';
}

/**
 * What the fields hold before anything is written.
 * @param {any} schema
 * @returns {Record<string, any>}
 */
export const blank = schema =>
  Object.fromEntries(
    Object.entries(schema?.properties ?? {}).map(([name, of]) => [
      name,
      of.default === undefined
        ? typeOf(of) === 'boolean'
          ? false
          : ''
        : typeof of.default === 'object'
          ? JSON.stringify(of.default)
          : of.default,
    ]),
  );

/**
 * @param {any} schema @param {Record<string, any>} fields
 * @returns {{ value: Record<string, any>, wrong: Record<string, string> }}
 */
export function readForm(schema, fields) {
  /** @type {Record<string, any>} */
  const value = {};
  /** @type {Record<string, string>} */
  const wrong = {};
  for (const [name, of] of Object.entries(schema?.properties ?? {})) {
    const raw = fields[name],
      type = typeOf(of),
      required = schema.required?.includes(name);
    if (raw === '' || raw === undefined) {
      if (required) wrong[name] = 'This field is required.';
      continue;
    }
    if (type === 'boolean') {
      if (raw || required || of.default === true) value[name] = !!raw;
      continue;
    }
    if (type === 'number' || type === 'integer') {
      const number = Number(raw);
      if (!Number.isFinite(number) || (type === 'integer' && !Number.isInteger(number)))
        wrong[name] = type === 'integer' ? 'Enter a whole number.' : 'Enter a number.';
      else value[name] = number;
    } else if (type === 'string') value[name] = String(raw);
    else if (type === 'enum')
      value[name] = of.enum.find((/** @type {any} */ one) => String(one) === String(raw)) ?? raw;
    else {
      try {
        value[name] = JSON.parse(raw);
      } catch {
        // A list of words may be written with commas; anything else that is not JSON is text where
        // text is allowed.
        if (type === 'array' && (typeOf(of.items) === 'string' || !of.items))
          value[name] = String(raw)
            .split(',')
            .map(one => one.trim())
            .filter(Boolean);
        else if (type === 'any') value[name] = raw;
        else wrong[name] = 'This is not valid JSON.';
      }
    }
  }
  return { value, wrong };
}

/**
 * @param {{ schema: any, fields: Record<string, any>, wrong: Record<string, string>, onChange:
 *   (fields: Record<string, any>) => void }} props
 */
export function SchemaForm({ schema, fields, wrong, onChange }) {
  const properties = Object.entries(schema?.properties ?? {});
  if (!properties.length) return html`<p class="muted">This tool has no arguments.</p>`;
  const required = new Set(schema.required ?? []);
  properties.sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a)));
  return html`<div class="schema-form">
    ${properties.map(([name, of]) => {
      const type = typeOf(of),
        id = `field-${name}`,
        help = wrong[name] || of.description;
      const set = (/** @type {any} */ value) => onChange({ ...fields, [name]: value });
      const common = {
        id,
        'aria-invalid': wrong[name] ? 'true' : null,
        'aria-describedby': help ? `${id}-help` : null,
        'aria-required': required.has(name) ? 'true' : null,
      };
      const text = (/** @type {any} */ event) => set(event.target.value);
      const field =
        type === 'enum'
          ? html`<select ...${common} value=${fields[name]} onChange=${text}>
              <option value="">${required.has(name) ? 'Choose…' : '–'}</option>
              ${of.enum.map(
                (/** @type {any} */ one) => html`<option value=${String(one)}>${String(one)}</option>`,
              )}
            </select>`
          : type === 'boolean'
            ? html`<input
                ...${common}
                type="checkbox"
                checked=${!!fields[name]}
                onChange=${(/** @type {any} */ event) => set(event.target.checked)}
              />`
            : type === 'number' || type === 'integer'
              ? html`<input
                  ...${common}
                  type="number"
                  step=${type === 'integer' ? 1 : 'any'}
                  min=${of.minimum}
                  max=${of.maximum}
                  value=${fields[name]}
                  onInput=${text}
                />`
              : type === 'string' && (of.maxLength ?? 0) <= 200
                ? html`<input
                    ...${common}
                    type=${of.format === 'date' ? 'date' : 'text'}
                    value=${fields[name]}
                    onInput=${text}
                    autocomplete="off"
                  />`
                : html`<textarea
                    ...${common}
                    rows=${type === 'string' ? 2 : 3}
                    class=${type === 'string' ? '' : 'mono'}
                    placeholder=${type === 'array' ? '["one", "two"]' : type === 'object' ? '{ }' : ''}
                    value=${fields[name]}
                    onInput=${text}
                  ></textarea>`;
      return html`<div key=${name} class="field ${type === 'boolean' ? 'inline' : ''}">
        <label for=${id}>
          ${format.words(name)}${required.has(name) ? html`<span class="needed">required</span>` : null}<span
            class="muted small type"
          >
            ${type === 'enum' ? '' : type === 'any' ? 'JSON' : type}</span
          ></label
        >${field}
        ${help && html`<p id=${`${id}-help`} class=${wrong[name] ? 'small bad-text' : 'small muted'}>${help}</p>`}
      </div>`;
    })}
  </div>`;
}
