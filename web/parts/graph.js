// Draws a workflow: nodes in columns by how far they are from the start, edges as curves, colours
// by state. Edges that lead back run below.
// An edge from or to nothing is the beginning or the end, drawn as a dot.
import { html, useEffect, useMemo, useRef } from '../html.js';

const WIDE = 144,
  HIGH = 48,
  GAP_X = 54,
  GAP_Y = 26,
  EDGE = 18,
  DOT = 22,
  WITH_LABELS = 104;
const START = '\u0000start',
  END = '\u0000end';

/** @param {string} name */
const wide = name => (name === START || name === END ? DOT : WIDE);

/**
 * Names the beginning and the end.
 * @param {Graph} graph
 * @returns {{ nodes: GraphNode[], edges: { from: string, to: string, label?: string | null }[] }}
 */
function whole({ nodes, edges }) {
  const begun = nodes.some(node => node.status && node.status !== 'idle');
  const ended =
    nodes.length > 0 &&
    edges.some(edge => edge.to === null && nodes.find(node => node.name === edge.from)?.status === 'done');
  return {
    nodes: [
      ...(edges.some(edge => edge.from === null)
        ? [{ name: START, kind: 'start', status: begun ? 'done' : 'idle' }]
        : []),
      ...nodes,
      ...(edges.some(edge => edge.to === null)
        ? [{ name: END, kind: 'end', status: ended ? 'done' : 'idle' }]
        : []),
    ],
    edges: edges.map(edge => ({ ...edge, from: edge.from ?? START, to: edge.to ?? END })),
  };
}

/** @param {ReturnType<typeof whole>} graph */
export function layout({ nodes, edges }) {
  const names = nodes.map(node => node.name);
  /** @type {Map<string, typeof edges>} */
  const out = new Map(
    names.map(name => [name, edges.filter(edge => edge.from === name && names.includes(edge.to))]),
  );
  // An edge that reaches a node still being walked leads back; the others decide the columns.
  /** @type {Set<typeof edges[number]>} */
  const backward = new Set();
  /** @type {Map<string, 'open' | 'closed'>} */
  const walked = new Map();
  const walk = (/** @type {string} */ name) => {
    walked.set(name, 'open');
    for (const edge of out.get(name) ?? []) {
      if (walked.get(edge.to) === 'open') backward.add(edge);
      else if (!walked.has(edge.to)) walk(edge.to);
    }
    walked.set(name, 'closed');
  };
  const entered = new Set(edges.map(edge => edge.to));
  for (const name of [...names.filter(name => !entered.has(name)), ...names])
    if (!walked.has(name)) walk(name);
  /** @type {Map<string, number>} */
  const column = new Map(names.map(name => [name, 0]));
  for (let round = 0; round < names.length; round += 1) {
    let moved = false;
    for (const edge of edges) {
      if (backward.has(edge) || !column.has(edge.to) || !column.has(edge.from)) continue;
      const least = (column.get(edge.from) ?? 0) + 1;
      if ((column.get(edge.to) ?? 0) < least) {
        column.set(edge.to, least);
        moved = true;
      }
    }
    if (!moved) break;
  }
  /** @type {string[][]} */
  const columns = [];
  for (const name of names) (columns[column.get(name) ?? 0] ??= []).push(name);
  // An edge over several columns gets a place of its own in each, so that it does not run through
  // nodes.
  /** @type {Map<number, string[]>} */
  const via = new Map();
  /** @type {Map<string, string[]>} */
  const before = new Map();
  const follows = (/** @type {string} */ name, /** @type {string} */ other) =>
    before.set(name, [...(before.get(name) ?? []), other]);
  edges.forEach((edge, at) => {
    if (backward.has(edge) || !column.has(edge.from) || !column.has(edge.to)) return;
    let last = edge.from;
    for (let c = (column.get(edge.from) ?? 0) + 1; c < (column.get(edge.to) ?? 0); c += 1) {
      const name = `\u0000${at}/${c}`;
      columns[c].push(name);
      via.set(at, [...(via.get(at) ?? []), name]);
      follows(name, last);
      last = name;
    }
    follows(edge.to, last);
  });
  const high = (/** @type {string} */ name) => (column.has(name) ? HIGH : 8);
  const tall = (/** @type {string[]} */ members) =>
    members.reduce((sum, name) => sum + high(name), 0) + (members.length - 1) * GAP_Y;
  const height = Math.max(...columns.map(tall), HIGH);
  /** @type {Map<string, { x: number, y: number, w: number }>} */
  const places = new Map();
  let x = EDGE;
  for (const members of columns) {
    const weight = (/** @type {string} */ name) => {
      const ys = (before.get(name) ?? []).flatMap(other => {
        const place = places.get(other);
        return place ? [place.y + high(other) / 2] : [];
      });
      return ys.length ? ys.reduce((a, b) => a + b, 0) / ys.length : 0;
    };
    if (x > EDGE) members.sort((a, b) => weight(a) - weight(b));
    const most = Math.max(...members.map(name => (column.has(name) ? wide(name) : DOT)));
    let y = EDGE + (height - tall(members)) / 2;
    for (const name of members) {
      const w = column.has(name) ? wide(name) : most;
      places.set(name, { x: x + (most - w) / 2, y, w });
      y += high(name) + GAP_Y;
    }
    x += most + (edges.some(edge => edge.label && members.includes(edge.from)) ? WITH_LABELS : GAP_X);
  }
  // Told by their place in the list: the graph is read again while it runs, and its edges are then
  // other objects.
  const back = new Set(edges.flatMap((edge, at) => (backward.has(edge) ? [at] : [])));
  const under = back.size ? 30 + back.size * 16 : 0;
  return {
    places,
    back,
    via,
    width: Math.max(...[...places.values()].map(place => place.x + place.w), 0) + EDGE,
    height: height + EDGE * 2 + under,
  };
}

