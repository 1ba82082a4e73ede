import { isRecord, show, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { settingsError } from './errors';
import type { Flag } from './flags';
import type { GivenOptions } from './given-options';
import { join, type OptionIndex } from './option-index';
import { UNSUPPORTED } from './unsupported';

/** Group of UI-RL's configurations with the tasks and the length of episodes. */
const ACTOR = 'actor';
const PROMPT = 'task_prompt';
const PLACES = [PROMPT, join(ACTOR, PROMPT)];

/** The goal in words that a run file or a flag gives instead of task sources. */
export interface TaskPrompt {
  text: string;
  origin: string;
}

/**
 * Extracts `task_prompt` from the run file, or from the flags, which take precedence.
 *
 * @throws SettingsError if it is not a text, or is given together with `tasks`
 */
export function takeTaskPrompt(
  given: GivenOptions,
  flags: readonly Flag[],
): { prompt: TaskPrompt | undefined; flags: Flag[] } {
  const isPrompt = ({ name }: Flag) => PLACES.includes(name);
  const rest = flags.filter((flag) => !isPrompt(flag));
  const byFlag = flags.filter(isPrompt).map(({ written, text }) => ({ value: text, origin: written }));
  const byFile = PLACES.flatMap((place) => {
    const value = given.take(place);
    return value === undefined ? [] : [{ value, origin: `${given.where(place)} (${place})` }];
  });
  const hasTasks = (given.get('tasks') ?? null) !== null;
  const hasTasksFlag = rest.some(({ name }) => name === 'tasks');
  refuseTwo(byFlag, hasTasksFlag, '--tasks');
  refuseTwo(byFile, hasTasks, 'tasks');
  const found = byFlag[0] ?? (hasTasksFlag ? undefined : byFile[0]);
  if (found === undefined) return { prompt: undefined, flags: rest };
  const { value, origin } = found;
  if (typeof value !== 'string' || value.trim() === '')
    throw settingsError('type', `${origin}: ${PROMPT} is ${show(value)}, expected a text: the goal in words`);
  return { prompt: { text: value.trim(), origin }, flags: rest };
}

/**
 * Converts a goal in words to a task: to that of a source that knows it, unless the run file names another
 * environment; else to a task in the environment of the run file.
 */
export function setTaskPrompt(
  given: GivenOptions,
  prompt: TaskPrompt | undefined,
  components: ComponentRegistry,
): void {
  if (prompt === undefined) return;
  const { text, origin } = prompt;
  const chosen = given.get('environment.kind') ?? undefined;
  const kind = isRecord(chosen) ? chosen.name : chosen;
  const known = components.resolveTask(text);
  const isNamed = kind !== undefined && known?.environment?.kind !== kind;
  given.set(
    'tasks',
    { source_type: 'custom', custom_tasks: [isNamed ? { description: text } : text] },
    origin,
  );
}

/** Rejects the remaining options of the group by name: the others are accepted in their own places. */
export function refuseActorGroup(given: GivenOptions, index: OptionIndex): void {
  const group = given.get(ACTOR);
  if (!isRecord(group) || index.at(ACTOR) !== undefined) return;
  const [name] = Object.keys(group);
  const full = join(ACTOR, name);
  const hint = UNSUPPORTED[name];
  if (hint !== undefined)
    throw settingsError('unsupported', `${given.where(full)}: option "${full}": ${hint}`);
  const paths = [...new Set(index.named(name).map(({ path }) => path))];
  const meant = paths.length === 0 ? 'See --help for all' : `Write ${paths.join(' or ')}`;
  throw settingsError(
    'unknown',
    `${given.where(full)}: unknown option "${full}": of group actor, task_prompt, session_type, max_steps_per_episode and num_actors are understood. ${meant}`,
  );
}

function refuseTwo(prompts: readonly { origin: string }[], hasTasks: boolean, tasks: string): void {
  if (prompts.length === 0) return;
  if (prompts.length > 1)
    throw settingsError('conflict', `${PROMPT} is given twice, at last by ${prompts.at(-1)!.origin}`);
  if (hasTasks)
    throw settingsError(
      'conflict',
      `${prompts[0].origin}: ${PROMPT} and ${tasks} both say what is trained on: leave one of them out`,
    );
}
