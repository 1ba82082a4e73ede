import type { DifferingOption, EvaluationView, RunDetail } from '@ui-rl/records';
import { fetchJson, useApi, useLoaded, useVersion } from './api';
import { goalSet, percent, plural } from './format';
import { links } from './route';
import { OptionPath, OptionValue } from './run-columns';
import { GOAL_SETS } from './run-kind';
import { beforeAfter } from './runs-view';
import { Card, Empty, Problem } from './ui';
import { runPath } from './reads';

interface Props {
  /** Ids, at most as many as the page compares. */
  runs: readonly string[];
  colorOf: (index: number) => string;
}

/** The options that differ between compared runs, and the results of their evaluations. */
export function CompareDifferences({ runs, colorOf }: Props) {
  const version = useVersion(null, 30_000);
  const query = new URLSearchParams(runs.map((id): [string, string] => ['run', id]));
  const { data: options, error } = useApi<DifferingOption[]>(
    `api/run-differences?${query.toString()}`,
    version,
  );
  const { data: details } = useLoaded(`details ${runs.join()}`, version, (signal) =>
    Promise.all(
      runs.map((id) =>
        fetchJson<RunDetail>(runPath(id), signal).catch(() => {
          signal.throwIfAborted();
          // The charts say which run is not recorded.
          return null;
        }),
      ),
    ),
  );
  const sets = GOAL_SETS.filter((set) => details?.some((run) => resultOf(run, set) !== null));
  return (
    <Card title="What differs">
      <Problem error={error} />
      {options?.length === 0 && <Empty>These runs have the same configuration, or none is recorded.</Empty>}
      {options !== null && options.length + sets.length > 0 && (
        <div className="scroll tall" tabIndex={0} role="group" aria-label="What differs">
          <table className="rows differences">
            <thead>
              <tr>
                <th scope="col">Option or result</th>
                {runs.map((id, index) => (
                  <th key={id} scope="col">
                    <i style={{ background: `var(${colorOf(index)})` }} /> <a href={links.run(id)}>{id}</a>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {options.map((option) => (
                <tr key={option.path}>
                  <th scope="row" title={option.path}>
                    <code>
                      <OptionPath path={option.path} />
                    </code>
                  </th>
                  {runs.map((id) => (
                    <td key={id}>
                      <OptionValue option={option} run={id} />
                    </td>
                  ))}
                </tr>
              ))}
              {sets.map((set) => (
                <tr key={set}>
                  <th scope="row">{goalSet(set)}, latest success</th>
                  {runs.map((id, index) => (
                    <td key={id}>
                      <Rate evaluation={resultOf(details?.[index] ?? null, set)} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function resultOf(run: RunDetail | null, set: string): EvaluationView | null {
  if (run === null) return null;
  const { after } = beforeAfter(run.evaluations, set);
  return after === null || after.successRate === null ? null : after;
}

function Rate({ evaluation }: { evaluation: EvaluationView | null }) {
  if (evaluation === null) return <span className="muted">–</span>;
  const [low, high] = evaluation.interval;
  return (
    <span title={`95 % interval, ${plural(evaluation.episodes, 'episode')}`}>
      <strong>{percent(evaluation.successRate)}</strong>{' '}
      <span className="muted">
        {percent(low)} to {percent(high)}
      </span>
    </span>
  );
}
