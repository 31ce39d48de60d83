export type Child = any;
export function h(type: any, props?: any, ...children: Child[]): any;
export function render(what: any, into: Element): void;
export function createContext<T>(value: T): any;
export const Fragment: any;
export class Component<P = any, S = any> {
  props: P; state: S;
  constructor(props?: P);
  setState(change: Partial<S>): void;
  render(props?: any, state?: any): any;
}
