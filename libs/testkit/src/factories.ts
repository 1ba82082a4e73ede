import { RolloutRequest, Task, Trajectory, type Turn } from '@ui-rl/contracts';

/** A complete, valid task; `changes` override fields. */
export function makeTask(changes: Partial<Task> = {}): Task {
  return Object.assign(new Task(), {
    id: 'train_01_open_settings',
    description: 'Open Settings',
    source: 'demo_training',
    category: 'navigation',
    difficulty: 'easy',
    maxSteps: 3,
    environment: { kind: 'browser', options: { page: 'pocket' } },
    checks: [{ path: 'screen', operator: 'equals', value: 'settings' }],
    ...changes,
  });
}

export function makeRollout(changes: Partial<RolloutRequest> = {}): RolloutRequest {
  const groupId = changes.groupId ?? `${changes.runId ?? 'run'}-g000000`;
  const indexInGroup = changes.indexInGroup ?? 0;
  return Object.assign(new RolloutRequest(), {
    rolloutId: `${groupId}-r${indexInGroup}`,
    runId: 'run',
    groupId,
    groupIndex: 0,
    indexInGroup,
    groupSize: 4,
    attempt: 0,
    purpose: 'train',
    task: makeTask(),
    seed: 1,
    samplingSeed: 1,
    policy: 'latest',
    ...changes,
  });
}

export function makeTurn(changes: Partial<Turn> = {}): Turn {
  return {
    index: 0,
    promptTokenIds: [1, 2, 3],
    promptImages: ['0'.repeat(64)],
    imageTokens: 1,
    tokenIds: [4, 5],
    logprobs: [-0.5, -0.25],
    temperature: 1,
    policyVersion: 0,
    adapterDigest: 'base',
    text: '{"action":"finish","success":true}',
    actions: [{ action: 'finish', success: true }],
    outcome: 'ok',
    screenshot: '0'.repeat(64),
    policyMs: 5,
    envMs: 5,
    ...changes,
  };
}

/** A completed, successful episode of one turn. */
export function makeTrajectory(changes: Partial<Trajectory> = {}): Trajectory {
  return Object.assign(new Trajectory(), {
    request: makeRollout(),
    status: 'completed',
    success: true,
    reward: 1,
    rewards: { 'task-success': 1 },
    turns: [makeTurn()],
    actor: 'test',
    startedAt: '2026-01-01T00:00:00.000Z',
    finishedAt: '2026-01-01T00:00:01.000Z',
    ...changes,
  });
}
