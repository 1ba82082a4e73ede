import type { MetricInfo } from '@ui-rl/contracts';
import type { Curves, EvaluationView, RunDetail } from '@ui-rl/records';
import { useMemo } from 'react';
import { useApi } from './api';
import { Chart, type ChartSeries } from './chart';
import { goalSet, number, percent, smooth } from './format';
import { useParam } from './route';
import { Card, Empty, Problem } from './ui';

const SMOOTHING = 5;
/** Never negative; v1, which is, would flatten it in one chart. */
const KL_METRIC = 'optim/kl_sample_train_v2';

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
        <Chart
          title="Success"
          series={series}
          x="policy version"
          y="share of episodes"
          unit="share"
          yRange={[0, 1]}
          format={wholePercent}
          height={250}
        />
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
        <Chart
          title="Reward"
          series={series}
          x="policy version"
          y="mean reward"
          unit="number"
          format={number}
          height={250}
        />
      )}
    </Card>
  );
}

function KlChart({ curves }: { curves: Curves }) {
  const series = useMemo(() => {
    const { step, metrics } = curves.steps;
    if (!(KL_METRIC in metrics)) return [];
    return [{ label: 'KL (v2)', color: '--series-1', x: step, y: metrics[KL_METRIC] }];
  }, [curves]);
  return (
    <Card title="KL of sampler and trainer">
      {series.length === 0 ? (
        <Empty>No training step yet.</Empty>
      ) : (
        <Chart
          title="KL of sampler and trainer"
          series={series}
          x="training step"
          y="nats per token"
          unit="number"
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

function MetricChart({ curves }: { curves: Curves }) {
  const names = useMemo(() => {
    const all = Object.keys(curves.steps.metrics).filter((name) => name !== KL_METRIC);
    const first = FAVOURITES.filter((name) => all.includes(name));
    return [...first, ...all.filter((name) => !first.includes(name))];
  }, [curves]);
  const [chosen, choose] = useParam('metric');
  const name = names.includes(chosen) ? chosen : names.at(0);
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
        <Chart
          title={name}
          series={series}
          x="training step"
          y={name}
          unit="number"
          format={(value) => number(value, 3)}
        />
      )}
    </Card>
  );
}
