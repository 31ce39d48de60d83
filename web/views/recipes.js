// Recipes: questions whose plan worked before and is used again.
import { html } from '../html.js';
import { part, remove } from '../api.js';
import { Icon } from '../parts/icons.js';
import { Empty, More, Read, usePages } from '../parts/states.js';
import { Head, Time } from '../parts/bits.js';
import { confirm } from '../parts/dialog.js';
import { say, sayProblem } from '../parts/toast.js';
import * as format from '../format.js';

export default function Recipes() {
  const pages = usePages('/recipes?limit=50');
  const drop = async (/** @type {any} */ one) => {
    if (
      (await confirm({
        title: 'Delete this recipe?',
        text: 'The next similar question gets a new plan.',
        action: 'Delete',
        danger: true,
      })) === null
    )
      return;
    try {
      await remove(`/recipes/${part(one.id)}`);
      say('Deleted');
      pages.reload();
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<${Head} title="Recipes" text="Plans of earlier questions, reused for similar questions." />
    <${Read} read=${pages} lines=${5} kind="rows">${() =>
      pages.items.length
        ? html`<ul class="rows">
              ${pages.items.map(
                one =>
                  html`<li key=${one.id} class="row still">
                    <span class="row-main"
                      ><span class="row-title"> ${one.question}</span
                      ><span class="small muted"> last used <${Time} at=${one.last_used_at} relative /></span
                    ></span>
                    <span class="row-side"
                      ><span class="small">${format.count(one.uses ?? 0, 'use')}</span></span
                    >
                    <button
                      class="icon-button"
                      type="button"
                      aria-label=${`Delete the recipe ${one.question}`}
                      onClick=${() => drop(one)}
                    >
                      <${Icon} name="trash" size=${16} />
                    </button>
                  </li>`,
              )}
            </ul>
            <${More} pages=${pages} />`
        : html`<${Empty} icon="recipes" title="No recipes yet">
        <p>The plan of a successfully answered question about data appears here.</p></${Empty}>`}</${Read}>`;
}
