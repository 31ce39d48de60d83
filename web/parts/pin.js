// Pins an answer to a board: one that there is, or a new one.
import { html, useEffect, useState } from '../html.js';
import { get, part, post } from '../api.js';
import { me } from '../store.js';
import { Icon } from './icons.js';
import { Dialog } from './dialog.js';
import { say, sayProblem } from './toast.js';

/** @param {{ task: string }} props */
export function Pin({ task }) {
  const [open, setOpen] = useState(false);
  return html`<button class="quiet-button" type="button" onClick=${() => setOpen(true)}>
      <${Icon} name="board" size=${15} />Pin
    </button>
    ${open && html`<${PinDialog} task=${task} onClose=${() => setOpen(false)} />`}`;
}

/** @param {{ task: string, onClose: () => void }} props */
function PinDialog({ task, onClose }) {
  const [boards, setBoards] = useState(/** @type {Board[] | null} */ (null));
  const [chosen, setChosen] = useState('');
  const [name, setName] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    get('/boards?limit=100').then(({ items }) => {
      const own = items.filter((/** @type {Board} */ board) => board.user_id === me.value?.user);
      setBoards(own);
      setChosen(own[0]?.id ?? '');
    }, sayProblem);
  }, []);
  const pin = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const id = chosen || (await post('/boards', { name: name.trim() })).id;
      await post(`/boards/${part(id)}/tiles`, { task_id: task });
      say('Pinned');
      location.hash = `#/boards/${id}`;
      onClose();
    } catch (error) {
      sayProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Pin to a board" onClose=${onClose}><form onSubmit=${pin}>
    <p>The board keeps the question and its query, and reads the rows anew for whoever looks.</p>
    ${
      boards &&
      boards.length > 0 &&
      html`<label class="field"
        ><span>Board</span
        ><select value=${chosen} onChange=${(/** @type {any} */ event) => setChosen(event.target.value)}>
          ${boards.map(board => html`<option value=${board.id}>${board.name}</option>`)}
          <option value="">A new board</option>
        </select></label
      >`
    }
    ${
      !chosen &&
      html`<label class="field"
        ><span>Name of the new board</span
        ><input required value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)}
      /></label>`
    }
    <div class="actions end"><button class="button primary" type="submit"
      disabled=${busy || !boards}>Pin</button></div></form></${Dialog}>`;
}
