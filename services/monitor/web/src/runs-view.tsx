import type {
  DifferingOption,
  EvaluationView,
  ListedRun,
  RunSort,
  SortOrder,
  StoreUse,
} from '@ui-rl/records';
import { useApi, useLoaded, useVersion } from './api';
import { Choice } from './episode-filters';
import { bytes, count, day, goalSet, percent, plural } from './format';
import { listQuery, rowsOf, RUN_CHOICES, runsRead } from './reads';
import { links, useParam, useParams, useTitle } from './route';
import { MAX_COMPARED, OptionPath, OptionValue, useRunColumns } from './run-columns';
import { MAX_OVERLAID } from './run-kind';
import { RunTags, titleOf } from './run-labels';
import { Sparkline } from './sparkline';
import { Card, Empty, Phase, Problem } from './ui';

const SORTS: Partial<Record<`${RunSort} ${SortOrder}` | '', string>> = {
  '': 'Newest first',
  'created asc': 'Oldest first',
  'id asc': 'By id',
  'success desc': 'Best on unseen goals first',
  'steps desc': 'Most steps first',
  'episodes desc': 'Most episodes first',
};

export function RunsView() {
  useTitle('');
  const listed = useParams(RUN_CHOICES);
  const { search, archived } = listed;
  const [, setSearch] = useParam('search');
  const [, setArchived] = useParam('archived');
  const [, show] = useParam('rows');
  const wanted = rowsOf(listed);
  const { key, load } = runsRead(listed);
  const { data, error } = useLoaded(key, useVersion(null), load);
  const runs = data?.runs ?? null;
  const ids = (runs ?? []).map(({ id }) => id);
  const { columns, button, panel } = useRunColumns(listQuery(listed, Math.min(wanted, MAX_COMPARED)), ids);
  return (
    <>
      <header className="page-head">
        <h1>Runs</h1>
        <div className="filters">
          <input
            type="search"
            aria-label="Search runs"
            placeholder="Search runs"
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
          <Choice name="sort" label="Order" options={SORTS} />
          <label className="check">
            <input
              type="checkbox"
              checked={archived === 'yes'}
              onChange={(event) => setArchived(event.currentTarget.checked ? 'yes' : '')}
            />
            Show archived
          </label>
          {runs !== null && runs.length > 1 && (
            <a className="button" href={links.compare(comparedOf(runs))}>
              Compare runs
            </a>
          )}
          {button}
        </div>
      </header>
      <Card>
        <Problem error={error} />
        {panel}
        {runs?.length === 0 && search !== '' && (
          <Empty>
            No run has “{search}” in its id, name, notes or tags.
            {archived === '' && ' Archived runs are left out.'}
          </Empty>
        )}
        {runs?.length === 0 && search === '' && (
          <Empty>
            No run yet. <code>npm run quickstart</code> starts one; it appears here by itself.
          </Empty>
        )}
        {runs !== null && runs.length > 0 && (
          <div className="scroll">
            <table className="rows stacks">
              <thead>
                <tr>
                  <th>Run</th>
                  <th>Phase</th>
                  <th>Created</th>
                  <th className="num">Steps</th>
                  <th className="num">Episodes</th>
                  {columns.map(({ path }) => (
                    <th key={path} className="option-name" title={path}>
                      <OptionPath path={path} />
                    </th>
                  ))}
                  <th title="share of episodes that succeed, at every step">Success in training</th>
                  <th>Training goals</th>
                  <th>Unseen goals</th>
                </tr>
              </thead>
              <tbody>
                {runs.map((run) => (
                  <RunRow key={run.id} run={run} columns={columns} />
                ))}
              </tbody>
            </table>
          </div>
        )}
        {data?.hasMore === true && (
          <button type="button" className="more" onClick={() => show(String(2 * wanted))}>
            Show more runs ({count(data.runs.length)} shown)
          </button>
        )}
      </Card>
      {data !== null && <StoreSize />}
    </>
  );
}

/** The first runs of the list that have trained; else the first two. */
function comparedOf(runs: readonly ListedRun[]): string[] {
  const trained = runs.filter(({ steps }) => steps > 0).slice(0, MAX_OVERLAID);
  return (trained.length > 1 ? trained : runs.slice(0, 2)).map(({ id }) => id);
}

/** Read again once a minute at most: a run grows slowly. */
const SIZE_EVERY_MS = 60_000;

function StoreSize() {
  const { data } = useApi<StoreUse>('api/store', useVersion(null, SIZE_EVERY_MS));
  if (data === null) return null;
  const { recordBytes, screenshotBytes, location } = data;
  return (
    <p className="muted store">
      Records {bytes(recordBytes)}
      {screenshotBytes === null ? '' : `, screenshots ${bytes(screenshotBytes)}`} in {location}.{' '}
      <code>npx ui-rl runs delete &lt;run&gt;</code> frees space.
    </p>
  );
}

