import { useCallback, useEffect, useSyncExternalStore } from 'preact/compat';

const TABS = [
  'overview',
  'steps',
  'tasks',
  'evaluations',
  'episodes',
  'health',
  'configuration',
  'details',
] as const;
export type RunTab = (typeof TABS)[number];

/** Episodes of an evaluation, of one task or of all. */
export interface PlayedFor {
  evaluation: string;
  taskId?: string;
}

export type Route =
  | { view: 'runs' }
  | { view: 'run'; run: string; tab: RunTab; playedFor?: PlayedFor }
  | { view: 'step'; run: string; step: number }
  | { view: 'compare'; runs: string[] }
  | { view: 'episode'; episode: string }
  | { view: 'dead-letters' };

export function parseRoute(hash: string): Route {
  const [view, id, tab, part, task] = hash
    .replace(/^#?\/?/, '')
    .replace(/\?.*$/, '')
    .split('/')
    .map(decodeURIComponent);
  if (view === 'runs' && id && tab === 'steps' && /^\d+$/.test(part ?? '')) {
    return { view: 'step', run: id, step: Number(part) };
  }
  if (view === 'runs' && id && tab === 'episodes' && part) {
    return { view: 'run', run: id, tab, playedFor: { evaluation: part, ...(task ? { taskId: task } : {}) } };
  }
  if (view === 'runs' && id) return { view: 'run', run: id, tab: isTab(tab) ? tab : 'overview' };
  if (view === 'episodes' && id) return { view: 'episode', episode: id };
  if (view === 'compare' && id) return { view: 'compare', runs: id.split(',').filter((run) => run !== '') };
  if (view === 'dead-letters') return { view: 'dead-letters' };
  return { view: 'runs' };
}

function isTab(text: string | undefined): text is RunTab {
  return (TABS as readonly (string | undefined)[]).includes(text);
}

export const links = {
  runs: '#/',
  /** Runs that a search finds. */
  runsWith: (search: string) => `#/?search=${encodeURIComponent(search)}`,
  deadLetters: '#/dead-letters',
  run: (id: string, tab: RunTab = 'overview') =>
    `#/runs/${encodeURIComponent(id)}${tab === 'overview' ? '' : `/${tab}`}`,
  episodesOf: (run: string, { evaluation, taskId }: PlayedFor) =>
    `#/runs/${[run, 'episodes', evaluation, ...(taskId === undefined ? [] : [taskId])].map(encodeURIComponent).join('/')}`,
  /** Episodes that pass filters of the list. */
  episodesWith: (run: string, filters: Record<string, string>) =>
    `#/runs/${encodeURIComponent(run)}/episodes?${new URLSearchParams(filters).toString()}`,
  step: (run: string, step: number) => `#/runs/${encodeURIComponent(run)}/steps/${step}`,
  compare: (runs: readonly string[]) => `#/compare/${runs.map(encodeURIComponent).join(',')}`,
  /** Two episodes of a task, side by side. */
  beside: (id: string, other: string) =>
    `#/episodes/${encodeURIComponent(id)}?beside=${encodeURIComponent(other)}`,
  episode: (id: string, turn?: string) =>
    `#/episodes/${encodeURIComponent(id)}${turn === undefined || turn === '' ? '' : `?turn=${turn}`}`,
};

function subscribe(changed: () => void): () => void {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
}

/**
 * Navigates synchronously within the triggering event: the browser's own hashchange event arrives later, and until
 * then a just-ticked checkbox would be drawn in its old state.
 */
export function goTo(hash: string): void {
  window.history.pushState(null, '', hash);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Changes the address of the current entry of the history. */
export function replaceBy(hash: string): void {
  window.history.replaceState(window.history.state, '', hash);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

function queryOf(hash: string): URLSearchParams {
  return new URLSearchParams(hash.includes('?') ? hash.slice(hash.indexOf('?') + 1) : '');
}

/** The address with these parameters; empty ones are removed. */
function withParams(hash: string, values: Record<string, string>): string {
  const query = queryOf(hash);
  for (const [name, value] of Object.entries(values)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  const [path] = (hash === '' ? '#/' : hash).split('?');
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/**
 * A choice on a page, kept in its address: it survives Back and Reload, and you can send it to others. '' is the
 * default.
 */
export function useParam(name: string): [string, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => queryOf(window.location.hash).get(name) ?? '');
  const set = useCallback(
    (next: string) => replaceBy(withParams(window.location.hash, { [name]: next })),
    [name],
  );
  return [value, set];
}

/** The values of several such choices. */
export function useParams<Name extends string>(names: readonly Name[]): Record<Name, string> {
  return paramsOf(
    useSyncExternalStore(subscribe, () => window.location.hash),
    names,
  );
}

/** The values of choices in an address. */
export function paramsOf<Name extends string>(hash: string, names: readonly Name[]): Record<Name, string> {
  const query = queryOf(hash);
  const values = names.map((name) => [name, query.get(name) ?? '']);
  return Object.fromEntries(values) as Record<Name, string>;
}

/** Names the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'ui-rl monitor' : `${title} · ui-rl`;
  }, [title]);
}

export function useRoute(): Route {
  return parseRoute(useSyncExternalStore(subscribe, () => window.location.hash));
}
