import type { MetricInfo } from '@ui-rl/contracts';
import type { Curves, EvaluationView, RunDetail } from '@ui-rl/records';
import { useMemo, useState } from 'react';
import { useApi } from './api';
import { Chart, type ChartSeries } from './chart';
import { goalSet, number, percent, smooth } from './format';
import { Card, Empty, Problem } from './ui';

const SMOOTHING = 5;
const KL_METRICS = ['optim/kl_sample_train_v1', 'optim/kl_sample_train_v2'];

/** Listed first among further metrics, if the run has them. */
const FAVOURITES = ['optim/loss', 'optim/entropy', 'optim/grad_norm'];

const wholePercent = (value: number) => percent(value);

export function RunCharts({ run, version }: { run: RunDetail; version: number }) {
  const { data: curves, error } = useApi<Curves>(`api/runs/${encodeURIComponent(run.id)}/curves`, version);
  if (curves === null) return <Problem error={error} />;
  return (
    <div className="charts">
      <SuccessChart curves={curves} evaluations={run.evaluations} />
      <RewardChart curves={curves} />
      <KlChart curves={curves} />
      <InvalidChart curves={curves} />
      <ThroughputChart curves={curves} />
      <MetricChart curves={curves} />
    </div>
  );
}

function SuccessChart({ curves, evaluations }: { curves: Curves; evaluations: EvaluationView[] }) {
  const series = useMemo(() => {
    const { version: x, successRate: y } = curves.training;
    const lines: ChartSeries[] = [
      { label: 'Training, per step', color: '--series-1', x, y, faint: true },
      { label: `Training, mean of ${SMOOTHING}`, color: '--series-1', x, y: smooth(y, SMOOTHING) },
    ];
    return [
      ...lines,
      ...['train_goals', 'eval_goals'].map((set, index) => points(evaluations, set, `--series-${index + 2}`)),
    ];
  }, [curves, evaluations]);
  return (
    <Card title="Success">
      {series.every(({ x }) => x.length === 0) ? (
        <Empty>Nothing evaluated or trained yet.</Empty>
      ) : (
        <Chart series={series} xKind="step" yRange={[0, 1]} format={wholePercent} height={230} />
      )}
    </Card>
  );
}

function points(evaluations: EvaluationView[], set: string, color: string): ChartSeries {
  const ofSet = evaluations.filter((evaluation) => evaluation.set === set && evaluation.successRate !== null);
  return {
    label: goalSet(set),
    color,
    x: ofSet.map(({ policyVersion }) => policyVersion),
    y: ofSet.map(({ successRate }) => successRate),
    low: ofSet.map(({ interval }) => interval[0]),
    high: ofSet.map(({ interval }) => interval[1]),
  };
}

function RewardChart({ curves }: { curves: Curves }) {
  const series = useMemo(() => {
    const { version: x, reward: y } = curves.training;
    return [
      { label: 'Per step', color: '--series-4', x, y, faint: true },
      { label: `Mean of ${SMOOTHING}`, color: '--series-4', x, y: smooth(y, SMOOTHING) },
    ];
  }, [curves]);
  return (
    <Card title="Reward">
      {curves.training.version.length === 0 ? (
        <Empty>No training episode yet.</Empty>
      ) : (
        <Chart series={series} xKind="step" format={number} height={230} />
      )}
    </Card>
  );
}

function KlChart({ curves }: { curves: Curves }) {
  const series = useMemo(() => {
    const { step, metrics } = curves.steps;
    return KL_METRICS.filter((name) => name in metrics).map((name, index) => ({
      label: name.replace('optim/kl_sample_train_', ''),
      color: `--series-${index + 1}`,
      x: step,
      y: metrics[name],
    }));
  }, [curves]);
  return (
    <Card title="KL of sampler and trainer">
      {series.length === 0 ? (
        <Empty>No training step yet.</Empty>
      ) : (
        <Chart series={series} xKind="step" format={(value) => value.toExponential(1)} />
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
        <Chart series={series} xKind="time" yRange={[0, highest]} format={wholePercent} />
      )}
    </Card>
  );
}

function ThroughputChart({ curves }: { curves: Curves }) {
  const series = useMemo(() => {
    const { at, episodes, seconds } = curves.throughput;
    return [
      { label: 'Episodes/s', color: '--series-2', x: at, y: episodes.map((episode) => episode / seconds) },
    ];
  }, [curves]);
  return (
    <Card title="Throughput">
      {curves.throughput.at.length === 0 ? (
        <Empty>No episode yet.</Empty>
      ) : (
        <Chart series={series} xKind="time" yRange={[0, null]} format={number} />
      )}
    </Card>
  );
}

function MetricChart({ curves }: { curves: Curves }) {
  const names = useMemo(() => {
    const all = Object.keys(curves.steps.metrics).filter((name) => !KL_METRICS.includes(name));
    const first = FAVOURITES.filter((name) => all.includes(name));
    return [...first, ...all.filter((name) => !first.includes(name))];
  }, [curves]);
  const [chosen, choose] = useState<string | null>(null);
  const name = chosen !== null && names.includes(chosen) ? chosen : names.at(0);
  const { data: about } = useApi<MetricInfo | null>(`api/metrics?name=${encodeURIComponent(name ?? '')}`, 0);
  const series = useMemo(() => {
    if (name === undefined) return [];
    return [{ label: name, color: '--series-3', x: curves.steps.step, y: curves.steps.metrics[name] }];
  }, [curves, name]);
  return (
    <Card
      title="Metric of the step"
      aside={
        names.length > 0 && (
          <select
            aria-label="Metric"
            title={about?.meaning}
            value={name ?? ''}
            onChange={(event) => choose(event.target.value)}
          >
            {names.map((item) => (
              <option key={item}>{item}</option>
            ))}
          </select>
        )
      }
    >
      {name === undefined ? (
        <Empty>No training step yet.</Empty>
      ) : (
        <Chart series={series} xKind="step" format={(value) => number(value, 3)} />
      )}
    </Card>
  );
}
