type Set<T> = (value: T | ((before: T) => T)) => void;
export function useState<T>(initial: T | (() => T)): [T, Set<T>];
export function useEffect(run: () => void | (() => void), on?: unknown[]): void;
export function useLayoutEffect(run: () => void | (() => void), on?: unknown[]): void;
export function useRef<T>(initial: T): { current: T };
export function useMemo<T>(make: () => T, on: unknown[]): T;
export function useCallback<T extends Function>(call: T, on: unknown[]): T;
export function useErrorBoundary(on?: (error: any) => void): [any, () => void];
export function useId(): string;
