// Draws a Vega-Lite chart. The libraries load when the first chart comes into view; expressions are
// interpreted, so no eval, and
// the colours and the words of dates and numbers follow the theme and the reader's locale.
import { html, useEffect, useRef, useState } from '../html.js';
import { theme, useWatched } from '../store.js';
import { Skeleton } from './states.js';

/** @type {Promise<any> | null} */
let loaded = null;

/** @param {string} file */
const script = file =>
  new Promise((resolve, reject) => {
    const element = document.createElement('script');
    element.src = `/page/vendor/${file}`;
    element.onload = () => resolve(undefined);
    element.onerror = () => reject(new Error(`${file} could not be loaded`));
    document.head.append(element);
  });

function library() {
  // The three are plain scripts that need one another in this order.
  loaded ??= script('vega.min.js')
    .then(() => script('vega-lite.min.js'))
    .then(() => script('vega-embed.min.js'))
    .then(() => /** @type {any} */ (window).vegaEmbed);
  loaded.catch(() => {
    loaded = null;
  });
  return loaded;
}

/** @param {Intl.DateTimeFormatOptions} options @param {Date[]} dates */
const names = (options, dates) => dates.map(date => new Intl.DateTimeFormat(undefined, options).format(date));

function locale() {
  const parts = new Intl.NumberFormat().formatToParts(-1234567.8);
  /** @param {string} type @param {string} other */
  const of = (type, other) => parts.find(part => part.type === type)?.value ?? other;
  const months = Array.from({ length: 12 }, (_, at) => new Date(2021, at, 1));
  const days = Array.from({ length: 7 }, (_, at) => new Date(2021, 7, 1 + at));
  return {
    formatLocale: {
      decimal: of('decimal', '.'),
      thousands: of('group', ','),
      grouping: [3],
      currency: ['', ''],
    },
    timeFormatLocale: {
      dateTime: '%x, %X',
      date: '%d.%m.%Y',
      time: '%H:%M:%S',
      periods: ['AM', 'PM'],
      months: names({ month: 'long' }, months),
      shortMonths: names({ month: 'short' }, months),
      days: names({ weekday: 'long' }, days),
      shortDays: names({ weekday: 'short' }, days),
    },
  };
}

/** Every encoding of a chart, those of its layers too. @param {any} spec @returns {any[]} */
const encodings = spec => [spec.encoding, ...(spec.layer ?? []).flatMap(encodings)].filter(Boolean);

/** Says months as months and zero as zero. @param {any} spec */
function plainAxes(spec) {
  const rows = spec.data?.values ?? [];
  for (const encoding of encodings(spec)) {
    for (const channel of [encoding.x, encoding.y]) {
      if (!channel || channel.axis === null) continue;
      if (channel.type === 'quantitative' && channel.axis?.format === '~s')
        channel.axis = {
          ...channel.axis,
          labelExpr:
            "datum.value === 0 ? '0' : abs(datum.value) < 1 ? format(datum.value, '.2~g') : format(datum.value, '~s')",
        };
      if (channel.type !== 'temporal' || channel.axis?.format || channel.timeUnit) continue;
      const times = [
        ...new Set(rows.map((/** @type {any} */ row) => row[channel.field]).filter(Boolean)),
      ].map(String);
      if (!times.length || !times.every(time => /^\d{4}-\d\d-01/.test(time))) continue;
      const years = times.every(time => time.slice(5, 7) === '01') && times.length > 1;
      const named =
        years || times.length <= 4
          ? {}
          : {
              labelExpr:
                "timeFormat(datum.value, datum.index === 0 || month(datum.value) === 0 ? '%b %Y' : '%b')",
            };
      channel.axis = {
        ...channel.axis,
        format: years ? '%Y' : '%b %Y',
        ...named,
        ...(times.length <= 12
          ? {
              values: times.map(time => ({
                year: Number(time.slice(0, 4)),
                month: Number(time.slice(5, 7)),
                date: 1,
              })),
            }
          : {}),
      };
    }
  }
}

