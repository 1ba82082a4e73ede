import { printable } from '@ui-rl/contracts';
import { clock } from '../report/progress';
import { percent, percentWithInterval } from '../report/intervals';
import type { CandidateResult, CandidateScore, EvalReport } from './report';

const NAME_WIDTH = 44;
const GAP = '  ';

/**
 * The results of all candidates side by side, as text.
 * @param byTag a row for each tag of the tasks instead of a row for each task
 */
export function evaluationTable(
  { checkpoints, comparisons, seed, temperature }: EvalReport,
  byTag = false,
): string {
  if (checkpoints.length === 0) return 'nothing was played';
  const widths = checkpoints.map(({ label }) => Math.max(24, label.length));
  const row = (name: string, cells: readonly string[]) =>
    `${name.slice(0, NAME_WIDTH).padEnd(NAME_WIDTH)}${cells.map((cell, place) => GAP + cell.padEnd(widths[place])).join('')}`.trimEnd();
  const each = (name: string, cell: (result: CandidateResult) => string) => row(name, checkpoints.map(cell));
  const lines = [
    row(
      `success at temperature ${temperature}, seed ${seed}`,
      checkpoints.map(({ label }) => label),
    ),
  ];
  const rows = byTag ? tagRows(checkpoints) : taskRows(checkpoints);
  for (const { name, results } of rows) lines.push(row(`  ${printable(name)}`, results.map(taskCell)));
  lines.push(each(`all (${percent(0.95)} interval)`, scoreCell));
  if (checkpoints.some(({ unjudged }) => unjudged > 0)) lines.push(each('mean reward', rewardCell));
  const ks = new Set(checkpoints.flatMap(({ pass_at_k: known }) => Object.keys(known)));
  for (const k of ks) {
    if (k === '1') continue;
    lines.push(
      each(`pass@${k}`, ({ pass_at_k: known }) =>
        known[k] === undefined ? '–' : percent(known[k]).padStart(5),
      ),
    );
  }
  const difference = (label: string) => comparisons.find((comparison) => comparison.label === label);
  if (comparisons.length > 0) {
    lines.push(
      each(`difference to ${comparisons[0].to}, in pairs`, ({ label }) => {
        const found = difference(label);
        return found === undefined ? '' : differenceCell(found.difference, found.ci);
      }),
      each('  only it succeeds / only the other', ({ label }) => {
        const found = difference(label);
        return found === undefined ? '' : `${found.better} / ${found.worse} of ${found.pairs}`;
      }),
    );
  }
  if (checkpoints.some(({ refused_parameters: names }) => names.length > 0))
    lines.push(each('sampled without', ({ refused_parameters: names }) => names.join(', ') || '–'));
  lines.push(
    each('turns per episode', ({ mean_turns: mean }) => (mean === null ? '–' : mean.toFixed(1))),
    each('invalid episodes', ({ invalid }) => String(invalid)),
    each('wall time', ({ wall_seconds: seconds }) => clock(seconds)),
  );
  return lines.join('\n');
}

interface Row {
  name: string;
  /** Of each candidate. */
  results: readonly Cell[];
}
type Cell = Omit<CandidateScore, 'pass_at_k'>;

function taskRows(checkpoints: readonly CandidateResult[]): Row[] {
  return checkpoints[0].tasks.map(({ description }, place) => ({
    name: description,
    results: checkpoints.map(({ tasks }) => tasks[place]),
  }));
}

function tagRows(checkpoints: readonly CandidateResult[]): Row[] {
  return checkpoints[0].tags.map(({ tag, tasks: count }, place) => ({
    name: `${tag} (${count} ${count === 1 ? 'task' : 'tasks'})`,
    results: checkpoints.map(({ tags }) => tags[place]),
  }));
}

/** A task with rewards only shows its mean reward. */
function taskCell(result: Cell): string {
  return result.score === null && result.unjudged > 0 ? `reward ${rewardCell(result)}` : scoreCell(result);
}

function rewardCell({ mean_reward: reward, score, unjudged }: Cell): string {
  return reward === null ? '–' : `${reward.toFixed(3)}  of ${(score?.n ?? 0) + unjudged}`;
}

function scoreCell({ score, successes }: Cell): string {
  if (score === null) return '–';
  return `${percentWithInterval(score.success_rate, score.ci)}  ${successes}/${score.n}`;
}

/** In percentage points. */
function differenceCell(difference: number, [low, high]: readonly [number, number]): string {
  return `${signed(difference).padStart(3)} points  [${signed(low)} to ${signed(high)}]`;
}

function signed(share: number): string {
  const points = Math.round(100 * share);
  return points > 0 ? `+${points}` : points < 0 ? `−${-points}` : '0';
}
