import { createHash } from 'node:crypto';
import { type JetStreamContext, UnacceptableMessage } from '@ui-rl/bus';
import { environmentSeed, groupOfOne, type RolloutRequest, samplingSeed, Task } from '@ui-rl/contracts';
import { PluginError, readTask } from '@ui-rl/plugin-kit';
import type { LoaderPlan } from './plan';

/**
 * Parses a user's published task, with the field names of task files.
 *
 * @throws UnacceptableMessage that describes the fault
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
 * Completes a published task for an actor: a task with an environment is used as it is; else a source that knows the
 * description completes it, with the source's own description; else it is played in the environment of the first
 * training task, and success is unknown unless it has checks.
 *
 * @throws UnacceptableMessage if the description has no readable text
 */
export function completeTask(task: Task, plan: LoaderPlan): Task {
  const description = task.description.trim();
  if (description === '') throw new UnacceptableMessage('description: holds nothing but white space');
  if (task.environment !== undefined) return task;
  for (const source of plan.sources) {
    const resolved = source.resolve?.(description) ?? null;
    if (resolved !== null) return merge(resolved, task, { description: resolved.description });
  }
  // If the training tasks name none, actors use the run's environment, as for those tasks.
  return merge(task, { environment: plan.environment });
}

/** One episode of a published task, outside of any group and evaluation. The same message gives the same rollout. */
export function publishedRollout(task: Task, plan: LoaderPlan, context: JetStreamContext): RolloutRequest {
  const name = messageName(context);
  return {
    ...groupOfOne(`${plan.runId}-t${name}`, context.streamSequence),
    runId: plan.runId,
    purpose: 'eval',
    task: merge({ id: `task-${name}`, source: 'published' }, completeTask(task, plan)),
    seed: environmentSeed('published', plan.seed, name),
    samplingSeed: samplingSeed(plan.seed, 'published', name),
    policy: 'latest',
  };
}

/** By its id if it has one, which stays the same when a message is published again; else by its position. */
function messageName({ messageId, streamSequence }: JetStreamContext): string {
  if (messageId === undefined) return String(streamSequence).padStart(6, '0');
  return createHash('sha256').update(messageId).digest('hex').slice(0, 12);
}

/** The last defined value of each field. */
function merge(...parts: Partial<Task>[]): Task {
  const fields = parts.flatMap((part) => Object.entries(part).filter(([, value]) => value !== undefined));
  return Object.assign(new Task(), Object.fromEntries(fields));
}