/**
 * Bars whose names do not fit side by side lie down.
 * @param {any} spec
 * @param {number} width
 * @returns {number | null} the height that they need
 */
function layDown(spec, width) {
  const { encoding, mark, data } = spec;
  const { x, y, xOffset } = encoding ?? {};
  if (
    (mark?.type ?? mark) !== 'bar' ||
    !x?.field ||
    // Time runs from left to right.
    x.timeUnit ||
    !['ordinal', 'nominal'].includes(x.type) ||
    y?.type !== 'quantitative'
  )
    return null;
  const names = [
    ...new Set((data?.values ?? []).map((/** @type {any} */ row) => String(row[x.field] ?? ''))),
  ];
  if (names.length * (Math.max(...names.map(name => Math.min(name.length, 24))) * 6.6 + 14) <= width - 60)
    return null;
  encoding.x = y;
  encoding.y = { ...x, title: null };
  delete encoding.xOffset;
  if (xOffset) encoding.yOffset = xOffset;
  const series = xOffset
    ? new Set((data?.values ?? []).map((/** @type {any} */ row) => row[xOffset.field])).size
    : 1;
  const legend = encoding.color ? 60 : 0;
  return Math.max(160, names.length * Math.max(24, series * 13) + 56 + legend);
}

/** Whether it is one drawing, which may take the width that there is. @param {any} spec */
const isSingle = spec =>
  !(
    'facet' in spec ||
    'hconcat' in spec ||
    'vconcat' in spec ||
    'concat' in spec ||
    'repeat' in spec ||
    spec.encoding?.row ||
    spec.encoding?.column ||
    spec.encoding?.facet
  );

/** The chart's own marks and data with our looks. @param {any} given @param {number} wide */
function dressed(given, wide) {
  const narrow = wide < 480;
  const style = getComputedStyle(document.documentElement);
  /** @param {string} name */
  const colour = name => style.getPropertyValue(name).trim();
  const spec = structuredClone(given);
  const single = isSingle(spec);
  // A pointer wants the exact number, not the short one of the axis.
  const fields = [spec.encoding?.x, spec.encoding?.color ?? spec.encoding?.xOffset, spec.encoding?.y].filter(
    one => one?.field && !one.aggregate && !one.bin,
  );
  if (spec.mark?.tooltip === true && fields.length > 1 && !spec.encoding.tooltip)
    spec.encoding.tooltip = fields.map(one => ({
      field: one.field,
      type: one.type,
      title: one.title ?? one.field,
      ...(one.type === 'quantitative'
        ? { format: ',.2~f' }
        : one.axis?.format && (one.type === 'temporal' || one.timeUnit)
          ? { format: one.axis.format, ...(one.timeUnit && { timeUnit: one.timeUnit, type: 'temporal' }) }
          : {}),
    }));
  const lying = single ? layDown(spec, wide) : null;
  plainAxes(spec);
  delete spec.title;
  // A chart says what to draw, not how the library is to behave.
  delete spec.usermeta;
  spec.background = 'transparent';
  if (single) {
    spec.width = 'container';
    spec.height = lying ?? (narrow ? 220 : 260);
    spec.autosize = { type: 'fit', contains: 'padding', resize: true };
  }
  // Bars between two edges and bars on top of each other keep their corners.
  const alone =
    !spec.encoding?.x2 && (!spec.encoding?.color || spec.encoding?.xOffset || spec.encoding?.yOffset);
  if (single && alone && spec.mark?.type === 'bar') spec.mark = { cornerRadiusEnd: 3, ...spec.mark };
  if (spec.mark?.type === 'arc')
    spec.mark = { ...spec.mark, innerRadius: { expr: 'min(width, height) / 2 * 0.6' } };
  const ramp = [colour('--accent-soft'), colour('--chart-1')];
  const text = {
    labelColor: colour('--muted'),
    titleColor: colour('--muted'),
    labelFont: 'system-ui, sans-serif',
    titleFont: 'system-ui, sans-serif',
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 500,
  };
  spec.config = {
    ...spec.config,
    font: 'system-ui, sans-serif',
    view: { stroke: null },
    axis: {
      ...text,
      gridColor: colour('--line'),
      domainColor: colour('--line-strong'),
      tickColor: colour('--line-strong'),
      titlePadding: 8,
      labelPadding: 5,
      ticks: false,
    },
    axisX: {
      domain: !lying,
      labelAngle: 0,
      labelOverlap: 'greedy',
      labelFlush: false,
      labelLimit: narrow ? 90 : 140,
    },
    axisQuantitative: { tickCount: narrow ? 4 : 6 },
    axisTemporal: { grid: false },
    axisY: { domain: !!lying, labelLimit: narrow ? 120 : 170 },
    legend: { ...text, orient: 'bottom', symbolType: 'circle', columns: narrow ? 2 : 4 },
    header: text,
    line: { strokeWidth: 2.5 },
    rule: { color: colour('--muted') },
    boxplot: { rule: { color: colour('--muted') }, size: 22 },
    point: { size: 55, filled: true },
    mark: { color: colour('--chart-1') },
    range: { category: [1, 2, 3, 4, 5, 6, 7, 8].map(at => colour(`--chart-${at}`)), ramp, heatmap: ramp },
  };
  return spec;
}

