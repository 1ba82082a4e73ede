import type { Curves } from '@ui-rl/records';
import { useApi } from './api';
import { count, duration, number, percent } from './format';
import { type StepMetric, stepsPath } from './reads';
import { links, useParam } from './route';
import { rowLink } from './row-link';
import { Card, Empty, Problem } from './ui';

const PAGE = 100;

interface Column {
  label: string;
  metric: StepMetric;
  show: (value: number | null) => string;
}

const COLUMNS: Column[] = [
  { label: 'Episodes', metric: 'env/all/episodes', show: (value) => (value === null ? '–' : count(value)) },
  { label: 'Success', metric: 'env/all/success', show: (value) => percent(value) },
  { label: 'Reward', metric: 'env/all/reward/total', show: (value) => number(value) },
  { label: 'Mixed groups', metric: 'env/all/by_group/frac_mixed', show: (value) => percent(value) },
  { label: 'Loss', metric: 'optim/loss', show: (value) => number(value, 3) },
  { label: 'KL', metric: 'optim/kl_sample_train_v2', show: exponential },
  { label: 'Entropy', metric: 'optim/entropy', show: (value) => number(value) },
  { label: 'Time', metric: 'time/total', show: (value) => (value === null ? '–' : duration(value * 1_000)) },
];

function exponential(value: number | null): string {
  return value === null ? '–' : value.toExponential(1);
}

/** Steps of a run, latest first; each links to its training data. */
export function StepList({ run, version }: { run: string; version: number }) {
  const { data: curves, error } = useApi<Curves>(stepsPath(run), version);
  const [chosen, show] = useParam('rows');
  const shown = Number(chosen) || PAGE;
  const steps = curves?.steps.step ?? [];
  const rows = steps.map((step, index) => ({ step, index })).toReversed();
  return (
    <Card title="Steps">
      <Problem error={error} />
      {curves !== null && rows.length === 0 && <Empty>No training step yet.</Empty>}
      {curves !== null && rows.length > 0 && (
        <div className="scroll">
          <table className="rows stacks steps">
            <thead>
              <tr>
                <th className="num">Step</th>
                {COLUMNS.map(({ label, metric }) => (
                  <th key={metric} className="num" title={metric}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, shown).map(({ step, index }) => (
                <tr key={step} {...rowLink(links.step(run, step))}>
                  <td className="num">
                    <a href={links.step(run, step)}>{step}</a>
                  </td>
                  {COLUMNS.map((column) => (
                    <td key={column.metric} className="num" data-label={column.label}>
                      {column.show(curves.steps.metrics[column.metric]?.[index] ?? null)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > shown && (
        <button type="button" className="more" onClick={() => show(String(shown + PAGE))}>
          Show earlier ones
        </button>
      )}
    </Card>
  );
}
