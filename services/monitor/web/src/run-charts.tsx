import type { Curves, EvaluationView, RunDetail } from '@ui-rl/records';
import { useMemo, useRef } from 'preact/compat';
import { useApi } from './api';
import { Chart, type ChartSeries, type ChartX } from './chart';
import {
  ChartControls,
  type ChartSettings,
  placesOf,
  smoothingText,
  useChartSettings,
} from './chart-settings';
import { goalSet, number, percent, smooth } from './format';
import { MetricPanels, usePinned } from './metric-panels';
import { chartsPath, KL_METRIC } from './reads';
import { Card, Empty, Problem } from './ui';

const wholePercent = (value: number) => percent(value);

export function RunCharts({ run, version }: { run: RunDetail; version: number }) {
  const { names } = usePinned();
  const { data: curves, error } = useApi<Curves>(chartsPath(run.id, names), version);
  // While another selection of metrics is loading, the charts stay on the screen.
  const last = useRef<Curves | null>(null);
  if (curves !== null) last.current = curves;
  if (last.current === null) return <Problem error={error} />;
  return <Charts run={run} curves={last.current} />;
}

function Charts({ run, curves }: { run: RunDetail; curves: Curves }) {
  return (
    <>
      <ChartControls />
      <div className="charts">
        <SuccessChart curves={curves} evaluations={run.evaluations} />
        <RewardChart curves={curves} />
        <KlChart curves={curves} />
        <InvalidChart curves={curves} />
        <ThroughputChart curves={curves} />
      </div>
      <MetricPanels run={run.id} steps={curves.steps} />
    </>
  );
}

/** A line over policy versions, on the chosen axis: each value and the moving average. */
function versionLines(
  curves: Curves,
  y: (number | null)[],
  settings: ChartSettings,
  color: string,
  name = '',
): ChartSeries[] {
  const { smoothing } = settings;
  const placed = placedVersions(curves, settings, curves.training.version);
  const line = (values: (number | null)[]) => ({
    x: placed.map(({ x }) => x),
    y: placed.map(({ index }) => values[index]),
  });
  if (smoothing === 1) return [{ label: `${name}per step`, color, ...line(y) }];
  return [
    { label: `${name}per step`, color, ...line(y), faint: true },
    { label: `${name}${smoothingText(smoothing)}`, color, ...line(smooth(y, smoothing)) },
  ];
}

interface Placed {
  x: number;
  /** Among the versions. */
  index: number;
}

/** Places of policy versions on the chosen axis, without versions whose step is not recorded. */
function placedVersions(
  { steps, throughput }: Curves,
  settings: ChartSettings,
  versions: number[],
): Placed[] {
  if (settings.over === '') return versions.map((x, index) => ({ x, index }));
  const { x: places } = placesOf(steps, settings);
  const start = settings.over === 'time' ? (throughput.at[0] ?? steps.at[0]) : 0;
  const placeOf = new Map([
    [0, start],
    ...steps.step.map((step, index): [number, number] => [step, places[index]]),
  ]);
  return versions.flatMap((version, index) => {
    const x = placeOf.get(version);
    return x === undefined ? [] : [{ x, index }];
  });
}

function versionAxis(settings: ChartSettings, curves: Curves): ChartX {
  return settings.over === '' ? 'policy version' : placesOf(curves.steps, settings).name;
}

function SuccessChart({ curves, evaluations }: { curves: Curves; evaluations: EvaluationView[] }) {
  const settings = useChartSettings();
  const { over, smoothing } = settings;
  const series = useMemo(
    () => [
      ...versionLines(curves, curves.training.successRate, settings, '--series-1', 'training, '),
      ...['train_goals', 'eval_goals'].map((set, index) =>
        points(curves, settings, evaluations, set, `--series-${index + 2}`),
      ),
    ],
    [curves, evaluations, over, smoothing],
  );
  return (
    <Card title="Success">
      {series.every(({ x }) => x.length === 0) ? (
        <Empty>Nothing evaluated or trained yet.</Empty>
      ) : (
        <Chart
          title="Success"
          series={series}
          x={versionAxis(settings, curves)}
          y="share of episodes"
          unit="share"
          yRange={[0, 1]}
          isLog={settings.isLog}
          format={wholePercent}
          height={250}
        />
      )}
    </Card>
  );
}

