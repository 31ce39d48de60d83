// The one place that knows the rendering library: `html` templates and hooks. Text put into a
// template is always text; nothing
// here or elsewhere writes HTML.
import { h, render, Fragment, Component } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';

export { render, Fragment, Component };
export {
  useState,
  useEffect,
  useLayoutEffect,
  useRef,
  useMemo,
  useCallback,
  useErrorBoundary,
  useId,
} from './vendor/hooks.mjs';

/** Makes elements out of a template. */
export const html = htm.bind(h);

/**
 * Class names that hold.
 * @param {...(string | false | null | undefined)} names
 */
export const classes = (...names) => names.filter(Boolean).join(' ');
