// One answer in full: words, findings, charts, tables, what is missing, what to decide, what to ask
// next, and how it came about.
import { html, useMemo, useRef, useState, classes } from '../html.js';
import * as format from '../format.js';
import { post, url } from '../api.js';
import { say, sayProblem } from './toast.js';
import { Icon } from './icons.js';
import { Prose, pattern, proven } from './prose.js';
import { Skeleton, useModule } from './states.js';
import { Table } from './table.js';
import { EvidenceDialog } from './evidence.js';
import { Copy, fileTitle, save } from './bits.js';
import { KIND_NAMES, asKind, kindsOf } from './chart-kinds.js';
import { Menu } from './menu.js';
import { ShareDialog } from './share.js';
import { SqlCard } from './sql.js';
import { Pin } from './pin.js';

/** @type {Record<string, [string, string]>} */
const OUTCOMES = {
  partial: ['warn', 'Partial answer'],
  failed: ['bad', 'Failed'],
  declined: ['off', 'Not done'],
  not_found: ['off', 'Nothing found'],
  out_of_scope: ['off', 'No tool or data source can do this'],
};
/** @type {Record<string, string>} */
const CONFIDENCE = { high: 'High confidence', medium: 'Medium confidence', low: 'Low confidence' };

/**
 * The answer's words without those that are shown in places of their own.
 * @param {Reply} reply
 * @param {Analysis[]} analyses
 */
function spoken(reply, analyses) {
  const apart = new Set(
    analyses.flatMap(one => [...(one.summary?.key_findings ?? []), ...(one.summary?.warnings ?? [])]),
  );
  const assumed = analyses.flatMap(one => one.assumptions ?? []);
  const lines = reply.answer.split('\n').filter(line => {
    const bare = line.replace(/^\s*[•*-]\s+/, '').trim();
    if (apart.has(bare)) return false;
    return !(/^assum/i.test(bare) && assumed.some(text => bare.includes(text)));
  });
  // Nothing may be lost: an answer that was all findings keeps its words.
  return lines.join('\n').trim() || (apart.size ? '' : reply.answer);
}

/**
 * A picture with its title above it, on the page's ground.
 * @param {HTMLCanvasElement} drawn @param {string} title @param {string} [subtitle]
 */
function titled(drawn, title, subtitle) {
  const canvas = document.createElement('canvas');
  const [gap, above] = [32, subtitle ? 110 : 84];
  canvas.width = drawn.width + gap * 2;
  canvas.height = drawn.height + above + gap;
  const context = canvas.getContext('2d');
  if (!context) return drawn;
  const style = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  context.fillStyle = colour('--surface');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = colour('--ink');
  context.font = '600 32px system-ui, sans-serif';
  context.fillText(title, gap, 52, canvas.width - gap * 2);
  if (subtitle) {
    context.fillStyle = colour('--muted');
    context.font = '24px system-ui, sans-serif';
    context.fillText(subtitle, gap, 86, canvas.width - gap * 2);
  }
  context.drawImage(drawn, gap, above);
  return canvas;
}

/**
 * A chart with its table behind a switch.
 * @param {{ chart: AnalysisChart, table: AnalysisTable | undefined, wide: boolean }} props
 */
