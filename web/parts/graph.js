// Draws a workflow: nodes in columns by how far they are from the start, edges as curves, colours by state. Edges that lead back run below.
import { html, useEffect, useMemo, useRef } from '../html.js';

const WIDE = 136, HIGH = 48, GAP_X = 54, GAP_Y = 26, EDGE = 18;

/** @param {Graph} graph */
export function layout({ nodes, edges }) {
  const names = nodes.map((node) => node.name);
  /** @type {Map<string, GraphEdge[]>} */
  const out = new Map(names.map((name) => [name, edges.filter((edge) => edge.from === name && names.includes(edge.to))]));
  // An edge that reaches a node still being walked leads back; the others decide the columns.
  /** @type {Set<GraphEdge>} */
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
  const entered = new Set(edges.map((edge) => edge.to));
  for (const name of [...names.filter((name) => !entered.has(name)), ...names]) if (!walked.has(name)) walk(name);
  /** @type {Map<string, number>} */
  const column = new Map(names.map((name) => [name, 0]));
  for (let round = 0; round < names.length; round += 1) {
    let moved = false;
    for (const edge of edges) {
      if (backward.has(edge) || !column.has(edge.to) || !column.has(edge.from)) continue;
      const least = (column.get(edge.from) ?? 0) + 1;
      if ((column.get(edge.to) ?? 0) < least) { column.set(edge.to, least); moved = true; }
    }
    if (!moved) break;
  }
  /** @type {string[][]} */
  const columns = [];
  for (const name of names) (columns[column.get(name) ?? 0] ??= []).push(name);
  const filled = columns.filter(Boolean);
  /** @type {Map<string, number>} */
  const row = new Map();
  filled.forEach((members, at) => {
    const weight = (/** @type {string} */ name) => {
      const before = edges.filter((edge) => edge.to === name && !backward.has(edge)).map((edge) => row.get(edge.from) ?? 0);
      return before.length ? before.reduce((a, b) => a + b, 0) / before.length : 0;
    };
    if (at) members.sort((a, b) => weight(a) - weight(b));
    members.forEach((name, n) => row.set(name, n - (members.length - 1) / 2));
  });
  const most = Math.max(1, ...filled.map((members) => members.length));
  const height = most * HIGH + (most - 1) * GAP_Y;
  const places = new Map();
  filled.forEach((members, x) => members.forEach((name) => places.set(name, { x: EDGE + x * (WIDE + GAP_X), y: EDGE + height / 2 + (row.get(name) ?? 0) * (HIGH + GAP_Y) - HIGH / 2 })));
  // Told by their place in the list: the graph is read again while it runs, and its edges are then other objects.
  const back = new Set(edges.flatMap((edge, at) => backward.has(edge) ? [at] : []));
  const under = back.size ? 30 + back.size * 16 : 0;
  return { places, back, width: EDGE * 2 + filled.length * WIDE + (filled.length - 1) * GAP_X, height: height + EDGE * 2 + under };
}

/** @type {Record<string, string>} */
const WORDS = { done: 'done', running: 'running', waiting: 'waiting for a person', failed: 'failed', idle: 'not yet' };
/** @param {string} text @param {number} most */
const short = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text;

/** @param {{ graph: Graph, label?: string }} props */
export function GraphView({ graph, label }) {
  const { places, back, width, height } = useMemo(() => layout(graph), [graph.nodes.map((node) => node.name).join('\n'), graph.edges.length]);
  const status = new Map(graph.nodes.map((node) => [node.name, node.status ?? 'idle']));
  // The node that runs is brought into view where the drawing is wider than the page.
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const active = graph.nodes.find((node) => node.status === 'running' || node.status === 'waiting' || node.status === 'failed')?.name ?? '';
  useEffect(() => {
    const at = places.get(active), view = box.current;
    if (!at || !view || view.scrollWidth <= view.clientWidth) return;
    view.scrollTo({ left: ((at.x + WIDE / 2) / width) * view.scrollWidth - view.clientWidth / 2, behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
  }, [active]);
  let under = 0;
  const lines = graph.edges.flatMap((edge, at) => {
    if (!places.has(edge.from) || !places.has(edge.to)) return [];
    const a = places.get(edge.from), b = places.get(edge.to);
    const lit = status.get(edge.from) === 'done' && ['done', 'running', 'waiting', 'failed'].includes(status.get(edge.to) ?? '');
    if (back.has(at)) {
      under += 1;
      const low = height - EDGE - 8 - (under - 1) * 16;
      const x1 = a.x + WIDE / 2, x2 = b.x + WIDE / 2;
      return [{ edge, lit, path: `M${x1} ${a.y + HIGH} C${x1} ${low} ${x1} ${low} ${x1 - 30} ${low} L${x2 + 30} ${low} C${x2} ${low} ${x2} ${low} ${x2} ${b.y + HIGH + 3}`, x: (x1 + x2) / 2, y: low - 4 }];
    }
    const x1 = a.x + WIDE, y1 = a.y + HIGH / 2, x2 = b.x - 3, y2 = b.y + HIGH / 2, bend = Math.max(30, (x2 - x1) / 2);
    return [{ edge, lit, path: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`, x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 6 }];
  });
  return html`<div class="graph" ref=${box} tabindex="0" role="region" aria-label=${label ?? 'Workflow'}>
    <svg style=${{ maxWidth: `${width}px`, minWidth: `${Math.round(width * 0.85)}px` }} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${graph.nodes.map((node) => `${node.name}: ${WORDS[node.status ?? 'idle'] ?? node.status}`).join(', ')}>
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z" /></marker></defs>
      ${lines.map(({ edge, path, lit, x, y }, at) => html`<g key=${at} class=${`edge ${lit ? 'lit' : ''}`}><path d=${path} marker-end="url(#arrow)" />${edge.label && html`<text x=${x} y=${y}><title>${edge.label}</title>${short(edge.label, 16)}</text>`}</g>`)}
      ${graph.nodes.map((node) => { const at = places.get(node.name); return html`<g key=${node.name} class=${`node ${node.status ?? 'idle'}`} transform=${`translate(${at.x} ${at.y})`}><title>${node.name}: ${WORDS[node.status ?? 'idle'] ?? node.status}</title>
        <rect width=${WIDE} height=${HIGH} rx="10" /><circle cx="18" cy=${HIGH / 2} r="4.5" /><text x="32" y=${HIGH / 2 - 3} class="node-name">${short(node.name, 15)}</text><text x="32" y=${HIGH / 2 + 13} class="node-kind">${short(node.kind ?? '', 18)}</text></g>`; })}</svg></div>`;
}