function points(
  curves: Curves,
  settings: ChartSettings,
  evaluations: EvaluationView[],
  set: string,
  color: string,
): ChartSeries {
  const all = evaluations.filter((evaluation) => evaluation.set === set && evaluation.successRate !== null);
  const placed = placedVersions(
    curves,
    settings,
    all.map(({ policyVersion }) => policyVersion),
  );
  const ofSet = placed.map(({ index }) => all[index]);
  return {
    label: goalSet(set),
    color,
    x: placed.map(({ x }) => x),
    y: ofSet.map(({ successRate }) => successRate),
    low: ofSet.map(({ interval }) => interval[0]),
    high: ofSet.map(({ interval }) => interval[1]),
  };
}

function RewardChart({ curves }: { curves: Curves }) {
  const settings = useChartSettings();
  const { over, smoothing } = settings;
  const series = useMemo(
    () => versionLines(curves, curves.training.reward, settings, '--series-4'),
    [curves, over, smoothing],
  );
  return (
    <Card title="Reward">
      {curves.training.version.length === 0 ? (
        <Empty>No training episode yet.</Empty>
      ) : (
        <Chart
          title="Reward"
          series={series}
          x={versionAxis(settings, curves)}
          y="mean reward"
          unit="number"
          isLog={settings.isLog}
          format={number}
          height={250}
        />
      )}
    </Card>
  );
}

function KlChart({ curves }: { curves: Curves }) {
  const settings = useChartSettings();
  const { over } = settings;
  const series = useMemo(() => {
    const { metrics } = curves.steps;
    if (!(KL_METRIC in metrics)) return [];
    return [
      { label: 'KL (v2)', color: '--series-1', x: placesOf(curves.steps, settings).x, y: metrics[KL_METRIC] },
    ];
  }, [curves, over]);
  return (
    <Card title="KL of sampler and trainer">
      {series.length === 0 ? (
        <Empty>No training step yet.</Empty>
      ) : (
        <Chart
          title="KL of sampler and trainer"
          series={series}
          x={placesOf(curves.steps, settings).name}
          y="nats per token"
          unit="number"
          isLog={settings.isLog}
          yRange={[0, null]}
          format={(value) => value.toExponential(1)}
        />
      )}
    </Card>
  );
}

/** Over time, because an episode that failed before its first turn belongs to no step. */
function InvalidChart({ curves }: { curves: Curves }) {
  const series = useMemo(() => {
    const { at, invalid, episodes } = curves.throughput;
    const y = episodes.map((all, index) => (all === 0 ? null : invalid[index] / all));
    return [{ label: 'Invalid', color: '--series-5', x: at, y }];
  }, [curves]);
  const highest = Math.max(0.1, ...series[0].y.map((share) => share ?? 0));
  return (
    <Card title="Invalid share">
      {curves.throughput.at.length === 0 ? (
        <Empty>No episode yet.</Empty>
      ) : (
        <Chart
          title="Invalid share"
          series={series}
          x="time"
          y="share of episodes"
          unit="share"
          yRange={[0, highest]}
          format={wholePercent}
        />
      )}
    </Card>
  );
}

function ThroughputChart({ curves }: { curves: Curves }) {
  const series = useMemo(() => {
    const { at, episodes, covered } = curves.throughput;
    const rates = episodes.map((ended, index) => ended / covered[index]);
    // An interval that has only begun misleads; a single one is better than none.
    const whole = at.map((_, index) => index).filter((index) => isLongEnough(curves, index));
    return [
      {
        ...{ label: 'Episodes/s', color: '--series-2' },
        ...{ x: whole.map((index) => at[index]), y: whole.map((index) => rates[index]) },
      },
    ];
  }, [curves]);
  return (
    <Card title="Throughput">
      {curves.throughput.at.length === 0 ? (
        <Empty>No episode yet.</Empty>
      ) : (
        <Chart
          title="Throughput"
          series={series}
          x="time"
          y="episodes per second"
          unit="number"
          yRange={[0, null]}
          format={number}
        />
      )}
    </Card>
  );
}

function isLongEnough({ throughput: { at, covered, seconds } }: Curves, index: number): boolean {
  return covered[index] >= seconds / 2 || (at.length === 1 && covered[index] > 0);
}