function Figure({ chart, table, wide }) {
  const [side, setSide] = useState(/** @type {'chart' | 'table'} */ ('chart'));
  const [view, setView] = useState(/** @type {any} */ (null));
  const kinds = useMemo(() => kindsOf(chart.vega_lite), [chart]);
  const [kind, setKind] = useState(kinds[0]);
  const spec = useMemo(() => (kind ? asKind(chart.vega_lite, kind) : chart.vega_lite), [chart, kind]);
  const drawing = useModule(() => import('./chart.js'));
  const title = sentence(String(chart.title || chart.vega_lite?.title?.text || 'Chart'));
  const subtitle = chart.vega_lite?.title?.subtitle;
  const picture = async () => {
    const canvas = titled(await view.toCanvas(2), title, subtitle);
    canvas.toBlob(blob => blob && save(`${fileTitle(title)}.png`, blob));
  };
  return html`<figure class=${classes('card figure', wide && 'wide')}>
    <figcaption>
      <span
        ><span class="figure-title">${title}</span>
        ${subtitle && html`<span class="muted small figure-subtitle">${subtitle}</span>`}</span
      >
      <span class="figure-tools"
        >${
          side === 'chart' &&
          kinds.length > 1 &&
          html`<label class="chart-kind"
            ><span class="hidden">Kind of chart</span>
            <select value=${kind} onChange=${(/** @type {any} */ event) => setKind(event.target.value)}>
              ${kinds.map(one => html`<option value=${one}>${KIND_NAMES[one]}</option>`)}
            </select></label
          >`
        }
        ${
          table &&
          html`<span class="switch" role="group" aria-label="Show as">
            <button type="button" aria-pressed=${side === 'chart'} onClick=${() => setSide('chart')}>
              <${Icon} name="chart" size=${15} /> <span class="hidden">Chart</span>
            </button>
            <button type="button" aria-pressed=${side === 'table'} onClick=${() => setSide('table')}>
              <${Icon} name="table" size=${15} /> <span class="hidden">Table</span>
            </button></span
          >`
        }
        ${
          view &&
          side === 'chart' &&
          html`<button
            class="icon-button"
            type="button"
            aria-label=${`Save ${title} as an image`}
            title="Save as an image"
            onClick=${picture}
          >
            <${Icon} name="download" size=${16} />
          </button>`
        }</span
      >
    </figcaption>
    ${
      side === 'table' && table
        ? html`<${Table}
            title=${title}
            columns=${table.columns}
            rows=${table.rows}
            truncated=${table.truncated}
          />`
        : drawing.module
          ? html`<${drawing.module.Chart}
              title=${[title, subtitle].filter(Boolean).join(', ')}
              spec=${spec}
              onView=${setView}
            />`
          : drawing.failed
            ? html`<p class="muted">The chart could not be loaded. Reload the page to try again.</p>`
            : html`<${Skeleton} lines=${1} kind="block" label="Drawing the chart" />`
    }
  </figure>`;
}

/**
 * @param {{ analysis: Analysis, numbers: RegExp | null, onNumber: (text: string) => void }} props
 */
function AnalysisParts({ analysis, numbers, onNumber }) {
  const charts = analysis.charts ?? [],
    tables = analysis.tables ?? [];
  const drawn = new Set(charts.map(chart => chart.input));
  const rest = tables.filter(table => !drawn.has(table.name));
  const findings = analysis.summary?.key_findings ?? [],
    warnings = analysis.summary?.warnings ?? [],
    assumptions = analysis.assumptions ?? [];
  // Two to a row; what would stand alone takes the whole row, the last of an odd number or the
  // first and last of an even one.
  const wide = (/** @type {number} */ at) =>
    at === charts.length - 1 || (charts.length % 2 === 0 && at === 0);
  const shown = rest.map(
    table =>
      html`<div key=${table.name} class="card">
        <${Table}
          title=${sentence(table.title || table.name)}
          columns=${table.columns}
          rows=${table.rows}
          truncated=${table.truncated}
        />
      </div>`,
  );
  return html` ${
    findings.length > 0 &&
    html`<section class="findings">
      <h2>Key findings</h2>
      <${Prose}
        text=${findings.map(line => `• ${line}`).join('\n')}
        numbers=${numbers}
        onNumber=${onNumber}
      />
    </section>`
  }
  ${
    warnings.length + assumptions.length > 0 &&
    html`<div class="notes">
      ${warnings.map(
        line => html`<p class="note warn"><${Icon} name="warn" size=${16} /><span>${line}</span></p>`,
      )}
      ${assumptions.map(
        line => html`<p class="note"><span class="note-label">Assumed</span><span>${line}</span></p>`,
      )}
    </div>`
  }
  ${
    charts.length > 0 &&
    html`<div class="figures">
      ${charts.map(
        (chart, at) =>
          html`<${Figure}
            key=${at}
            chart=${chart}
            table=${tables.find(table => table.name === chart.input)}
            wide=${wide(at)}
          />`,
      )}
    </div>`
  }
  ${
    shown.length > 0 &&
    (charts.length
      ? html`<details class="fold">
          <summary>${format.count(rest.length, 'more table')}</summary>
          <div class="fold-body stack">${shown}</div>
        </details>`
      : html`<div class="stack">${shown}</div>`)
  }`;
}

