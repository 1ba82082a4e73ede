import type { Task } from '@ui-rl/contracts';
import { PluginError } from '../errors';
import { judgesWithoutVerifier } from '../judges';
import type { ComponentChoice, Log } from '../kinds';
import type { ComponentRegistry } from '../registry';
import type { TaskList } from './task-list';

/** The judges in a run file. */
export interface Judges {
  verifier: ComponentChoice;
  rewards: readonly ComponentChoice[];
}

/**
 * The judge of a task's episodes: the verifier decides success, or rewards alone score them; null if there is none.
 */
export type JudgedBy = 'verifier' | 'rewards' | null;

/** Whether the verifier of a run can judge a task. Throws a `PluginError` `unknown` for an unknown name. */
export function judgedByVerifier(
  { name }: ComponentChoice,
  registry: ComponentRegistry,
): (task: Task) => boolean {
  const component = registry.get('verifier', name);
  return (task) => component.judges?.(task) ?? true;
}

/** The judge of a run's task. */
export function judgedBy(
  { verifier, rewards }: Judges,
  registry: ComponentRegistry,
): (task: Task) => JudgedBy {
  const isVerified = judgedByVerifier(verifier, registry);
  const otherwise = judgesWithoutVerifier(rewards, registry) ? 'rewards' : null;
  return (task) => (isVerified(task) ? 'verifier' : otherwise);
}

/**
 * Tasks that the run's verifier cannot judge need a reward that judges: otherwise every episode of theirs would count
 * as a failure. Warns if there are such tasks.
 *
 * @param tasks opened for that verifier
 * @throws PluginError `option` if nothing in the run can judge them
 */
export function refuseUnjudged(
  { unjudged: { count, ids }, length }: Pick<TaskList, 'unjudged' | 'length'>,
  { verifier, rewards }: Judges,
  registry: ComponentRegistry,
  log: Log = () => {},
): void {
  if (count === 0) return;
  const named = `${ids.map((id) => `"${id}"`).join(', ')}${count > ids.length ? ' …' : ''}`;
  const found = `${count} of ${length} tasks ${missingFor(verifier)}: ${named}`;
  if (judgesWithoutVerifier(rewards, registry)) {
    log('info', `${found}; the rewards of the run judge them`);
    return;
  }
  throw new PluginError('option', `tasks: ${found}. ${howToJudge(registry)}`);
}

function howToJudge(registry: ComponentRegistry): string {
  const judging = registry
    .all('reward')
    .filter(({ component }) => component.judgesWithoutVerifier === true)
    .map(({ component }) => component.name);
  const judge = judging.includes('judge')
    ? `add a model that looks at the screenshots and judges, --rewards '${JUDGE}', or `
    : '';
  const others = judging.filter((name) => name !== 'judge').join(', ') || 'none is loaded';
  return `Option rewards adds a judge: ${judge}a reward that judges by itself (${others}; one of yours says judgesWithoutVerifier: true). Or give the tasks checks`;
}

/** As typed on the command line, with placeholders for the endpoint. */
const JUDGE = '[{"name":"judge","base_url":"https://HOST/v1","model":"MODEL"}]';

function missingFor({ name }: ComponentChoice): string {
  return name === 'checks'
    ? 'have no checks that say whether they succeed'
    : `have nothing that the verifier "${name}" could judge`;
}

/** Warns about tasks that end before their requested number of turns. */
export function warnOfCutTasks(
  { cut: { count, ids, longest }, length }: Pick<TaskList, 'cut' | 'length'>,
  maxTurns: number,
  warn: (message: string) => void,
): void {
  if (count === 0) return;
  const named = `${ids.map((id) => `"${id}"`).join(', ')}${count > ids.length ? ' …' : ''}`;
  warn(
    `${count} of ${length} tasks ask for more turns (max_steps, up to ${longest}) than rollout.max_turns, ${maxTurns}, and end there: ${named}. ` +
      `rollout.max_turns: ${longest} plays them whole`,
  );
}