/** @type {Record<string, string>} */
const WORDS = {
  done: 'done',
  running: 'running',
  waiting: 'waiting for a person',
  failed: 'failed',
  idle: 'not started',
};
/** @param {string} text @param {number} most */
const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + '…' : text);

/**
 * @param {{ graph: Graph, label?: string, selected?: string | null,
 *   onSelect?: (name: string) => void }} props
 */
export function GraphView({ graph: given, label, selected = null, onSelect }) {
  const graph = whole(given);
  const { places, back, via, width, height } = useMemo(
    () => layout(graph),
    [graph.nodes.map(node => node.name).join('\n'), graph.edges.length],
  );
  const status = new Map(graph.nodes.map(node => [node.name, node.status ?? 'idle']));
  // The node that runs is brought into view where the drawing is wider than the page.
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const active =
    graph.nodes.find(
      node => node.status === 'running' || node.status === 'waiting' || node.status === 'failed',
    )?.name ?? '';
  useEffect(() => {
    const at = places.get(active),
      view = box.current;
    if (!at || !view || view.scrollWidth <= view.clientWidth) return;
    view.scrollTo({
      left: ((at.x + WIDE / 2) / width) * view.scrollWidth - view.clientWidth / 2,
      behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth',
    });
  }, [active]);
  /** Whether what it leads to was begun. @param {{ from: string, to: string }} edge */
  const reached = edge =>
    status.get(edge.from) === 'done' &&
    ['done', 'running', 'waiting', 'failed'].includes(status.get(edge.to) ?? '');
  let under = 0;
  const lines = graph.edges.flatMap((edge, at) => {
    const a = places.get(edge.from),
      b = places.get(edge.to);
    if (!a || !b) return [];
    const lit =
      reached(edge) &&
      !(
        edge.to === END &&
        graph.edges.some(other => other.from === edge.from && other.to !== END && reached(other))
      );
    if (back.has(at)) {
      under += 1;
      const low = height - EDGE - 8 - (under - 1) * 16;
      const x1 = a.x + a.w / 2,
        x2 = b.x + b.w / 2;
      return [
        {
          edge,
          lit,
          path:
            `M${x1} ${a.y + HIGH} C${x1} ${low} ${x1} ${low} ${x1 - 30} ${low} ` +
            `L${x2 + 30} ${low} C${x2} ${low} ${x2} ${low} ${x2} ${b.y + HIGH + 3}`,
          x: (x1 + x2) / 2,
          y: low - 4,
          anchor: 'middle',
        },
      ];
    }
    let x1 = a.x + a.w,
      y1 = a.y + HIGH / 2,
      path = `M${x1} ${y1}`;
    const stops = [
      ...(via.get(at) ?? []).flatMap(name => {
        const place = places.get(name);
        return place ? [{ x: place.x, y: place.y + 4, on: place.x + place.w }] : [];
      }),
      { x: b.x - 3, y: b.y + HIGH / 2, on: 0 },
    ];
    // Beside the arrow's end, where edges from one node have parted.
    const label = { x: stops[0].x - 9, y: stops[0].y - 6, anchor: 'end' };
    for (const stop of stops) {
      const bend = Math.max(20, (stop.x - x1) / 2);
      path += ` C${x1 + bend} ${y1} ${stop.x - bend} ${stop.y} ${stop.x} ${stop.y}`;
      if (stop.on) path += ` L${stop.on} ${stop.y}`;
      x1 = stop.on;
      y1 = stop.y;
    }
    return [{ edge, lit, path, ...label }];
  });
  return html`<div class="graph" ref=${box} tabindex="0" role="region" aria-label=${label ?? 'Workflow'}>
    <svg
      style=${{ maxWidth: `${width}px`, minWidth: `${Math.round(width * 0.85)}px` }}
      viewBox=${`0 0 ${width} ${height}`}
      role=${onSelect ? 'group' : 'img'}
      aria-label=${given.nodes.map(node => `${node.name}: ${WORDS[node.status ?? 'idle'] ?? node.status}`).join(', ')}
    >
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path class="arrow" d="M0 0L8 4L0 8z" />
        </marker>
      </defs>
      ${lines.map(
        ({ edge, path, lit, x, y, anchor }, at) =>
          html`<g key=${at} class=${`edge ${lit ? 'lit' : ''}`}>
            <path d=${path} marker-end="url(#arrow)" />${
              edge.label &&
              html`<text x=${x} y=${y} text-anchor=${anchor}
                ><title>${edge.label}</title> ${short(edge.label, 16)}</text
              >`
            }</g
          >`,
      )}
      ${graph.nodes.map(node => {
        const at = places.get(node.name);
        if (!at) return null;
        if (at.w === DOT)
          return html`<g
            key=${node.name}
            class=${`node ${node.status}`}
            transform=${`translate(${at.x} ${at.y})`}
          >
            <circle class="terminal" cx=${DOT / 2} cy=${HIGH / 2} r="8" /><text
              x=${DOT / 2}
              y=${HIGH / 2 + 24}
              class="node-kind"
              text-anchor="middle"
            >
              ${node.kind}</text
            ></g
          >`;
        const press = onSelect && {
          role: 'button',
          tabindex: 0,
          'aria-pressed': selected === node.name,
          onClick: () => onSelect(node.name),
          onKeyDown: (/** @type {KeyboardEvent} */ event) => {
            if (event.key !== 'Enter' && event.key !== ' ') return;
            event.preventDefault();
            onSelect(node.name);
          },
        };
        return html`<g
          ...${press}
          key=${node.name}
          class=${`node ${node.status ?? 'idle'} ${selected === node.name ? 'selected' : ''}`}
          transform=${`translate(${at.x} ${at.y})`}
          ><title>${node.name}: ${WORDS[node.status ?? 'idle'] ?? node.status}</title>
          <rect width=${WIDE} height=${HIGH} rx="10" /><circle cx="18" cy=${HIGH / 2} r="4.5" /><text
            x="32"
            y=${HIGH / 2 - 3}
            class="node-name"
          >
            ${short(node.name, 14)}</text
          ><text x="32" y=${HIGH / 2 + 13} class="node-kind">${short(node.kind ?? '', 18)}</text></g
        >`;
      })}
    </svg>
  </div>`;
}
