import type { JsonSchema } from '@ui-rl/plugin-kit';
import { SCHEMAS } from './observation';

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: JsonSchema) => ({ content: { 'application/json': { schema } } });
const answers = (schema: JsonSchema) => ({ responses: { 200: { description: 'OK', ...json(schema) } } });
const asked = (schema: JsonSchema) => ({ requestBody: { required: true, ...json(schema) } });
const inQuery = (name: string, schema: JsonSchema = { type: 'string' }) => ({ name, in: 'query', schema });
const object: JsonSchema = { type: 'object' };

const OBSERVED: JsonSchema = {
  type: 'object',
  properties: { observation: ref('Observation'), reward: { type: 'number' }, done: { type: 'boolean' } },
  required: ['observation', 'reward', 'done'],
};
const WISH: JsonSchema = {
  type: 'object',
  properties: {
    seed: { type: 'integer', minimum: 0 },
    task_id: { type: 'string' },
    episode_id: { type: 'string', maxLength: 255 },
  },
};
const STEP: JsonSchema = {
  type: 'object',
  properties: { action: ref('Action'), episode_id: { type: 'string' } },
  required: ['action'],
};

const SIMULATION = {
  '/reset': { post: { summary: 'begins an episode', ...asked(WISH), ...answers(OBSERVED) } },
  '/step': { post: { summary: 'carries an action out', ...asked(STEP), ...answers(OBSERVED) } },
  '/state': {
    get: { summary: 'what the episode is at', parameters: [inQuery('episode_id')], ...answers(ref('State')) },
  },
};

const ALWAYS = {
  '/health': { get: { summary: 'whether it answers', ...answers(object) } },
  '/metadata': { get: { summary: 'what is served', ...answers(object) } },
  '/schema': { get: { summary: 'actions, observations, states', ...answers(object) } },
  '/mcp': { post: { summary: 'JSON-RPC: tools', ...asked(object), ...answers(object) } },
};

const SPLIT: JsonSchema = { type: 'object', properties: { split: { type: 'string' } }, required: ['split'] };
const whole: JsonSchema = { type: 'integer' };
const withFields = (properties: JsonSchema): JsonSchema => ({
  ...SPLIT,
  properties: { ...(SPLIT.properties as object), ...properties },
});
const environment = { name: 'environment', in: 'path', required: true, schema: { type: 'string' } };
const ofTasks = (summary: string, schema: JsonSchema) => ({
  parameters: [environment],
  post: { summary, ...asked(schema), ...answers(object) },
});

const TASKS = {
  '/list_environments': { get: { summary: 'names of environments', ...answers({ type: 'array' }) } },
  '/{environment}/splits': {
    parameters: [environment],
    get: { summary: 'splits of the tasks', ...answers({ type: 'array' }) },
  },
  '/{environment}/tasks': ofTasks('all tasks of a split', SPLIT),
  '/{environment}/num_tasks': ofTasks('the number of tasks of a split', SPLIT),
  '/{environment}/task': ofTasks('one task', withFields({ index: whole })),
  '/{environment}/task_range': ofTasks('tasks from start to stop', withFields({ start: whole, stop: whole })),
};

const png = { responses: { 200: { description: 'the screen', content: { 'image/png': {} } } } };
const text = { responses: { 200: { description: 'OK', content: { 'text/plain': {} } } } };
const ACT = {
  parameters: [
    ...['action_type', 'text', 'keys', 'direction'].map((name) => inQuery(name)),
    ...['x', 'y'].map((name) => inQuery(name, { type: 'integer' })),
    inQuery('delay', { type: 'number', default: 1 }),
  ],
  ...png,
};

function uiVerifiersBelow(path: string, parameters: object[]) {
  const shared = parameters.length === 0 ? {} : { parameters };
  return {
    [path === '' ? '/' : path]: {
      ...shared,
      get: { summary: 'whether it is there', ...text },
      delete: { summary: 'ends the session', ...answers(object) },
    },
    [`${path}/act`]: { ...shared, get: { summary: 'carries an action out', ...ACT } },
    [`${path}/progress`]: { ...shared, get: { summary: 'what was submitted', ...answers(object) } },
  };
}

/** The OpenAPI description of this API. */
export function openApi(hasSimulation: boolean): object {
  const session = { name: 'session', in: 'path', required: true, schema: { type: 'string' } };
  return {
    openapi: '3.1.0',
    info: { title: 'ui-rl environments', version: '1.0.0' },
    paths: {
      ...(hasSimulation ? SIMULATION : {}),
      ...ALWAYS,
      ...TASKS,
      ...uiVerifiersBelow('', []),
      ...uiVerifiersBelow('/proxy/{session}', [session]),
    },
    components: {
      schemas: { Action: SCHEMAS.action, Observation: SCHEMAS.observation, State: SCHEMAS.state },
    },
  };
}