/**
 * @param {{ reply: Reply, numbers: RegExp | null, onNumber: (text: string) => void,
 *   onRun?: (sql: string) => Promise<Reply>, shared?: boolean }} props
 */
function How({ reply, numbers, onNumber, onRun, shared }) {
  const analyses = reply.analyses ?? [];
  const reasons = [...(reply.reasons ?? []), ...analyses.flatMap(one => one.reasoning ?? [])];
  const sql = analyses.flatMap(one => one.sql ?? []);
  const artifacts = analyses.flatMap(one =>
    (one.artifacts ?? []).map(artifact => ({ artifact, task: one.request_id })),
  );
  const proofs = proven(analyses.flatMap(one => one.evidence ?? []));
  /** What a changed statement gave. @param {Reply} found */
  const result = found =>
    html`<${Prose} text=${spoken(found, found.analyses ?? [])} /> ${(found.analyses ?? []).map(
        (analysis, at) =>
          html`<${AnalysisParts} key=${at} analysis=${analysis} numbers=${null} onNumber=${onNumber} />`,
      )}`;
  return html`<details class="fold how">
    <summary>How this was answered</summary>
    <div class="fold-body">
      ${
        reasons.length > 0 &&
        html`<h2>Interpretation</h2>
          <ul class="reasons">
            ${reasons.map(line => html`<li>${line}</li>`)}
          </ul>`
      }
      ${
        reply.steps?.length > 0 &&
        html`<h2>Steps</h2>
          <${Steps}
            steps=${reply.steps.map(step => ({
              what: step.what,
              tool: step.tool,
              state: step.well ? 'well' : 'badly',
              milliseconds: step.milliseconds,
            }))}
          />`
      }
      ${
        sql.length > 0 &&
        html`<h2>Queries</h2>
          <div class="stack">
            ${sql.map(
              one => html`<${SqlCard} title=${one.title} sql=${one.sql}
              onRun=${onRun}>${result}</${SqlCard}>`,
            )}
          </div>`
      }
      ${
        proofs.length > 0 &&
        html`<h2>Numbers and their evidence</h2>
          <p class="evidence-list">
            ${proofs.map(
              text =>
                html`<button class="chip" type="button" onClick=${() => onNumber(text)}>${text}</button> `,
            )}
          </p>`
      }
      ${
        artifacts.length > 0 &&
        !shared &&
        html`<h2>Files</h2>
          <ul class="files">
            ${artifacts.map(
              ({ artifact, task }) =>
                html`<li>
                  <a href=${url(`/artifacts/${task}/${artifact.artifact_id}`)} download=${fileName(artifact)}
                    ><${Icon} name="file" size=${15} /> ${fileName(artifact)}</a
                  >
                  <span class="muted small">${format.bytes(artifact.size_bytes)}</span>
                </li>`,
            )}
          </ul>`
      }
      ${
        reply.task_id &&
        !shared &&
        html`<p class="small how-links">
          <a href=${`#/tasks/${reply.task_id}`}>All steps of this task</a>
          <a href=${`#/audit/${reply.task_id}`}>Journal entries</a>
        </p>`
      }
    </div>
  </details>`;
}

/** @param {Artifact} artifact */
export const fileName = artifact => artifact.content_ref?.split(/[\\/]/).pop() || artifact.artifact_type;

/** @type {Record<string, string>} */
const STEP_WORDS = { well: 'Done: ', badly: 'Failed: ', running: 'Running: ', waiting: 'Pending: ' };

/**
 * @param {{ steps: { what: string, tool?: string, state: string, milliseconds?: number }[] }} props
 */
export const Steps = ({ steps }) =>
  html`<ol class="steps" aria-label="Steps">
    ${steps.map(
      (step, at) =>
        html`<li key=${at} class="step ${step.state}">
          <span class="step-mark"
            >${
              step.state === 'well'
                ? html`<${Icon} name="tick" size=${14} />`
                : step.state === 'badly'
                  ? html`<${Icon} name="cross" size=${14} />`
                  : html`<span class=${step.state === 'running' ? 'spinner' : 'ring'}></span>`
            }</span
          >
          <span class="hidden">${STEP_WORDS[step.state] ?? ''}</span>
          <span class="step-what">${sentence(step.what)}</span>
          ${step.tool && html`<code class="step-tool"> ${step.tool}</code>`}${
            step.milliseconds !== undefined && (step.state === 'well' || step.state === 'badly')
              ? html`<span class="step-time"> ${format.duration(step.milliseconds)}</span>`
              : null
          }
        </li>`,
    )}
  </ol>`;

