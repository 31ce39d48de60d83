// Line icons, drawn here so that the page loads nothing else. All are decoration: the words beside
// them carry the meaning.
import { html } from '../html.js';

/** @type {Record<string, string>} */
const PATHS = {
  ask: 'M4 5h16v11H9l-5 4z',
  tasks: 'M4 6h3M4 12h3M4 18h3M10 6h10M10 12h10M10 18h10',
  approvals: 'M12 3l7 3v6c0 4.5-3 7.5-7 9-4-1.500-7-4.500-7-9V6zM9 12l2.200 2.200L15.500 10',
  tools:
    'M14.500 6.500a4 4 0 0 1 5-1l-2.800 2.800 1 1 2.800-2.800a4 4 0 0 1-5.300 5L8 18.700a1.900' +
    ' 1.900 0 0 1-2.700-2.700l7.200-7.200a4 4 0 0 1 2-2.300z',
  recipes: 'M6 3h11a1 1 0 0 1 1 1v17l-3-2-3 2-3-2-3 2V4a1 1 0 0 1 0-1zM9 8h6M9 12h6',
  audit: 'M9 12l2 2 4-4M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  analytics: 'M5 20V10M12 20V4M19 20v-7',
  settings:
    'M4 7h9M18 7h2M4 17h2M11 17h9M15.500 4.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0' +
    ' 0-5zM8.500 14.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5z',
  board: 'M4 4h7v9H4zM13 4h7v5h-7zM13 11h7v9h-7zM4 15h7v5H4z',
  plus: 'M12 5v14M5 12h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  panel: 'M4 5h16v14H4zM10 5v14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.500 16.500L20 20',
  close: 'M6 6l12 12M18 6L6 18',
  clip:
    'M19 11l-7.500 7.500a4.500 4.500 0 0 1-6.400-6.400L12.800 4.400a3 3 0 0 1 4.300' +
    ' 4.300l-7.600 7.600a1.500 1.500 0 0 1-2.200-2.100l6.800-6.800',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  tick: 'M5 12.500l4.500 4.500L19 7.500',
  cross: 'M7 7l10 10M17 7L7 17',
  down: 'M6 9l6 6 6-6',
  right: 'M9 6l6 6-6 6',
  left: 'M15 6l-6 6 6 6',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  archive: 'M4 5h16v4H4zM6 9v10h12V9M10 13h4',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  warn: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4l3 2',
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
  table: 'M4 5h16v14H4zM4 10h16M4 15h16M10 5v14',
  chart: 'M5 19V9M10 19V5M15 19v-7M20 19H4',
  fork: 'M7 4v8a4 4 0 0 0 4 4h6M17 4v16M14 13l3 3-3 3',
  play: 'M8 5l11 7-11 7z',
  sun:
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500' +
    ' 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5',
  moon: 'M19 14.500A8 8 0 0 1 9.500 5a8 8 0 1 0 9.500 9.500z',
  screen: 'M4 5h16v11H4zM9 20h6M12 16v4',
  key: 'M7.500 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11.500 12H21v3.500M17 12v3',
  spark: 'M12 4l1.800 5.200L19 11l-5.200 1.800L12 18l-1.800-5.200L5 11l5.200-1.800z',
  refresh: 'M19 8a8 8 0 1 0 1 6M20 4v5h-5',
  edit: 'M5 19l1-4L16 5l3 3L9 18zM14 7l3 3',
  print: 'M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z',
  share: 'M12 15V4M8 8l4-4 4 4M5 12v8h14v-8',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21c1-5 4-7 8-7s7 2 8 7',
  database:
    'M12 4c4 0 7 1 7 2.500S16 9 12 9 5 8 5 6.500 8 4 12 4z' +
    'M5 6.500v11C5 19 8 20 12 20s7-1 7-2.500v-11M5 12c0 1.500 3 2.500 7 2.500s7-1 7-2.500',
  out: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
};

/** @param {{ name: string, size?: number }} props */
export const Icon = ({ name, size = 18 }) =>
  html`<svg
    class="icon"
    width=${size}
    height=${size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width=${name === 'more' ? 3 : 1.7}
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
    focusable="false"
  >
    <path d=${PATHS[name]} />
  </svg>`;
