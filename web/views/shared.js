// An answer that a colleague shared: words, tables, charts and evidence, to read.
import { html } from '../html.js';
import { part } from '../api.js';
import { Head, Time } from '../parts/bits.js';
import { ReplyCard } from '../parts/reply.js';
import { Read, useRead } from '../parts/states.js';

/** @param {{ route: import('../router.js').Route }} props */
export default function Shared({ route }) {
  const read = useRead(`/shared/${part(route.path[1] ?? '')}`);
  const found = /** @type {any} */ (read.value);
  return html`<${Head} title=${html`<bdi>${found?.question ?? 'Shared answer'}</bdi>`}
      text=${found && html`Shared by ${found.by}, asked <${Time} at=${found.at} />`} />
    <${Read} read=${read} lines=${6}>${(/** @type {any} */ value) =>
      html`<${ReplyCard}
        reply=${value.reply}
        question=${value.question}
        onSay=${() => {}}
        last=${false}
        shared
      />`}</${Read}>`;
}