/** @param {string} text */
const sentence = text => text.charAt(0).toUpperCase() + text.slice(1);

/** Thumbs for an answer about data. @param {{ task: string }} props */
function Opinion({ task }) {
  const [rating, setRating] = useState(/** @type {string | null} */ (null));
  const rate = async (/** @type {'up' | 'down'} */ wanted) => {
    try {
      await post('/feedback', { task_id: task, rating: wanted });
      setRating(wanted);
      say('Thank you. Your feedback is kept');
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<span class="switch" role="group" aria-label="Was this right?">
    <button type="button" aria-pressed=${rating === 'up'} title="This is right" onClick=${() => rate('up')}>
      <${Icon} name="tick" size=${14} /><span class="hidden">This is right</span>
    </button>
    <button
      type="button"
      aria-pressed=${rating === 'down'}
      title="This is wrong"
      onClick=${() => rate('down')}
    >
      <${Icon} name="cross" size=${14} /><span class="hidden">This is wrong</span>
    </button></span
  >`;
}

/**
 * @typedef {(text: string, files?: Upload[], choice?: import('../thread.js').OptionChoice,
 *   without?: ('data' | 'question')[]) => void} Say
 */
/**
 * @param {{ reply: Reply, question?: string, onSay: Say, last: boolean,
 *   onRun?: (sql: string) => Promise<Reply>, shared?: boolean }} props
 */
export function ReplyCard({ reply, question = '', onSay, last, onRun, shared }) {
  const [sharing, setSharing] = useState(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [number, setNumber] = useState(/** @type {string | null} */ (null));
  const analyses = reply.analyses ?? [];
  const numbers = useMemo(() => pattern(analyses.flatMap(one => one.evidence ?? [])), [reply]);
  const words = useMemo(() => spoken(reply, analyses), [reply]);
  const outcome = OUTCOMES[reply.outcome];
  const title = question || analyses[0]?.tables[0]?.title || 'Answer';
  const page = async () => {
    try {
      const { webPage } = await import('./export.js');
      if (box.current) save(`${fileTitle(title)}.html`, webPage(title, [box.current]), 'text/html');
    } catch (error) {
      sayProblem(error);
    }
  };
  const sheets = async () => {
    try {
      const { saveWorkbook } = await import('./export.js');
      saveWorkbook(title, reply);
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<div class="reply" ref=${box}>
    ${
      outcome &&
      html`<p class="outcome ${outcome[0]}">
        <${Icon}
          name=${outcome[0] === 'bad' || outcome[0] === 'warn' ? 'warn' : 'search'}
          size=${15}
        />${outcome[1]}
      </p>`
    }
    ${(reply.decisions ?? []).map(
      (line, at) =>
        html`<p class="note" key=${at}><${Icon} name="approvals" size=${16} /><span>${line}</span></p>`,
    )}
    <${Prose} text=${words} numbers=${numbers} onNumber=${setNumber} />
    ${analyses.map(
      (analysis, at) =>
        html`<${AnalysisParts} key=${at} analysis=${analysis} numbers=${numbers} onNumber=${setNumber} />`,
    )}
    ${(reply.tables ?? []).map(
      (table, at) =>
        html`<div class="card" key=${at}>
          <${Table}
            title=${table.noun ? `${format.words(table.noun)} – ${table.source}` : table.source}
            columns=${table.columns}
            rows=${table.rows}
            truncated=${table.cut}
          />
        </div>`,
    )}
    ${(reply.missing ?? []).map(
      (one, at) =>
        html`<div class="missing" key=${at}>
          <${Icon} name="warn" size=${17} />
          <div>
            <p><strong> ${sentence(one.part)}</strong> is missing: ${one.reason}</p>
            ${one.next && html`<p>${one.next}</p>`}${
              one.code && html`<code class="small"> ${one.code}</code>`
            }
          </div>
        </div>`,
    )}
    ${(reply.conflicts ?? []).map(
      (line, at) =>
        html`<p class="note warn" key=${at}><${Icon} name="warn" size=${16} /><span>${line}</span></p>`,
    )}
    ${
      (reply.waiting ?? []).length > 0 &&
      html`<p class="note warn">
        <${Icon} name="approvals" size=${16} /><span>
          ${format.count(reply.waiting?.length ?? 0, 'call waits', 'calls wait')} for approval.
          <a href="#/approvals">Decide in Approvals</a></span
        >
      </p>`
    }
    ${
      reply.question &&
      html`<div class="question">
        ${!reply.answer.includes(reply.question.text) && html`<p>${reply.question.text}</p>`}
        <div class="options">
          ${reply.question.options.map(
            (option, at) =>
              html`<button
                key=${at}
                type="button"
                disabled=${!last}
                class=${classes('button', reply.outcome === 'confirm' && at === 0 && 'primary')}
                onClick=${() => onSay(option.say, [], { task_id: reply.task_id, option: at })}
              >
                ${option.label}
              </button>`,
          )}
        </div>
      </div>`
    }
    <div class="reply-foot">
      ${(reply.sources ?? []).map(
        (source, at) =>
          html`<span class="chip source" key=${at}
            ><${Icon} name="table" size=${13} /> <span class="hidden">Source: </span>${source}</span
          >`,
      )}
      ${analyses
        .filter(one => one.verified)
        .map(
          one =>
            html`<span class="chip source" key=${one.verified?.id} title=${one.verified?.question}
              ><${Icon} name="tick" size=${13} /> Verified by ${one.verified?.by} on
              ${String(one.verified?.at).slice(0, 10)}</span
            >`,
        )}
      ${
        ['answered', 'partial'].includes(reply.outcome) && reply.confidence
          ? html`<span class="confidence ${reply.confidence}">
              <span class="bars" aria-hidden="true"><i></i><i></i><i></i></span
              >${CONFIDENCE[reply.confidence] ?? reply.confidence}</span
            >`
          : null
      }
      ${
        reply.total_execution_time_ms
          ? html`<span class="muted small">${format.duration(reply.total_execution_time_ms)}</span>`
          : null
      }
      ${
        reply.model
          ? html`<span
              class="muted small"
              title=${
                reply.model.strategy === 'plan_first'
                  ? 'All steps were planned from your words before any result was seen'
                  : ['The model read each result before it chose the next step', reply.model.why_not_planned]
                      .filter(Boolean)
                      .join(': ')
              }
            >
              ${reply.model.name} · ${reply.model.strategy === 'plan_first' ? 'plan first' : 'step by step'} ·
              ${reply.model.tokens.toLocaleString()}
              tokens${reply.model.cost_micros ? ` · ${(reply.model.cost_micros / 1e6).toFixed(4)}` : ''}</span
            >`
          : null
      }
      ${!shared && analyses.length > 0 && reply.task_id && html`<${Opinion} task=${reply.task_id} />`}
      ${!shared && analyses.some(one => one.sql?.length) && reply.task_id && html`<${Pin} task=${reply.task_id} />`}
      <${Copy} text=${reply.answer} label="Copy answer" />
      ${
        ['answered', 'partial'].includes(reply.outcome) &&
        html`<${Menu}
          label="Share and export"
          className="answer-menu"
          items=${[
            !shared &&
              !!reply.task_id && { icon: 'share', label: 'Share a link', run: () => setSharing(true) },
            { icon: 'download', label: 'Save as a web page', run: page },
            analyses.length + (reply.tables ?? []).length > 0 && {
              icon: 'table',
              label: 'Save tables for Excel',
              run: sheets,
            },
          ]}
        />`
      }
    </div>
    <${How} reply=${reply} numbers=${numbers} onNumber=${setNumber} onRun=${onRun} shared=${shared} />
    ${sharing && html`<${ShareDialog} task=${reply.task_id} onClose=${() => setSharing(false)} />`}
    ${
      last &&
      (reply.suggestions ?? []).length > 0 &&
      html`<div class="suggestions" role="group" aria-label="Suggested questions">
        ${reply.suggestions.map(
          (text, at) =>
            html`<button key=${at} class="chip suggestion" type="button" onClick=${() => onSay(text)}>
              ${text}
            </button>`,
        )}
      </div>`
    }
    ${number && html`<${EvidenceDialog} text=${number} analyses=${analyses} onClose=${() => setNumber(null)} />`}
  </div>`;
}
