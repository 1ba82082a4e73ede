import { useSyncExternalStore } from 'preact/compat';

/** A colour scheme; '' is that of the system. */
export type Theme = '' | 'light' | 'dark';

const KEY = 'ui-rl-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

let chosen: Theme = read();

function read(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === 'light' || kept === 'dark' ? kept : '';
  } catch {
    // A browser that keeps nothing follows the system.
    return '';
  }
}

function isDark(): boolean {
  return chosen === '' ? system.matches : chosen === 'dark';
}

function apply(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

/** Applies the chosen colour scheme, and that of the system whenever it changes. */
export function followTheme(): void {
  apply();
  system.addEventListener('change', apply);
}

function choose(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It lasts until the page is left.
  }
  apply();
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, isDark);
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, () => chosen), choose];
}