/** @param {{ title: string, spec: any, onView?: (view: any) => void }} props */
export function Chart({ title, spec, onView }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [seen, setSeen] = useState(false);
  const [state, setState] = useState(/** @type {'loading' | 'ready' | 'failed'} */ ('loading'));
  const dress = useWatched(theme);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watcher = new IntersectionObserver(
      entries => {
        if (entries.some(entry => entry.isIntersecting)) {
          setSeen(true);
          watcher.disconnect();
        }
      },
      { root: document.getElementById('main'), rootMargin: '400px 0px' },
    );
    watcher.observe(element.parentElement ?? element);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!seen || !element) return;
    /** @type {any} */
    let drawn = null;
    let over = false;
    /** @type {ResizeObserver | null} */
    let sizes = null;
    library()
      .then(embed =>
        over
          ? null
          : embed(element, dressed(spec, element.clientWidth), {
              mode: 'vega-lite',
              actions: false,
              ast: true,
              defaultStyle: false,
              renderer: 'svg',
              hover: true,
              logLevel: 1,
              tooltip: { disableDefaultStyle: true, id: 'chart-tip' },
              // Charts carry their data; nothing is fetched for them.
              loader: {
                load: async () => {
                  throw new Error('charts load nothing');
                },
                sanitize: async () => {
                  throw new Error('charts link nowhere');
                },
              },
              ...locale(),
            }),
      )
      .then(result => {
        if (!result) return;
        if (over) {
          result.finalize();
          return;
        }
        drawn = result;
        // The library follows the window only; the place of a chart also changes when the sidebar
        // folds.
        const fit = () => {
          if (element.clientWidth > 0 && Math.abs(element.clientWidth - result.view.signal('width')) > 1)
            result.view.signal('width', element.clientWidth).runAsync();
        };
        if (isSingle(spec)) {
          sizes = new ResizeObserver(fit);
          sizes.observe(element);
        }
        setState('ready');
        onView?.(result.view);
      })
      .catch(error => {
        if (!over) {
          console.warn(error);
          setState('failed');
        }
      });
    return () => {
      over = true;
      sizes?.disconnect();
      drawn?.finalize();
    };
  }, [seen, spec, dress]);
  return html`<div class="chart" role="img" aria-label=${`Chart: ${title}`}>
    ${state === 'loading' && html`<${Skeleton} lines=${1} kind="block" label="Drawing the chart" />`}
    ${state === 'failed' && html`<p class="muted">The chart could not be drawn. See the table for its values.</p>`}
    <div class="chart-canvas" aria-hidden="true" ref=${box}></div>
  </div>`;
}
