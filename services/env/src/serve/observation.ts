import { actionSchema, type JsonSchema } from '@ui-rl/plugin-kit';
import type { ServedEpisode } from './episode';

/** OpenEnv's observation, with the reward of the step. */
export interface Observed {
  observation: Record<string, unknown>;
  reward: number;
  done: boolean;
}

/** The client's view. */
export function observe(episode: ServedEpisode): Observed {
  const { screenshot, outcome, goal, task, verdict, id } = episode;
  return {
    observation: {
      screenshot: Buffer.from(screenshot.png).toString('base64'),
      width: screenshot.width,
      height: screenshot.height,
      text: screenshot.text,
      goal,
      task_id: task.id,
      episode_id: id,
      outcome,
      status: verdict?.status ?? 'running',
      success: verdict?.success ?? null,
    },
    reward: verdict?.reward ?? 0,
    done: verdict !== undefined,
  };
}

/** OpenEnv's state. */
export async function stateOf(episode: ServedEpisode | undefined): Promise<Record<string, unknown>> {
  if (episode === undefined) return { episode_id: null, step_count: 0 };
  const { id, steps, task, verdict } = episode;
  return {
    episode_id: id,
    step_count: steps,
    task_id: task.id,
    status: verdict?.status ?? 'running',
    success: verdict?.success ?? null,
    reward: verdict?.reward ?? 0,
    rewards: verdict?.rewards ?? {},
    environment: await episode.state(),
  };
}

const nullable = (type: string): JsonSchema => ({ anyOf: [{ type }, { type: 'null' }] });
const STATUS: JsonSchema = { type: 'string', enum: ['running', 'completed', 'truncated'] };

/** JSON Schemas of requests and responses. */
export const SCHEMAS = {
  action: withMetadata(actionSchema()),
  observation: {
    title: 'Observation',
    type: 'object',
    properties: {
      screenshot: { type: 'string', contentEncoding: 'base64', contentMediaType: 'image/png' },
      width: { type: 'integer' },
      height: { type: 'integer' },
      text: { type: 'string', description: 'the screen as text, where the environment tells it' },
      goal: { type: 'string', description: 'what is to be done' },
      task_id: { type: 'string' },
      episode_id: { type: 'string' },
      outcome: { type: 'string', description: 'ok, or what was wrong with the last action' },
      status: STATUS,
      success: { ...nullable('boolean'), description: 'what the verifier says, at the end' },
    },
    required: [
      'screenshot',
      'width',
      'height',
      'goal',
      'task_id',
      'episode_id',
      'outcome',
      'status',
      'success',
    ],
  },
  state: {
    title: 'State',
    type: 'object',
    properties: {
      episode_id: nullable('string'),
      step_count: { type: 'integer', minimum: 0 },
      task_id: { type: 'string' },
      status: STATUS,
      success: nullable('boolean'),
      reward: { type: 'number' },
      rewards: { type: 'object', additionalProperties: { type: 'number' } },
      environment: { ...nullable('object'), description: 'what the environment tells of itself' },
    },
    required: ['episode_id', 'step_count'],
  },
} satisfies Record<string, JsonSchema>;

/** Every action of OpenEnv may have metadata, which is ignored here. */
function withMetadata(schema: JsonSchema): JsonSchema {
  return { ...schema, properties: { ...(schema.properties as object), metadata: { type: 'object' } } };
}
