import { createHash } from 'node:crypto';
import { type JetStreamContext, UnacceptableMessage } from '@ui-rl/bus';
import { environmentSeed, type RolloutRequest, samplingSeed, Task } from '@ui-rl/contracts';
import { PluginError, readTask } from '@ui-rl/plugin-kit';
import type { LoaderPlan } from './plan';

/**
 * A task as somebody has published it, with the names that task files may use.
 *
 * @throws UnacceptableMessage that says what is wrong with it
 */
export function readPublished(written: object): Task {
  try {
    return readTask(written, 'a published task');
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    throw new UnacceptableMessage(error.message.replace(/^tasks: /, ''));
  }
}

/**
 * A task somebody published, with all an actor needs: a task with an environment is taken as it is; else a source that
 * knows the description completes it, in the words of the source; else it is played where the first training task is, and
 * success stays unknown unless it brings checks.
 *
 * @throws UnacceptableMessage where the description holds nothing to read
 */
export function completeTask(task: Task, plan: LoaderPlan): Task {
  const description = task.description.trim();
  if (description === '') throw new UnacceptableMessage('description: holds nothing but white space');
  if (task.environment !== undefined) return task;
  for (const source of plan.sources) {
    const resolved = source.resolve?.(description) ?? null;
    if (resolved !== null) return merge(resolved, task, { description: resolved.description });
  }
  // Where the training tasks name none, actors play it in that of the run, as they play those.
  return merge(task, { environment: plan.environment });
}

/** One episode of a published task, of no group and no evaluation. The same message gives the same rollout. */
export function publishedRollout(task: Task, plan: LoaderPlan, context: JetStreamContext): RolloutRequest {
  const name = messageName(context);
  const groupId = `${plan.runId}-t${name}`;
  return {
    rolloutId: `${groupId}-r0`,
    runId: plan.runId,
    groupId,
    groupIndex: context.streamSequence,
    indexInGroup: 0,
    groupSize: 1,
    attempt: 0,
    purpose: 'eval',
    task: merge({ id: `task-${name}`, source: 'published' }, completeTask(task, plan)),
    seed: environmentSeed('published', plan.seed, name),
    samplingSeed: samplingSeed(plan.seed, 'published', name),
    policy: 'latest',
  };
}

/** By its id where it has one, since that stays the same when a message is published again; else by its place. */
function messageName({ messageId, streamSequence }: JetStreamContext): string {
  if (messageId === undefined) return String(streamSequence).padStart(6, '0');
  return createHash('sha256').update(messageId).digest('hex').slice(0, 12);
}

/** The last defined value of each field. */
function merge(...parts: Partial<Task>[]): Task {
  const fields = parts.flatMap((part) => Object.entries(part).filter(([, value]) => value !== undefined));
  return Object.assign(new Task(), Object.fromEntries(fields));
}
