const KEY = 'ui-rl-scroll';
/** A page that has not become as long as before within this time has changed. */
const GIVE_UP_MS = 5_000;

/**
 * Keeps the scroll position of each entry of the history. The browser's own memory fails here: when it restores the
 * position, the page's data has not arrived.
 */
export function keepScroll(): void {
  window.history.scrollRestoration = 'manual';
  const positions = read();
  let key = keyOfEntry();
  let stop: (() => void) | null = null;
  const save = () => {
    if (stop !== null) return;
    positions[key] = window.scrollY;
    sessionStorage.setItem(KEY, JSON.stringify(positions));
  };
  const end = () => {
    stop?.();
    stop = null;
  };
  stop = restore(positions[key] ?? 0);
  window.addEventListener('scroll', save, { passive: true });
  // A person who moves the page has no use for the old position.
  for (const type of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
    window.addEventListener(type, end, { passive: true });
  window.addEventListener('hashchange', () => {
    const next = keyOfEntry();
    if (next === key) return;
    end();
    key = next;
    stop = restore(positions[key] ?? 0);
  });

  function restore(top: number): (() => void) | null {
    window.scrollTo(0, top);
    if (Math.abs(window.scrollY - top) < 2) return null;
    const observer = new ResizeObserver(() => {
      window.scrollTo(0, top);
      if (Math.abs(window.scrollY - top) < 2) end();
    });
    observer.observe(document.body);
    const timer = setTimeout(end, GIVE_UP_MS);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }
}

/** Marks a new entry of the history. */
function keyOfEntry(): string {
  const state = window.history.state as { key?: string } | null;
  if (typeof state?.key === 'string') return state.key;
  const key = Math.random().toString(36).slice(2);
  window.history.replaceState({ ...state, key }, '');
  return key;
}

function read(): Record<string, number> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as Record<string, number>;
  } catch {
    return {};
  }
}
