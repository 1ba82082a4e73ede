import type { MetricInfo } from '@ui-rl/contracts';
import type { Curves, RunSummary, StepCurves } from '@ui-rl/records';
import { useEffect, useId, useMemo, useState } from 'preact/compat';
import { fetchJson, useApi, useLoaded, useVersion } from './api';
import { Chart, type ChartSeries } from './chart';
import { CompareDifferences } from './compare-differences';
import {
  ChartControls,
  type ChartSettings,
  placesOf,
  smoothingText,
  useChartSettings,
} from './chart-settings';
import { number, percent, smooth, type Unit } from './format';
import { curvesPath, runPath } from './reads';
import { links, replaceBy, useParam, useTitle } from './route';
import { MAX_OVERLAID } from './run-kind';
import { titleOf } from './run-labels';
import { Card, Empty, Problem } from './ui';

const SUCCESS = 'env/all/success';
const REWARD = 'env/all/reward/total';
const FAVOURITES = ['optim/entropy', 'optim/kl_sample_train_v2', 'optim/loss', 'env/all/turns_per_episode'];

interface RunCurves {
  id: string;
  color: string;
  steps: StepCurves;
}

const shares = (value: number) => percent(value);
const values = (value: number) => number(value, 3);

/** Overlays several runs, step by step. */
export function CompareView({ runs }: { runs: string[] }) {
  const shown = runs.filter((id) => id !== '').slice(0, MAX_OVERLAID);
  const names = useNames(shown);
  const [chosen, choose] = useParam('metric');
  const metric = names.includes(chosen) ? chosen : names.at(0);
  const { curves, error } = useCurves(shown, [SUCCESS, REWARD, ...(metric === undefined ? [] : [metric])]);
  useTitle('Compare runs');
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Runs compared</h1>
        </div>
      </header>
      <Problem error={error} />
      <Chooser runs={runs} />
      {runs.length > 0 && <ChartControls />}
      {runs.length > 0 && (
        <div className="overlays">
          <Overlay
            title="Success in training"
            curves={curves}
            metric={SUCCESS}
            y="share of episodes"
            unit="share"
            format={shares}
            yRange={[0, 1]}
          />
          <Overlay
            title="Reward"
            curves={curves}
            metric={REWARD}
            y="mean reward"
            unit="number"
            format={values}
          />
          <Overlay
            title="Metric of the step"
            curves={curves}
            metric={metric}
            y={metric ?? ''}
            unit="number"
            format={values}
            aside={
              <select
                aria-label="Metric"
                value={metric ?? ''}
                onChange={(event) => choose(event.currentTarget.value)}
              >
                {names.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            }
          />
        </div>
      )}
      {shown.length > 1 && <CompareDifferences runs={shown} colorOf={colorOf} />}
    </>
  );
}

function colorOf(index: number): string {
  return `--series-${index + 1}`;
}

/** The number of offered runs: a search finds the others. */
const OFFERED = 10;

/** Selects the shown runs: a click removes or adds one of the newest runs, or of those that a search finds. */
function Chooser({ runs }: { runs: string[] }) {
  const [search, setSearch] = useState('');
  const note = useId();
  const query = new URLSearchParams({ limit: String(OFFERED + MAX_OVERLAID), search });
  const { data, error } = useApi<RunSummary[]>(`api/runs?${query.toString()}`, useVersion(null));
  const known = (data ?? []).map(({ id }) => id).filter((id) => !runs.includes(id));
  const all = [...runs, ...known.slice(0, OFFERED)];
  const titles = new Map((data ?? []).map((run) => [run.id, titleOf(run)]));
  return (
    <Card
      title="Runs"
      aside={
        <input
          type="search"
          aria-label="Search runs"
          placeholder="Search all runs"
          aria-describedby={note}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      }
    >
      <Problem error={error} />
      <p className="note" id={note}>
        {search === '' ? `The ${OFFERED} newest other runs` : 'Matching runs'}; up to {MAX_OVERLAID} at a
        time.
        {data !== null &&
          search !== '' &&
          known.length === 0 &&
          ' No other run has this in its id, name, notes or tags.'}
      </p>
      <div className="chooser">
        {all.map((id) => {
          const index = runs.indexOf(id);
          const next = index < 0 ? [...runs, id] : runs.filter((run) => run !== id);
          return (
            <label key={id} className={index < 0 ? 'muted' : ''}>
              <input
                type="checkbox"
                checked={index >= 0}
                disabled={index < 0 && runs.length >= MAX_OVERLAID}
                onChange={() => replaceBy(links.compare(next))}
              />
              <i style={index < 0 ? {} : { background: `var(${colorOf(index)})` }} />
              {titles.get(id) ?? id}
            </label>
          );
        })}
      </div>
    </Card>
  );
}

