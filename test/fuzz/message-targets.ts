import { encode } from '@msgpack/msgpack';
import { readBinary, readJson, type MessageSchema } from '@ui-rl/bus';
import {
  EnvOpenReply,
  EnvOpenRequest,
  EnvStepReply,
  EnvStepRequest,
  EVENTS,
  EvaluatorState,
  LoaderState,
  MonitorPageReply,
  PolicyActReply,
  PolicyActRequest,
  PolicyInfoReply,
  PolicyInfoRequest,
  PolicyState,
  RolloutRequest,
  RunRecord,
  RunState,
  SampleMessage,
  SampleReply,
  SamplerOrders,
  SamplerReport,
  Task,
  Trajectory,
} from '@ui-rl/contracts';
import { makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import type { Target } from './target';

const RUN = 'demo-20261120-101500';
const at = '2026-11-20T10:15:00.000Z';
const sha256 = 'ab'.repeat(32);
const png = Buffer.from('89504e470d0a1a0a', 'hex');
const screenshot = { png, sha256, width: 160, height: 224 };

/** JSON messages of streams and buckets: class, and samples as written by services. */
const JSON_MESSAGES: Readonly<Record<string, { schema: MessageSchema<unknown>; samples: object[] }>> = {
  task: { schema: Task, samples: [makeTask(), { description: 'Enable Wi-Fi' }] },
  rollout: { schema: RolloutRequest, samples: [makeRollout()] },
  trajectory: {
    schema: Trajectory,
    samples: [makeTrajectory(), makeTrajectory({ turns: [makeTurn(), makeTurn({ index: 1 })] })],
  },
  event: {
    schema: EVENTS,
    samples: [
      { type: 'run_created', runId: RUN, at, config: { training: { max_steps: 3 } } },
      { type: 'phase', runId: RUN, at, phase: 'training' },
      { type: 'train_step', runId: RUN, at, step: 3, rolloutIds: ['a', 'b'], metrics: { 'optim/loss': 0.5 } },
      {
        ...{ type: 'trained_tokens', runId: RUN, at, step: 3 },
        episodes: [
          {
            ...{ rolloutId: 'a', advantage: -0.5 },
            turns: [{ index: 0, advantages: [-0.5], weights: [1], logprobs: [-0.1] }],
          },
        ],
      },
      {
        type: 'checkpoint',
        runId: RUN,
        at,
        step: 3,
        name: `uirl://${RUN}/sampler_weights/000003`,
        path: '/x',
        adapterDigest: sha256,
      },
      { type: 'warning', runId: RUN, at, service: 'learner', code: 'kl', message: 'too large' },
    ],
  },
  run_record: {
    schema: RunRecord,
    samples: [{ runId: RUN, createdAt: at, config: { model: { name: 'small' } } }],
  },
  run_state: { schema: RunState, samples: [{ phase: 'training', since: at }] },
  policy_state: {
    schema: PolicyState,
    samples: [
      { version: 3, adapterDigest: sha256, checkpoint: 'x', groupsRequested: 8, failedGroups: '1-3,7' },
    ],
  },
  loader_state: {
    schema: LoaderState,
    samples: [
      { groupsReleased: 8 },
      {
        groupsReleased: 8,
        announced: 9,
        choices: [
          {
            group: 8,
            task: 't1',
            cursor: 4,
            choice: { reason: 'measured', inBand: 1, tooHard: 0, tooEasy: 0, unmeasured: 2, waiting: 0 },
          },
        ],
        measured: {
          step: 3,
          nextGroup: 6,
          level: 1,
          levels: { episodes: [4], score: [0.5], groups: [1], seen: [4], last: [5] },
          places: [2],
          tasks: { episodes: [4], score: [0.5], groups: [1], seen: [4], last: [5] },
        },
      },
    ],
  },
  evaluator_state: {
    schema: EvaluatorState,
    samples: [
      {
        open: [
          {
            evaluationId: 'final',
            stage: 'final',
            set: 'train_goals',
            policy: 'latest',
            policyVersion: 3,
            released: true,
            outcomes: '.sfx',
            refills: { 3: 1 },
          },
        ],
        stagesDone: ['baseline'],
        lastPeriodicStep: 0,
      },
    ],
  },
};

const act = {
  runId: RUN,
  requestId: 'r/0',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image', image: 0 },
        { type: 'text', text: 'Open Settings' },
      ],
    },
  ],
  images: [png, sha256],
  policy: 'latest',
  maxTokens: 24,
  temperature: 1,
  topP: 1,
  seed: 3,
};

