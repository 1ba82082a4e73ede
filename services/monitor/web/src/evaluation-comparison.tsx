import type { ComparedEvaluation, ComparedScore, EvaluationComparison, RateDifference } from '@ui-rl/records';
import { useApi } from './api';
import { count, day, goalSet, percent, plural, points } from './format';
import { links, type PlayedFor, useParam } from './route';
import { RateScale } from './runs-view';
import { Card, Empty, Problem } from './ui';
import { runPath } from './reads';

/** All evaluations of a run: each goal set during training, or the checkpoints that were evaluated together. */
export function EvaluationComparisons({ run, version }: { run: string; version: number }) {
  const [to, compareTo] = useParam('to');
  const query = to === '' ? '' : `?to=${encodeURIComponent(to)}`;
  const path = `${runPath(run)}/evaluations${query}`;
  const { data, error } = useApi<EvaluationComparison[]>(path, version);
  return (
    <>
      <Problem error={error} />
      {data?.length === 0 && (
        <Card>
          <Empty>Not evaluated yet.</Empty>
        </Card>
      )}
      {data?.map((comparison) => (
        <Comparison key={comparison.set} run={run} comparison={comparison} compareTo={compareTo} />
      ))}
    </>
  );
}

interface ComparisonProps {
  run: string;
  comparison: EvaluationComparison;
  compareTo: (evaluation: string) => void;
}

function Comparison({ run, comparison, compareTo }: ComparisonProps) {
  const [only, showOnly] = useParam('only');
  const onlyDifferent = only === 'different';
  const { set, to, evaluations, tasks } = comparison;
  const shown = onlyDifferent ? tasks.filter(({ scores }) => scores.some(isApart)) : tasks;
  const reference = evaluations.find(({ evaluationId }) => evaluationId === to);
  return (
    <Card
      title={set === null ? 'Checkpoints' : goalSet(set)}
      aside={
        evaluations.length > 1 && (
          <label className="check">
            <input
              type="checkbox"
              checked={onlyDifferent}
              onChange={(event) => showOnly(event.currentTarget.checked ? 'different' : '')}
            />
            Only tasks that differ
          </label>
        )
      }
    >
      <div className="scroll tall">
        <table className="rows compared">
          <thead>
            <tr>
              <th>Task</th>
              {evaluations.map((evaluation) => (
                <Head
                  key={evaluation.evaluationId}
                  evaluation={evaluation}
                  isReference={evaluation.evaluationId === to}
                  compareTo={evaluations.length > 1 ? compareTo : undefined}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            <tr className="all">
              <td>{tasks.length === 1 ? 'All episodes' : `All ${count(tasks.length)} tasks`}</td>
              {evaluations.map((evaluation) => (
                <Score
                  key={evaluation.evaluationId}
                  run={run}
                  playedFor={{ evaluation: evaluation.evaluationId }}
                  score={scoreOf(evaluation)}
                  invalid={evaluation.invalid}
                  meanReward={evaluation.meanReward}
                />
              ))}
            </tr>
            {shown.map(({ taskId, description, scores }) => (
              <tr key={taskId}>
                <td title={taskId}>
                  {description}
                  {taskId !== description && <small className="muted">{taskId}</small>}
                </td>
                {scores.map((score, place) => (
                  <Score
                    key={evaluations[place].evaluationId}
                    run={run}
                    playedFor={{ evaluation: evaluations[place].evaluationId, taskId }}
                    score={score}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {onlyDifferent && shown.length === 0 && <Empty>No task differs beyond chance.</Empty>}
      {evaluations.length > 1 && reference !== undefined && (
        <p className="note">
          <span className="up">▲</span> <span className="down">▼</span> differ from “{nameOf(reference)}”
          beyond chance, in percentage points (McNemar’s exact test, p &lt; 0.05). Compared are episodes of
          the same task that began in the same way
          {evaluations.every(({ difference }) => difference === null) && ': none are recorded'}. Bars have the
          Wilson interval of the rate, 95 %.
          {tasks.length > 10 && ' Chance alone marks up to one task in 20: trust the row of all tasks.'}
        </p>
      )}
    </Card>
  );
}

function nameOf({ stage, set, policyVersion }: ComparedEvaluation): string {
  if (!['train_goals', 'eval_goals'].includes(set)) return set;
  if (stage === 'baseline') return 'Before training';
  if (stage === 'warm_start') return 'After warm start';
  return stage === 'final' ? 'After training' : `After step ${count(policyVersion)}`;
}

interface HeadProps {
  evaluation: ComparedEvaluation;
  isReference: boolean;
  compareTo: ((evaluation: string) => void) | undefined;
}

function Head({ evaluation, isReference, compareTo }: HeadProps) {
  const { evaluationId, checkpoint, at } = evaluation;
  return (
    <th className="num" title={`${checkpoint}\n${day(at)}`}>
      {nameOf(evaluation)}
      {compareTo !== undefined && (
        <label className="check">
          <input type="radio" checked={isReference} onChange={() => compareTo(evaluationId)} />
          compare with it
        </label>
      )}
    </th>
  );
}

interface ScoreProps {
  run: string;
  playedFor: PlayedFor;
  score: ComparedScore | null;
  invalid?: number;
  meanReward?: number | null;
}

function Score({ run, playedFor, score, invalid = 0, meanReward = null }: ScoreProps) {
  if (score === null) return <td className="num muted">–</td>;
  const { successes, episodes, interval, difference } = score;
  const rate = episodes === 0 ? null : successes / episodes;
  const [low, high] = interval;
  const counted = `${count(successes)} of ${plural(episodes, 'episode')}`;
  const words =
    rate === null
      ? 'no episode says whether it succeeded'
      : `${counted}, 95 %: ${percent(low)} to ${percent(high)}`;
  return (
    <td className="num">
      <a href={links.episodesOf(run, playedFor)} title={`${words}. Show them`}>
        {percent(rate)}
      </a>{' '}
      <Difference difference={difference} />
      {rate !== null && <RateScale rate={rate} interval={interval} label={words} />}
      <small className="muted">
        {meanReward === null
          ? `${percent(low)}–${percent(high)} of ${count(episodes)}`
          : `mean reward ${meanReward.toFixed(3)}`}
        {invalid > 0 && `, ${count(invalid)} invalid`}
      </small>
    </td>
  );
}

function scoreOf({ successRate, episodes, interval, difference }: ComparedEvaluation): ComparedScore {
  return { successes: Math.round((successRate ?? 0) * episodes), episodes, interval, difference };
}

function isApart(score: { difference: RateDifference | null } | null): boolean {
  return score?.difference?.isSignificant === true;
}

function Difference({ difference }: { difference: RateDifference | null }) {
  if (difference === null) return null;
  const { value, interval, pairs } = difference;
  const words = `in ${plural(pairs, 'pair')}, 95 %: ${points(interval[0])} to ${points(interval[1])} points`;
  if (!isApart({ difference })) {
    return (
      <span className="muted" title={words}>
        {points(value)}
      </span>
    );
  }
  return (
    <strong className={value > 0 ? 'up' : 'down'} title={words}>
      {value > 0 ? '▲' : '▼'} {points(value)}
    </strong>
  );
}
