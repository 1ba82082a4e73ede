import { metricInfo } from '@ui-rl/contracts';
import { Gauge } from 'prom-client';

/** Limit on metric names, which losses, estimators and rewards define: a run file selects a fixed set of them. */
const MAX_NAMES = 500;

const step = new Gauge({ name: 'uirl_step', help: 'steps trained in the run that is served' });
const metrics = new Gauge({
  name: 'uirl_step_metric',
  help: 'metrics of the newest step, by the names of the reference',
  labelNames: ['metric'],
});

/** Exposes the latest step to Prometheus. */
export function showStep(newest: number, values: Readonly<Record<string, number>>): void {
  step.set(newest);
  metrics.reset();
  const known = Object.entries(values).filter(([name]) => metricInfo(name) !== undefined);
  for (const [metric, value] of known.slice(0, MAX_NAMES)) metrics.set({ metric }, value);
}
