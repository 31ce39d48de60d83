// The same numbers as another kind of chart. Works on charts of one drawing with one quantity; what
// it cannot redraw it offers no other kind for.

/** @typedef {'bar' | 'line' | 'area' | 'pie' | 'point'} ChartKind */

/** @type {Record<ChartKind, string>} */
export const KIND_NAMES = { bar: 'Bars', line: 'Line', area: 'Area', pie: 'Ring', point: 'Points' };
/** The most parts that a ring can show. */
const MOST_PARTS = 10;

/**
 * What a chart is about: the channel of its categories or times, of its quantity, of its series.
 * @param {any} spec
 */
function channels(spec) {
  const { encoding } = spec ?? {};
  const mark = spec?.mark?.type ?? spec?.mark;
  if (!encoding || spec.layer || spec.facet || encoding.row || encoding.column || encoding.x2) return null;
  if (mark === 'arc') {
    const { theta, color } = encoding;
    return theta?.field && color?.field ? { by: color, of: theta, series: null, mark: 'pie' } : null;
  }
  if (!['bar', 'line', 'area', 'point', 'circle'].includes(mark)) return null;
  const { x, y } = encoding;
  if (!x?.field || !y?.field || x.bin || y.bin) return null;
  const lying = x.type === 'quantitative' && y.type !== 'quantitative';
  const [by, of] = lying ? [y, x] : [x, y];
  if (of.type !== 'quantitative' || by.type === 'quantitative') return null;
  const series = encoding.color?.field ? encoding.color : null;
  return { by, of, series, mark: mark === 'circle' ? 'point' : mark };
}

/**
 * The kinds that a chart can be drawn as, the one that it is first.
 * @param {any} spec @returns {ChartKind[]}
 */
export function kindsOf(spec) {
  const found = channels(spec);
  if (!found) return [];
  const rows = spec.data?.values ?? [];
  const parts = new Set(rows.map((/** @type {any} */ row) => row[found.by.field])).size;
  const names = new Set(rows.map((/** @type {any} */ row) => row[found.series?.field])).size;
  const positive = rows.every((/** @type {any} */ row) => !(row[found.of.field] < 0));
  const kinds = /** @type {ChartKind[]} */ (
    ['bar', 'line', 'area', 'point'].filter(kind => kind !== 'area' || found.by.type !== 'nominal')
  );
  if (parts > 1 && parts <= MOST_PARTS && names <= 1 && positive && found.by.type !== 'temporal')
    kinds.push('pie');
  const now = /** @type {ChartKind} */ (found.mark);
  return [now, ...kinds.filter(kind => kind !== now)];
}

/**
 * The chart as another kind.
 * @param {any} spec @param {ChartKind} kind
 */
export function asKind(spec, kind) {
  const found = channels(spec);
  if (!found || found.mark === kind) return spec;
  const { by, of, series } = found;
  const plain = { ...by, axis: by.axis, legend: undefined };
  const rest = { ...spec, mark: { type: kind === 'pie' ? 'arc' : kind, tooltip: true } };
  if (kind === 'pie')
    return {
      ...rest,
      encoding: {
        theta: { field: of.field, type: 'quantitative', title: of.title },
        color: { field: by.field, type: 'nominal', title: by.title ?? null },
      },
    };
  const quantity = { ...of, stack: kind === 'area' && series ? 'zero' : null };
  const drawn = { ...rest, encoding: { x: plain, y: quantity, ...(series && { color: series }) } };
  if (kind === 'line') drawn.mark = { type: 'line', tooltip: true, point: true };
  if (kind === 'bar' && series) drawn.encoding.xOffset = { field: series.field };
  if (kind === 'bar' && by.type === 'temporal') {
    const rows = spec.data?.values ?? [];
    const months = rows.every((/** @type {any} */ row) => /^\d{4}-\d\d-01/.test(String(row[by.field])));
    const [timeUnit, format] = months ? ['yearmonth', '%b %Y'] : ['yearmonthdate', '%d %b %Y'];
    drawn.encoding.x = { ...plain, type: 'ordinal', timeUnit, axis: { ...by.axis, format } };
  }
  return drawn;
}
