import type { Task } from '@ui-rl/contracts';
import { PluginError } from '../errors';
import { isRecord } from '../show';
import { hash53, HashIndex } from './hash';
import type { TaskList } from './task-list';

/** Number of names in a message. */
const MOST_NAMED = 5;

/**
 * Identifies a goal and its environment: tasks with the same key have the same goal, regardless of ids, starts and
 * checks. Different environment options make the same words another goal: another sheet, another game of the server.
 * Undefined if the environment provides the goal, which then depends on the seed.
 */
export function goalKey({ description, goalFrom, environment }: Task): string | undefined {
  if (goalFrom !== undefined) return undefined;
  const { kind = '', options = {} } = environment ?? {};
  const { page, application, url = '', path = '' } = options;
  return `${kind}\n${String(page ?? application ?? url)}\n${String(path)}\n${wordsOf(description)}${givenTo(options)}`;
}

/** The environment options that determine the content; without the start position (`start`). */
function givenTo({ reset, session_type: session }: Readonly<Record<string, unknown>>): string {
  const { start: _start, ...given } = isRecord(reset) ? reset : {};
  const isNothing = session === undefined && Object.keys(given).length === 0;
  return isNothing ? '' : `\n${JSON.stringify({ given, session }, inOrder)}`;
}

/** Sorts keys, so that equal objects have equal text. */
function inOrder(_key: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * A sentence in lower case, with single spaces and without its final punctuation. Skips needless normalization,
 * because there may be a million sentences.
 */
function wordsOf(sentence: string): string {
  const lower = (/^[\x20-\x7e]*$/.test(sentence) ? sentence : sentence.normalize('NFKC'))
    .toLowerCase()
    .trim();
  const single = /\s\s|[^\S ]/.test(lower) ? lower.replaceAll(/\s+/g, ' ') : lower;
  return /[.!]$/.test(single) ? single.replace(/(?<![ .!])[ .!]+$/, '') : single;
}

/** NaN for a task without its own goal. */
export function goalHash(task: Task): number {
  const key = goalKey(task);
  return key === undefined ? Number.NaN : hash53(key);
}

/**
 * Rejects goals that are in both training and evaluation: their scores would not measure generalization.
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
      'part: train and part: eval of the source; training goals with different starts are evaluated anyway (evaluation.sets: train_goals)',
  );
}
