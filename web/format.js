// Numbers, times and sizes in the reader's own locale.

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const dayUtc = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const monthUtc = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const even = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fine = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 4 });
const bare = new Intl.NumberFormat(undefined, { useGrouping: false, maximumFractionDigits: 4 });
const share = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });

/** @param {number} value */
export function number(value) {
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value)) return whole.format(value);
  return Math.abs(value) >= 1 ? plain.format(value) : fine.format(value);
}
/** With two decimals, always. @param {number} value */
export const decimals = value => (Number.isFinite(value) ? even.format(value) : '–');
/** A number that names something rather than counts it. @param {number} value */
export const name = value => bare.format(value);
/** @param {number} value between 0 and 1 */
export const percent = value => share.format(value);

/** @param {string | null | undefined} time */
export const time = time => (time ? moment.format(new Date(time)) : '–');
/** @param {string | null | undefined} time */
export const exactTime = time => (time ? exact.format(new Date(time)) : '');
/** @param {string} time */
export const timeOfDay = time => clock.format(new Date(time));

/**
 * @param {string} date as `2021-01-31`
 * @param {boolean} months whether all of its neighbours begin a month
 */
export const date = (date, months) => (months ? monthUtc : dayUtc).format(new Date(date));

/** How long ago or how soon. @param {string | null | undefined} time */
export function ago(time) {
  if (!time) return '–';
  const seconds = (new Date(time).getTime() - Date.now()) / 1000;
  const far = Math.abs(seconds);
  if (far < 45) return relative.format(0, 'second');
  if (far < 3600) return relative.format(Math.round(seconds / 60), 'minute');
  if (far < 86400) return relative.format(Math.round(seconds / 3600), 'hour');
  if (far < 7 * 86400) return relative.format(Math.round(seconds / 86400), 'day');
  return day.format(new Date(time));
}

/** @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return '–';
  if (ms < 1000) return `${whole.format(ms)} ms`;
  if (ms < 60_000)
    return `${new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 }).format(ms / 1000)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {number} bytes */
export function bytes(bytes) {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
  let at = 0;
  while (bytes >= 1000 && at < units.length - 1) {
    bytes /= 1000;
    at += 1;
  }
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: units[at],
    unitDisplay: at ? 'short' : 'long',
    maximumFractionDigits: at ? 1 : 0,
  }).format(bytes);
}

/** `1 entry`, `2 entries`. @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many = one + 's') => `${whole.format(n)} ${n === 1 ? one : many}`;

/** `list_tasks` as words. @param {string} text */
export const words = text => {
  const said = text.replace(/[_-]+/g, ' ').trim();
  return said.charAt(0).toUpperCase() + said.slice(1);
};