/** MessagePack messages of requests and replies. */
const BINARY_MESSAGES: Readonly<Record<string, { schema: MessageSchema<unknown>; sample: object }>> = {
  env_open: {
    schema: EnvOpenRequest,
    sample: { runId: RUN, rolloutId: 'r', task: makeTask(), seed: 3, leaseMs: 60_000, deadlineMs: 15_000 },
  },
  env_opened: {
    schema: EnvOpenReply,
    sample: { sessionId: 's', instance: 'i', screenshot, state: { settings: { wifi: true } } },
  },
  env_step: {
    schema: EnvStepRequest,
    sample: { sessionId: 's', stepId: '1', action: { action: 'click', x: 1, y: 2 }, deadlineMs: 15_000 },
  },
  env_stepped: { schema: EnvStepReply, sample: { screenshot, outcome: 'ok', done: false } },
  policy_act: { schema: PolicyActRequest, sample: act },
  policy_acted: {
    schema: PolicyActReply,
    sample: {
      promptTokenIds: [1, 2],
      promptImages: [sha256],
      imageTokens: 4,
      tokenIds: [3],
      logprobs: [-0.5],
      text: '{}',
      finishReason: 'stop',
      policyVersion: 3,
      adapterDigest: sha256,
    },
  },
  policy_info: {
    schema: PolicyInfoRequest,
    sample: {
      runId: RUN,
      screenshot: { width: 160, height: 224 },
      prompt: {
        messages: [{ role: 'user', content: [{ type: 'image', image: 0 }] }],
        images: [png],
        tools: [],
      },
    },
  },
  policy_informed: {
    schema: PolicyInfoReply,
    sample: { runId: RUN, step: 3, adapterDigest: sha256, engine: { rows: 3 }, promptTokens: 7 },
  },
  sampler_report: {
    schema: SamplerReport,
    sample: {
      instance: 'i',
      host: 'lab',
      device: 'cpu',
      rows: 4,
      holds: [sha256],
      failed: [],
      scores: [-0.5],
    },
  },
  sampler_orders: {
    schema: SamplerOrders,
    sample: {
      epoch: 1,
      model: { name: 'small' },
      device: 'cpu',
      wanted: [{ digest: sha256, isBase: false }],
      probes: [[1, 2, 3]],
    },
  },
  sample: {
    schema: SampleMessage,
    sample: {
      id: 'a',
      weights: sha256,
      chunks: [
        { type: 'text', tokens: [1, 2] },
        { type: 'image', sha256, places: 4 },
      ],
      maxTokens: 24,
      temperature: 1,
      topP: 1,
      topK: 0,
      seed: 3,
      stop: [],
      movable: false,
      class: 'training',
    },
  },
  sampled: {
    schema: SampleReply,
    sample: {
      tokens: [3],
      logprobs: [-0.5],
      stopReason: 'stop',
      digest: sha256,
      spans: [{ version: 0, digest: sha256, tokens: 1 }],
    },
  },
  monitor_page: {
    schema: MonitorPageReply,
    sample: {
      instance: 'i',
      host: 'lab',
      localOnly: true,
      addresses: ['http://127.0.0.1:8080'],
      path: '/#/runs/x',
    },
  },
};

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value) ?? 'null');

/** Values that MessagePack cannot encode are covered by byte mutations. */
function packed(value: unknown): Uint8Array {
  try {
    return encode(value, { ignoreUndefined: true });
  } catch {
    return new Uint8Array();
  }
}

const jsonTargets = Object.entries(JSON_MESSAGES).map(([name, { schema, samples }]): Target => ({
  name: `message/${name}`,
  input: (mutator) => mutator.bytes([json(mutator.value(samples)), ...samples.map(json)]),
  feed: (input) => readJson(input, schema).ok,
}));

const binaryTargets = Object.entries(BINARY_MESSAGES).map(([name, { schema, sample }]): Target => ({
  name: `request/${name}`,
  input: (mutator) => mutator.packed([packed(mutator.value([sample])), packed(sample)]),
  feed: (input) => readBinary(input, schema).ok,
}));

export const messageTargets: readonly Target[] = [...jsonTargets, ...binaryTargets];
