// What can be done with a conversation: its title, its link, a document of it, putting it away.
import { html } from '../html.js';
import { getText, part, patch, remove } from '../api.js';
import { go } from '../router.js';
import { dropThread, listChanged } from '../thread.js';
import { copy, save, fileTitle } from './bits.js';
import { confirm } from './dialog.js';
import { Icon } from './icons.js';
import { Menu } from './menu.js';
import { say, sayProblem } from './toast.js';

/** @param {{ thread: import('../thread.js').Thread }} props */
export function ConversationMenu({ thread }) {
  const id = thread.id ?? '';
  const title = thread.title || thread.turns[0]?.user || '';
  const change = async (/** @type {any} */ body, /** @type {string} */ done) => {
    await patch(`/conversations/${part(id)}`, body);
    say(done);
    listChanged();
    await thread.refresh();
  };
  const rename = async () => {
    const given = await confirm({
      title: 'Rename this conversation',
      text: '',
      action: 'Rename',
      field: 'Title',
      value: title.slice(0, 200),
    });
    if (given !== null) await change({ title: given }, 'Renamed');
  };
  const erase = async () => {
    const sure = await confirm({
      title: 'Delete this conversation?',
      text: 'Its messages are deleted permanently. The journal still proves which actions were taken.',
      action: 'Delete',
      danger: true,
    });
    if (sure === null) return;
    await remove(`/conversations/${part(id)}`);
    say('Deleted');
    dropThread(id);
    listChanged();
    go('/?new=1');
  };
  const page = async () => {
    const { conversationPage } = await import('./export.js');
    save(`${fileTitle(title)}.html`, conversationPage(title), 'text/html');
  };
  const markdown = async () =>
    save(`${fileTitle(title)}.md`, await getText(`/conversations/${part(id)}/export`), 'text/markdown');
  const run = (/** @type {() => unknown} */ work) => async () => {
    try {
      await work();
    } catch (error) {
      sayProblem(error);
    }
  };
  return html`<${Menu}
    label="Conversation menu"
    items=${[
      { icon: 'edit', label: 'Rename', run: run(rename) },
      {
        icon: 'link',
        label: 'Copy link',
        run: run(() => copy(`${location.origin}/#/c/${id}`, 'Link copied')),
      },
      { icon: 'download', label: 'Save as a web page', run: run(page) },
      { icon: 'download', label: 'Save as text', run: run(markdown) },
      { icon: 'print', label: 'Print or save as PDF', run: run(() => print()) },
      thread.archived
        ? { icon: 'archive', label: 'Restore', run: run(() => change({ status: 'active' }, 'Restored')) }
        : { icon: 'archive', label: 'Archive', run: run(() => change({ status: 'archived' }, 'Archived')) },
      { icon: 'trash', label: 'Delete', bad: true, run: run(erase) },
    ]}
  />`;
}
