import type { RunDetail, TaskScoreView } from '@ui-rl/records';
import { useApi } from './api';
import { EvaluationComparisons } from './evaluation-comparison';
import { goalSet, percent, plural, points } from './format';
import { taskScoresPath } from './reads';
import { links } from './route';
import { GOAL_SETS, isEvaluation } from './run-kind';
import { beforeAfter, betterThanLast, RateBar } from './runs-view';
import { Card, Empty, Problem } from './ui';

export function EvaluationTable({ run, version }: { run: RunDetail; version: number }) {
  const { data: scores, error } = useApi<TaskScoreView[]>(taskScoresPath(run.id), version);
  // An evaluation of checkpoints has one set each, without a before and after.
  if (isEvaluation(run)) return <EvaluationComparisons run={run.id} version={version} />;
  return (
    <>
      <Problem error={error} />
      <div className="evaluations">
        {GOAL_SETS.map((set) => (
          <SetScores
            key={set}
            set={set}
            run={run}
            scores={(scores ?? []).filter((score) => score.set === set)}
          />
        ))}
      </div>
    </>
  );
}

function SetScores({ set, run, scores }: { set: string; run: RunDetail; scores: TaskScoreView[] }) {
  const { before, after } = beforeAfter(run.evaluations, set);
  const better = betterThanLast(run.evaluations, set);
  const warmStart = run.evaluations.find((each) => each.set === set && each.stage === 'warm_start');
  const { length } = run.evaluations.filter((evaluation) => evaluation.set === set);
  return (
    <Card
      title={goalSet(set)}
      aside={length > 1 && <a href={links.run(run.id, 'evaluations')}>All {length} side by side</a>}
    >
      {before === null && after === null ? (
        <Empty>Not evaluated yet.</Empty>
      ) : (
        <div className="rates">
          <RateBar label="Before training" evaluation={before} />
          {warmStart !== undefined && <RateBar label="After warm start" evaluation={warmStart} />}
          <RateBar label={after?.stage === 'final' ? 'After training' : 'Latest'} evaluation={after} />
          {better !== null && (
            <RateBar label={`Best: after step ${better.policyVersion}`} evaluation={better} />
          )}
        </div>
      )}
      {scores.length > 0 && (
        <div className="scroll tall" tabIndex={0} role="group" aria-label={`Tasks of ${goalSet(set)}`}>
          <table className="rows">
            <thead>
              <tr>
                <th>Task</th>
                <th className="num">Before</th>
                <th className="num">After</th>
                <th
                  className="num"
                  title="percentage points; ▲ and ▼ differ beyond chance (Fisher’s exact test, p < 0.05)"
                >
                  Points
                </th>
              </tr>
            </thead>
            <tbody>
              {scores.map((score) => (
                <TaskRow key={score.taskId} score={score} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function TaskRow({ score: { taskId, description, before, after, change } }: { score: TaskScoreView }) {
  return (
    <tr>
      <td title={taskId}>
        {description}
        <small className="muted">{taskId}</small>
      </td>
      <Score score={before} />
      <Score score={after} />
      <Change change={change} />
    </tr>
  );
}

/** Coloured only if it is significant: few episodes differ by chance. */
function Change({ change }: { change: TaskScoreView['change'] }) {
  if (change === null) return <td className="num muted">–</td>;
  const { value, interval, isSignificant } = change;
  const [low, high] = interval;
  const tone = !isSignificant ? 'muted' : value > 0 ? 'up' : 'down';
  const title = `95 %: ${points(low)} to ${points(high)} points${tone === 'muted' ? ', within chance' : ''}`;
  return (
    <td className={`num ${tone}`} title={title}>
      {tone === 'up' && '▲ '}
      {tone === 'down' && '▼ '}
      {points(value)}
    </td>
  );
}

type Counted = TaskScoreView['before'];

function rate(score: Counted): number | null {
  return score === null || score.episodes === 0 ? null : score.successes / score.episodes;
}

function Score({ score }: { score: Counted }) {
  if (score === null) return <td className="num muted">–</td>;
  return (
    <td className="num" title={`${score.successes} of ${plural(score.episodes, 'episode')}`}>
      {percent(rate(score))}
      <meter min={0} max={1} value={rate(score) ?? 0} aria-label="Success rate" />
    </td>
  );
}
