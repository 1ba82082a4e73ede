import { choiceKey, isRecord, type ComponentRegistry } from '@ui-rl/plugin-kit';
import type { GivenOptions } from './given-options';

/** The goal in words that a run file or a flag gives instead of task sources. */
export class TaskPrompt {
  constructor(readonly text: string) {}
}

/**
 * Converts a goal in words to a task: to that of a source that knows it, unless the run file names another
 * environment; else to a task in the environment of the run file.
 */
export function setTaskPrompt(given: GivenOptions, components: ComponentRegistry): void {
  const prompt = given.get('tasks');
  if (!(prompt instanceof TaskPrompt)) return;
  const { text } = prompt;
  const chosen = given.get('environment.kind') ?? undefined;
  const kind = isRecord(chosen) ? chosen[choiceKey('environment')] : chosen;
  const isElsewhere = kind !== undefined && components.resolveTask(text)?.environment?.kind !== kind;
  const task = isElsewhere ? { description: text } : text;
  given.set('tasks', { source_type: 'custom', custom_tasks: [task] }, given.where('tasks'));
}