function RunRow({ run, columns }: { run: ListedRun; columns: readonly DifferingOption[] }) {
  return (
    <tr>
      <td>
        <a href={links.run(run.id)}>{titleOf(run)}</a>
        {run.name !== '' && <small className="muted">{run.id}</small>}
        <RunTags run={run} />
      </td>
      <td className="outcome">
        <Phase phase={run.phase} reason={run.phaseReason} />
      </td>
      <td data-label="Created">{day(run.createdAt)}</td>
      <td className="num" data-label="Steps">
        {count(run.steps)}
      </td>
      <td className="num" data-label="Episodes">
        {count(run.episodes)}
      </td>
      {columns.map((option) => (
        <td key={option.path} data-label={option.path}>
          <OptionValue option={option} run={run.id} />
        </td>
      ))}
      <td data-label="Success in training">
        <Sparkline rates={run.successRates} />
      </td>
      <td data-label="Training goals">
        <BeforeAfter {...beforeAfter(run.evaluations, 'train_goals')} />
      </td>
      <td data-label="Unseen goals">
        <BeforeAfter {...beforeAfter(run.evaluations, 'eval_goals')} />
      </td>
    </tr>
  );
}

export interface BeforeAfterProps {
  before: EvaluationView | null;
  after: EvaluationView | null;
}

/** The baseline of a goal set, and its latest evaluation since. */
export function beforeAfter(evaluations: EvaluationView[], set: string): BeforeAfterProps {
  const ofSet = evaluations.filter((evaluation) => evaluation.set === set);
  const after = ofSet.findLast(({ stage }) => stage !== 'baseline') ?? null;
  return { before: ofSet.find(({ stage }) => stage === 'baseline') ?? null, after };
}

/**
 * The best evaluation of a set before the final one, if that is worse: beyond its interval, or than the warm start.
 */
export function betterThanLast(evaluations: EvaluationView[], set: string): EvaluationView | null {
  const { after } = beforeAfter(evaluations, set);
  if (after?.stage !== 'final') return null;
  const rate = (evaluation: EvaluationView): number => evaluation.successRate ?? 0;
  const least = ({ stage }: EvaluationView): number =>
    stage === 'warm_start' ? rate(after) : after.interval[1];
  const better = evaluations.filter((each) => each.set === set && rate(each) > least(each));
  return better.toSorted((a, b) => rate(b) - rate(a))[0] ?? null;
}

function BeforeAfter({ before, after }: BeforeAfterProps) {
  if (before === null && after === null) return <span className="muted">–</span>;
  return (
    <span>
      {percent(before?.successRate)} <span className="muted">→</span>{' '}
      {after === null ? <span className="muted">…</span> : <strong>{percent(after.successRate)}</strong>}
    </span>
  );
}

/** A success rate with its interval, drawn to scale. */
export function RateBar({ label, evaluation }: { label: string; evaluation: EvaluationView | null }) {
  if (evaluation === null) {
    return (
      <div className="rate">
        <span className="label">{label}</span>
        <span className="muted">not yet</span>
      </div>
    );
  }
  if (evaluation.successRate === null) {
    return (
      <div className="rate">
        <span className="label">{label}</span>
        <span className="muted">{withoutRate(evaluation)}</span>
      </div>
    );
  }
  const [low, high] = evaluation.interval;
  const title = `${percent(low, 1)} to ${percent(high, 1)} (95 %), ${plural(evaluation.episodes, 'episode')} of "${goalSet(evaluation.set)}"`;
  return (
    <div className="rate" title={title}>
      <span className="label">{label}</span>
      <RateScale rate={evaluation.successRate} interval={evaluation.interval} label={title} />
      <strong>{percent(evaluation.successRate)}</strong>
      <span className="muted">
        {percent(low)}–{percent(high)}
      </span>
    </div>
  );
}

function withoutRate({ meanReward, invalid }: EvaluationView): string {
  return meanReward === null ? `all ${invalid} episodes are invalid` : `mean reward ${meanReward.toFixed(3)}`;
}

/** A rate and its interval from 0 to 100 %. */
export function RateScale({
  rate,
  interval: [low, high],
  label,
}: {
  rate: number;
  interval: readonly [number, number];
  label: string;
}) {
  return (
    <svg className="scale" viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect className="track" x="0" y="3" width="100" height="6" rx="1" />
      <rect className="bar" x="0" y="3" width={rate * 100} height="6" rx="1" />
      <rect className="interval" x={low * 100} y="5" width={(high - low) * 100} height="2" />
    </svg>
  );
}
