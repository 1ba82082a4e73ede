import { isRecord, show, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { settingsError } from './errors';
import type { Flag } from './flags';
import type { GivenOptions } from './given-options';
import { join, type OptionIndex } from './option-index';
import { UNSUPPORTED } from './unsupported';

/** Group of UI-RL's configurations that holds what is played, and how long. */
const ACTOR = 'actor';
const PROMPT = 'task_prompt';
const PLACES = [PROMPT, join(ACTOR, PROMPT)];

/** The goal in words that a run file or a flag gives in place of task sources. */
export interface TaskPrompt {
  text: string;
  origin: string;
}

/**
 * Takes `task_prompt` out of what was written, and out of the flags, which win over it.
 *
 * @throws SettingsError where it is no text, or is given beside `tasks`
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
 * Makes a task of a goal in words: in the words of a source that knows it, where the run file names no other environment than that one's;
 * else as it stands, to be played in the environment that is named.
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

/** Refuses what is left of the group, by name: its other options are understood where they stand. */
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
