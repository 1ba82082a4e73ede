import type { ListedRun } from '@ui-rl/records';
import { fetchJson, pathRead, type Read } from './api';
import { type EpisodeFilter, episodeQuery, FILTERS } from './episode-query';
import { paramsOf, parseRoute, type PlayedFor, type Route } from './route';

/** Runs that the list shows at first: more than fit on a screen, and few enough to be drawn at once. */
const FIRST_RUNS = 50;
/** Runs per request, at most. */
const RUNS_PER_REQUEST = 200;
const EPISODES_PER_REQUEST = 50;

/** Names of the parameters of the list of runs. */
export const RUN_CHOICES = ['search', 'sort', 'archived', 'rows'] as const;
/** '' is the default. */
export type RunChoices = Record<(typeof RUN_CHOICES)[number], string>;

/** Metrics of the list of steps. */
export const STEP_METRICS = [
  ...([
    'env/all/episodes',
    'env/all/success',
    'env/all/reward/total',
    'env/all/by_group/frac_mixed',
  ] as const),
  ...(['optim/loss', 'optim/kl_sample_train_v2', 'optim/entropy', 'time/total'] as const),
];
export type StepMetric = (typeof STEP_METRICS)[number];

/** Never negative; v1, which is, would flatten it in one chart. */
export const KL_METRIC = 'optim/kl_sample_train_v2';
/** Pinned at first, if the run has them. */
export const FIRST_PINNED = ['optim/loss', 'optim/entropy'];
export const NONE_PINNED = '-';

/** Pinned metrics, by the parameter `metrics` of an address. */
export function pinnedIn(text: string): string[] {
  if (text === '') return FIRST_PINNED;
  return text === NONE_PINNED ? [] : text.split(',').map(decodeURIComponent);
}

/** The first data of a view, by its address: the page reads them while its scripts still load. */
export function firstReads(hash: string): Read<unknown>[] {
  const route = parseRoute(hash);
  if (route.view === 'runs') return [runsRead(paramsOf(hash, RUN_CHOICES))];
  return firstPaths(route, hash).map((path) => pathRead(path));
}

function firstPaths(route: Route, hash: string): string[] {
  if (route.view === 'run') return [runPath(route.run), ...tabPaths(route, hash)];
  if (route.view === 'step') return [stepPath(route.run, route.step)];
  if (route.view === 'episode') return [episodePath(route.episode)];
  return [];
}

function tabPaths({ run, tab, playedFor }: Route & { view: 'run' }, hash: string): string[] {
  if (tab === 'overview') {
    return [chartsPath(run, pinnedIn(paramsOf(hash, ['metrics']).metrics)), taskScoresPath(run)];
  }
  if (tab === 'steps') return [stepsPath(run)];
  if (tab === 'episodes') return [episodesPath(run, paramsOf(hash, FILTERS), playedFor)];
  return [];
}

export function runPath(run: string): string {
  return `api/runs/${encodeURIComponent(run)}`;
}

export function taskScoresPath(run: string): string {
  return `${runPath(run)}/tasks`;
}

export function stepPath(run: string, step: number): string {
  return `${runPath(run)}/steps/${step}`;
}

export function episodePath(id: string): string {
  return `api/episodes/${encodeURIComponent(id)}`;
}

export function episodesPath(run: string, filter: EpisodeFilter, playedFor?: PlayedFor): string {
  return `${runPath(run)}/episodes?limit=${EPISODES_PER_REQUEST}&${episodeQuery(filter, playedFor)}`;
}

/** Address of the curves of a run with these metrics. */
export function curvesPath(run: string, metrics: readonly string[]): string {
  const query = new URLSearchParams(metrics.map((name): [string, string] => ['metric', name]));
  return `${runPath(run)}/curves?${query.toString()}`;
}

export function stepsPath(run: string): string {
  return curvesPath(run, STEP_METRICS);
}

/** Address of the charts of a run, with its pinned metrics. */
export function chartsPath(run: string, pinned: readonly string[]): string {
  return curvesPath(run, [KL_METRIC, ...pinned]);
}

export function listQuery(
  { search, sort, archived }: RunChoices,
  limit: number,
  before = '',
): URLSearchParams {
  const [by = '', order = ''] = sort.split(' ');
  const query = Object.entries({ search, archived, sort: by, order, before, limit: String(limit) });
  return new URLSearchParams(query.filter(([, value]) => value !== ''));
}

/** Number of runs that the list shows at least, if there are as many. */
export function rowsOf({ rows }: RunChoices): number {
  return Number(rows) || FIRST_RUNS;
}

export interface ShownRuns {
  runs: ListedRun[];
  hasMore: boolean;
}

/** The first runs of the list. */
export function runsRead(choices: RunChoices): Read<ShownRuns> {
  return { key: `runs ${JSON.stringify(choices)}`, load: (signal) => loadRuns(choices, signal) };
}

async function loadRuns(choices: RunChoices, signal: AbortSignal): Promise<ShownRuns> {
  const wanted = rowsOf(choices);
  const runs = new Map<string, ListedRun>();
  const size = Math.min(wanted, RUNS_PER_REQUEST);
  let before = '';
  for (;;) {
    const page = await fetchJson<ListedRun[]>(`api/runs?${listQuery(choices, size, before)}`, signal);
    for (const run of page) runs.set(run.id, run);
    const hasMore = page.length === size;
    if (!hasMore || runs.size >= wanted) return { runs: [...runs.values()], hasMore };
    before = page[size - 1].id;
  }
}