/** Names of the metrics that the steps of any of the runs have, the usual ones first. */
function useNames(runs: string[]): string[] {
  const { data } = useLoaded(`metrics ${runs.join()}`, useVersion(null, 30_000), (signal) =>
    settled(runs, signal, (id) => fetchJson<MetricInfo[]>(`${runPath(id)}/metrics`, signal)),
  );
  return useMemo(() => {
    const all = [...new Set((data?.found ?? []).flat().map(({ name }) => name))];
    const others = all.filter((name) => name !== SUCCESS && name !== REWARD);
    const first = FAVOURITES.filter((name) => others.includes(name));
    const rest = others.filter((name) => !first.includes(name));
    return [...first, ...rest.toSorted((a, b) => a.localeCompare(b))];
  }, [data]);
}

/** The curves of all runs that are recorded; null until the first ones arrive. */
function useCurves(runs: string[], metrics: string[]): { curves: RunCurves[] | null; error: string | null } {
  const { data, error } = useLoaded(`${runs.join()} ${metrics.join()}`, useVersion(null, 5_000), (signal) =>
    settled(runs, signal, async (id, index): Promise<RunCurves> => {
      const { steps } = await fetchJson<Curves>(curvesPath(id, metrics), signal);
      return { id, color: colorOf(index), steps };
    }),
  );
  // While another selection is loading, runs that are in both stay on the screen.
  const [last, keep] = useState<RunCurves[] | null>(null);
  useEffect(() => {
    if (data !== null) keep(data.found);
  }, [data]);
  if (data === null) return { curves: last?.filter(({ id }) => runs.includes(id)) ?? null, error };
  return { curves: data.found, error: data.error };
}

interface Settled<T> {
  found: T[];
  error: string | null;
}

/** Results of all runs, without those that fail. */
async function settled<T>(
  runs: readonly string[],
  signal: AbortSignal,
  load: (id: string, index: number) => Promise<T>,
): Promise<Settled<T>> {
  const loaded = await Promise.allSettled(runs.map(load));
  signal.throwIfAborted();
  const failed = loaded.find((result) => result.status === 'rejected');
  return {
    found: loaded.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    error: failed === undefined ? null : String(failed.reason),
  };
}

interface OverlayProps {
  title: string;
  /** Null until they are loaded. */
  curves: RunCurves[] | null;
  metric: string | undefined;
  y: string;
  unit: Unit;
  format: (value: number) => string;
  yRange?: [number | null, number | null];
  aside?: React.ReactNode;
}

function Overlay({ title, curves, metric, y, unit, format, yRange, aside }: OverlayProps) {
  const settings = useChartSettings();
  const { over, smoothing, isLog } = settings;
  const series = useMemo(() => {
    const having = (curves ?? []).filter(({ steps }) => metric !== undefined && metric in steps.metrics);
    return having.map(({ id, color, steps }): ChartSeries => ({
      ...{ label: id, color, x: comparablePlaces(steps, settings) },
      y: smooth(steps.metrics[metric!], smoothing),
    }));
  }, [curves, metric, over, smoothing]);
  return (
    <Card title={smoothing === 1 ? title : `${title}, ${smoothingText(smoothing)} steps`} aside={aside}>
      {series.length === 0 ? (
        <Empty>{curves === null ? 'Loading …' : 'None of these runs has trained a step that has it.'}</Empty>
      ) : (
        <Chart
          title={title}
          series={series}
          x={over === 'time' ? 'hours' : placesOf(curves![0].steps, settings).name}
          y={y}
          unit={unit}
          isLog={isLog}
          yRange={yRange}
          format={format}
          height={270}
        />
      )}
    </Card>
  );
}

/** Runs began at different times: their hours since the first step are compared. */
function comparablePlaces(steps: StepCurves, settings: ChartSettings): number[] {
  const { x } = placesOf(steps, settings);
  return settings.over === 'time' ? x.map((at) => (at - x[0]) / 3_600) : x;
}
