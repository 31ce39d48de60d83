// Follows a stream of server-sent events. The browser reconnects by itself and says which event it
// saw last; the stream is over
// with `done`. A stream that the browser gives up on is reported once through `lost`.
import { url } from './api.js';

/**
 * @param {string} path the path below the API, or a whole path as the server names it
 * @param {Record<string, (data: any, id: string) => void>} on what to do with each kind of event;
 *   `done` and `lost` end it,
 *   `away` and `back` tell that the connection broke and is there again
 * @returns {() => void} stops following
 */
export function follow(path, on) {
  const source = new EventSource(path.startsWith('/api/') ? path : url(path));
  let over = false;
  const end = () => {
    over = true;
    source.close();
  };
  for (const kind of Object.keys(on)) {
    if (['lost', 'done', 'away', 'back'].includes(kind)) continue;
    source.addEventListener(kind, event => {
      if (over) return;
      const { data, lastEventId } = /** @type {MessageEvent} */ (event);
      let read;
      try {
        read = data ? JSON.parse(data) : {};
      } catch {
        return;
      }
      on[kind](read, lastEventId);
    });
  }
  source.addEventListener('done', () => {
    if (!over) {
      end();
      on.done?.({}, '');
    }
  });
  source.addEventListener('error', () => {
    if (over) return;
    // While it is only reconnecting there is nothing to do but to say so.
    if (source.readyState !== EventSource.CLOSED) {
      on.away?.({}, '');
      return;
    }
    end();
    on.lost?.({}, '');
  });
  source.addEventListener('open', () => {
    if (!over) on.back?.({}, '');
  });
  return end;
}
