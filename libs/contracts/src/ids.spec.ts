import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import {
  EnvironmentSpec,
  EnvOpenReply,
  EnvOpenRequest,
  EnvStepRequest,
  EVENTS,
  misplaced,
  PolicyActRequest,
  RolloutRequest,
  Screenshot,
  Trajectory,
  Turn,
} from './index';

/** Texts that would change the meaning of a subject, a key, a header, a path or an address. */
const HOSTILE = [
  '',
  '.',
  '..',
  '../secrets',
  'a b',
  'a\r\nPUB $KV.runs.x.policy 2\r\n{}',
  '>',
  '*',
  'a.>',
  'a.*',
  '/etc/passwd',
  '-rf',
  'a\u0000',
  '<script>',
  'é',
  'x'.repeat(300),
  7,
  null,
  ['a'],
  { a: 1 },
];

type Message = new () => object;

const FIELDS: [Message, string][] = [
  [RolloutRequest, 'runId'],
  [RolloutRequest, 'rolloutId'],
  [RolloutRequest, 'groupId'],
  [EnvOpenRequest, 'runId'],
  [EnvOpenRequest, 'rolloutId'],
  [EnvOpenReply, 'sessionId'],
  [EnvOpenReply, 'instance'],
  [EnvStepRequest, 'stepId'],
  [EnvironmentSpec, 'kind'],
  [PolicyActRequest, 'runId'],
  [PolicyActRequest, 'requestId'],
  [Screenshot, 'sha256'],
  [Turn, 'screenshot'],
  [Trajectory, 'actor'],
  [EVENTS.classes.service_ready, 'instance'],
  [EVENTS.classes.service_ready, 'runId'],
  [EVENTS.classes.rollout_started, 'rolloutId'],
  [EVENTS.classes.evaluation, 'evaluationId'],
];

const GOOD: Readonly<Record<string, string[]>> = {
  runId: ['quickstart-20261122-101500', 'a_b'],
  rolloutId: ['run-20261122-101500-g000012-r3-a1', 'run-t0123456789ab-r0'],
  groupId: ['run-final-000080-train_goals-0003'],
  sessionId: ['5f0c-1'],
  instance: ['0a1b2c3d'],
  stepId: ['run-g0-r0/0.12', 'run-g0-r0~1.2/0.0'],
  kind: ['browser', 'http-world'],
  requestId: ['run-g0-r0/12', 'run-g0-r0~1.1/0'],
  sha256: ['0123456789abcdef'.repeat(4)],
  screenshot: ['f'.repeat(64)],
  actor: ['actor-0a1b2c3d'],
  evaluationId: ['run-baseline-train_goals'],
};

function wrongIn(type: Message, field: string, value: unknown): ValidationError | undefined {
  const message = plainToInstance<object, object>(type, { [field]: value });
  return validateSync(message, { forbidUnknownValues: true }).find(({ property }) => property === field);
}

it.each(FIELDS)('%p: %s is an id', (type, field) => {
  for (const value of GOOD[field]) expect([value, wrongIn(type, field, value)]).toEqual([value, undefined]);
  for (const value of HOSTILE) expect([value, wrongIn(type, field, value)?.property]).toEqual([value, field]);
});

it('lists of hashes hold nothing else', () => {
  expect(wrongIn(Turn, 'promptImages', [])).toBeUndefined();
  expect(wrongIn(Turn, 'promptImages', ['f'.repeat(64)])).toBeUndefined();
  for (const value of [['..'], ['f'.repeat(64), 'x'], 'f'.repeat(64)])
    expect(wrongIn(Turn, 'promptImages', value)).toBeDefined();
});

describe('a message and its subject', () => {
  const rollout = { runId: 'run', purpose: 'train' };

  it.each([
    ['uirl.rollout.run.train', rollout],
    ['uirl.trajectory.run.train', { request: rollout }],
    ['uirl.event.run.warning', { runId: 'run', type: 'warning' }],
    ['uirl.task.run', { description: 'press OK' }],
    ['test.anything', { runId: 'other' }],
  ])('agree: %s', (subject, message) => {
    expect(misplaced(subject, message)).toBeNull();
  });

  it.each([
    ['uirl.rollout.other.train', rollout, 'runId: is "run", but it came on uirl.rollout.other.train'],
    ['uirl.rollout.run.eval', rollout, /^purpose: is "train"/],
    ['uirl.trajectory.other.train', { request: rollout }, /^request\.runId: is "run"/],
    ['uirl.trajectory.run.eval', { request: rollout }, /^request\.purpose: is "train"/],
    ['uirl.event.other.warning', { runId: 'run', type: 'warning' }, /^runId/],
    ['uirl.event.run.warning', { runId: 'run', type: 'train_step' }, /^type: is "train_step"/],
    ['uirl.event.run.warning', {}, /^runId: is undefined/],
    ['uirl.trajectory.run.train', { request: null }, /^request\.runId: is undefined/],
  ])('do not: %s %j', (subject, message, reason) => {
    expect(misplaced(subject, message)).toMatch(reason);
  });
});
