import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { EVENTS, type RunEvent } from './index';

/** An event of each type, as it is published. */
const events: Record<RunEvent['type'], object> = {
  run_created: { config: { name: 'demo' } },
  phase: { phase: 'training' },
  pause: { paused: true },
  service_ready: { service: 'actor', instance: 'abcd' },
  rollout_started: { rolloutId: 'run-g0-r0', actor: 'actor-abcd' },
  rollout_progress: { actor: 'actor-abcd', rollouts: [] },
  train_step: { step: 3, rolloutIds: ['run-g0-r0'], metrics: { 'optim/loss': 0.5 } },
  trained_tokens: {
    step: 3,
    episodes: [
      {
        ...{ rolloutId: 'run-g0-r0', advantage: -0.5 },
        turns: [{ index: 0, advantages: [-0.5, -0.5], weights: [1, 0], logprobs: [-0.1, -0.2] }],
      },
    ],
  },
  checkpoint: { step: 3, name: 'uirl://run/sampler_weights/000003', path: '/runs/run', adapterDigest: 'aa' },
  evaluation: {
    evaluationId: 'baseline-train_goals',
    stage: 'baseline',
    set: 'train_goals',
    policyVersion: 0,
    checkpoint: 'uirl://run/sampler_weights/000000',
    successRate: 0.5,
    interval: [0.25, 0.75],
    episodes: 4,
    invalid: 0,
    tasks: [{ taskId: 't', description: 'Open Settings', successes: 2, episodes: 4 }],
  },
  warning: { service: 'learner', code: 'kl', message: 'high' },
  dead_letter: { service: 'actor', subject: 'uirl.task.run', key: 'k', reason: 'not JSON' },
};

/** Names of the invalid properties. */
function wrongIn(type: RunEvent['type'], changes: object = {}): string[] {
  const plain = { type, runId: 'run', at: '2026-11-20T10:00:00.000Z', ...events[type], ...changes };
  const event = plainToInstance<object, object>(EVENTS.classes[type], plain);
  return validateSync(event, { forbidUnknownValues: true }).map(({ property }) => property);
}

it.each(Object.keys(events) as RunEvent['type'][])(
  'an event %s passes, and not without a part of it',
  (type) => {
    expect(wrongIn(type)).toEqual([]);
    for (const part of ['runId', 'at', ...Object.keys(events[type])]) {
      expect(wrongIn(type, { [part]: undefined })).toEqual([part]);
    }
  },
);

it.each([
  [
    'run_created',
    { configuration: [{ path: 'training', doc: '', options: [{ path: 1 }] }] },
    'configuration',
  ],
  ['train_step', { step: -1 }, 'step'],
  ['train_step', { step: 2 ** 31 }, 'step'],
  ['train_step', { rolloutIds: [1] }, 'rolloutIds'],
  ['evaluation', { interval: [0.1] }, 'interval'],
  ['evaluation', { stage: 'sometime' }, 'stage'],
  ['evaluation', { tasks: [{ taskId: 't' }] }, 'tasks'],
  ['warning', { runId: 'a run' }, 'runId'],
  ['warning', { at: 'yesterday' }, 'at'],
] as const)('an event %s with %j does not', (type, changes, property) => {
  expect(wrongIn(type, changes)).toEqual([property]);
});
