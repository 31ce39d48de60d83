// A button that opens a list of actions. Escape and a click elsewhere close it; the focus goes
// back.
import { html, useEffect, useRef } from '../html.js';
import { listKeys } from './bits.js';
import { Icon } from './icons.js';

/**
 * @typedef {{ icon: string, label: any, run?: () => unknown, href?: string, bad?: boolean }}
 *   MenuItem
 */
/**
 * @param {{ label: string, items: (MenuItem | false | null)[], children?: any, head?: any,
 *   className?: string }} props `children` stands in the button instead of three dots
 */
export function Menu({ label, items, children, head, className = '' }) {
  const box = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const close = () => box.current?.removeAttribute('open');
  useEffect(() => {
    const elsewhere = (/** @type {Event} */ event) => {
      if (!box.current?.contains(/** @type {Node} */ (event.target))) close();
    };
    addEventListener('pointerdown', elsewhere);
    return () => removeEventListener('pointerdown', elsewhere);
  }, []);
  return html`<details
    class="menu ${className}"
    ref=${box}
    onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Escape' && box.current?.open) {
        event.stopPropagation();
        close();
        box.current.querySelector('summary')?.focus();
      }
    }}
    onFocusOut=${(/** @type {FocusEvent} */ event) => {
      const to = /** @type {Node | null} */ (event.relatedTarget);
      if (to && !box.current?.contains(to)) close();
    }}
  >
    <summary
      class=${children ? 'menu-button' : 'icon-button'}
      aria-label=${children ? null : label}
      role="button"
    >
      ${children ? html`<span class="hidden">${label}</span>${children}` : html`<${Icon} name="more" />`}
    </summary>
    <div class="menu-items" onKeyDown=${listKeys}>
      ${head}
      ${items.map(
        item =>
          item &&
          (item.href
            ? html`<a data-item href=${item.href} onClick=${close}>
                <${Icon} name=${item.icon} size=${16} />${item.label}
              </a>`
            : html`<button
                data-item
                type="button"
                class=${item.bad ? 'bad-text' : ''}
                onClick=${() => {
                  close();
                  box.current?.querySelector('summary')?.focus();
                  item.run?.();
                }}
              >
                <${Icon} name=${item.icon} size=${16} />${item.label}
              </button>`),
      )}
    </div>
  </details>`;
}
