import type { Task } from '@ui-rl/contracts';
import { PluginError } from '../errors';
import { isRecord } from '../show';
import { hash53, HashIndex } from './hash';
import type { TaskList } from './task-list';

/** So many are named. */
const MOST_NAMED = 5;

/**
 * What a task asks for, and where: two tasks with the same key are the same goal, whatever their ids, starts and checks. What else the
 * environment is given makes another goal of the same words: another sheet, another game of the server. Undefined where the environment itself
 * says the goal, which then differs from seed to seed.
 */
export function goalKey({ description, goalFrom, environment }: Task): string | undefined {
  if (goalFrom !== undefined) return undefined;
  const { kind = '', options = {} } = environment ?? {};
  const { page, application, url = '', path = '' } = options;
  return `${kind}\n${String(page ?? application ?? url)}\n${String(path)}\n${wordsOf(description)}${givenTo(options)}`;
}

/** What of an environment's options says what is played; where it begins (`start`) is left out. */
function givenTo({ reset, session_type: session }: Readonly<Record<string, unknown>>): string {
  const { start: _start, ...given } = isRecord(reset) ? reset : {};
  const isNothing = session === undefined && Object.keys(given).length === 0;
  return isNothing ? '' : `\n${JSON.stringify({ given, session }, inOrder)}`;
}

/** Keys in order: objects that say the same are written the same. */
function inOrder(_key: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A sentence in lower case, with single spaces and without its end; looked at only as far as needed, since there may be a million. */
function wordsOf(sentence: string): string {
  const lower = (/^[\x20-\x7e]*$/.test(sentence) ? sentence : sentence.normalize('NFKC'))
    .toLowerCase()
    .trim();
  const single = /\s\s|[^\S ]/.test(lower) ? lower.replaceAll(/\s+/g, ' ') : lower;
  return /[.!]$/.test(single) ? single.replace(/(?<![ .!])[ .!]+$/, '') : single;
}

/** NaN where a task has no goal of its own. */
export function goalHash(task: Task): number {
  const key = goalKey(task);
  return key === undefined ? Number.NaN : hash53(key);
}

/**
 * Refuses goals that are in training and in evaluation: what is scored there would say nothing of new goals.
 *
 * @throws PluginError `option` that names them
 */
export async function refuseSharedGoals(training: TaskList, evaluation: TaskList): Promise<void> {
  const evaluated = new HashIndex();
  for (let place = 0; place < evaluation.length; place++) {
    const hash = evaluation.goalHash(place);
    if (!Number.isNaN(hash)) evaluated.add(hash, place);
  }
  const shared: string[] = [];
  let count = 0;
  for (let place = 0; place < training.length; place++) {
    const hash = training.goalHash(place);
    if (Number.isNaN(hash)) continue;
    for (const other of evaluated.placesOf(hash)) {
      count += 1;
      if (shared.length === MOST_NAMED) continue;
      const [trained, scored] = [await training.at(place), await evaluation.at(other)];
      if (goalKey(trained) !== goalKey(scored)) count -= 1;
      else
        shared.push(
          `"${trained.description}" (${trained.id}${scored.id === trained.id ? '' : ` and ${scored.id}`})`,
        );
    }
  }
  if (count === 0) return;
  const more = count > shared.length ? ` and ${count - shared.length} more` : '';
  throw new PluginError(
    'option',
    `eval_tasks: ${count === 1 ? 'a goal is' : `${count} goals are`} in tasks, too: ${shared.join(', ')}${more}. Leave them out of one of both, or take ` +
      'part: train and part: eval of the source; training goals with starts of their own are evaluated anyway (evaluation.sets: train_goals)',
  );
}
