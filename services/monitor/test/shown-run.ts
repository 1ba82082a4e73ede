import { announceRun } from '@ui-rl/api';
import type { BusService } from '@ui-rl/bus';
import { subjects, wilson, type TrainedEpisode, type Trajectory, type Turn } from '@ui-rl/contracts';
import { loadRunFile } from '@ui-rl/settings';
import { makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';

/** The run that the page shows. */
export const RUN = 'demo-20261120-101500';

const ANSWERS = [
  [{ action: 'click', x: 40, y: 48 }],
  [{ action: 'swipe', from: [80, 180], to: [80, 60] }],
  [
    { action: 'click', x: 140, y: 20 },
    { action: 'type', text: 'milk' },
    { action: 'key', keys: ['enter'] },
  ],
];

/** A component that only the announcing process knows. */
export const PLUGIN = `module.exports.default = {
  kind: 'reward',
  name: 'remote-judge',
  description: 'Asks a judge on another machine.',
  options: {
    judge_key: { type: 'text', description: 'how it knows us', required: true, secret: true },
    strictness: { type: 'number', description: 'what counts as done', default: 0.5 },
  },
  create: () => ({ score: () => 0 }),
};`;

const RUN_FILE = {
  model: { name: 'small', use_lora: false },
  tasks: 'demo_training',
  algorithm: { advantage: 'grpo', loss: { name: 'ppo', clip_high: 0.28 } },
  rewards: ['task-success', { name: 'remote-judge', judge_key: 'hush', strictness: 0.9 }],
  rollout: { group_size: 8 },
  training: { max_steps: 20, learning_rate: 0.001 },
};

/** Rewards by turn, from the second turn on. */
const PAID: Record<string, number>[] = [{ tidy: -0.1 }, { near: 0.25, tidy: 0.05 }];

function turns(hashes: string[], version: number): Turn[] {
  return ANSWERS.map((actions, index) => {
    const text = JSON.stringify(actions);
    const tokenIds = Array.from({ length: 14 }, (_, token) => token);
    return makeTurn({
      index,
      screenshot: hashes[index % hashes.length],
      actions,
      text,
      tokenIds,
      tokenTexts: piecesOf(text, tokenIds.length),
      promptText: `<|im_start|>user\n\uFFFC Task ${index}<|im_end|>\n`,
      logprobs: tokenIds.map((token) => -0.02 - ((token * 7 + version) % 5) * 0.15),
      policyVersion: version,
      policyMs: 41.5,
      envMs: 18.2,
      screenText: `page "Phone"\n button "Turn ${index} <b>" (40,48)`,
      outcome: index === 1 ? 'outside_viewport' : 'ok',
      ...(index === 0 ? {} : { reward: index === 1 ? -0.1 : 0.3, rewards: PAID[index - 1] }),
    });
  });
}

/** Pieces of nearly equal length, and nothing for the token that ends the answer. */
function piecesOf(text: string, tokens: number): string[] {
  const size = text.length / (tokens - 1);
  const pieces = Array.from({ length: tokens - 1 }, (_, token) =>
    text.slice(Math.round(token * size), Math.round((token + 1) * size)),
  );
  return [...pieces, ''];
}

/** A step's numbers for its episodes: the mean reward of each group is its baseline. */
function trainedEpisodes(episodes: readonly Trajectory[]): TrainedEpisode[] {
  return episodes.map((episode) => {
    const group = episodes.filter(({ request }) => request.groupId === episode.request.groupId);
    const advantage = episode.reward - group.reduce((sum, { reward }) => sum + reward, 0) / group.length;
    return {
      ...{ rolloutId: episode.request.rolloutId, advantage },
      turns: episode.turns.map(({ index, logprobs }) => ({
        index,
        advantages: logprobs.map(() => advantage),
        weights: logprobs.map((_, token) => (token === 2 ? 0 : 1 / 64)),
        logprobs: logprobs.map((logprob, token) => logprob - (token % 3) * 0.02),
      })),
    };
  });
}

/** The episode `index` of a step. @param hashes of the screenshots */
function episode(step: number, index: number, hashes: string[]): Trajectory {
  const success = (step * 13 + index * 7) % 30 < 8 + step;
  const at = Date.parse('2026-11-20T10:16:00.000Z') + (step * 16 + index) * 400;
  const goals = ['Enable Wi-Fi', 'Open Settings', 'Set the brightness to 70', 'Turn on Bluetooth'];
  return makeTrajectory({
    request: makeRollout({
      rolloutId: `${RUN}-g${step}-r${index}`,
      groupId: `${RUN}-g${step}-${Math.floor(index / 8)}`,
      runId: RUN,
      groupSize: 8,
      indexInGroup: index % 8,
      task: makeTask({ id: `train_0${index % 4}`, description: goals[index % 4] }),
    }),
    success,
    reward: (success ? 1 : 0) + 0.2,
    rewards: { 'task-success': success ? 1 : 0, near: 0.25, tidy: -0.05 },
    turns: turns(hashes, step),
    finalScreenshot: hashes.at(-1),
    initialState: { screen: 'home', settings: { wifi: false } },
    finalState: { screen: 'settings', settings: { wifi: success } },
    startedAt: new Date(at - 900).toISOString(),
    finishedAt: new Date(at).toISOString(),
    actor: 'actor-1',
  });
}

export async function publish(bus: BusService, trajectory: Trajectory): Promise<void> {
  const { runId, purpose, rolloutId } = trajectory.request;
  await bus.publishJson(subjects.trajectory(runId, purpose), trajectory, rolloutId);
}

/**
 * The whole run: 20 steps of 16 episodes, evaluated before, after its warm start and at the end. @param plugin file
 * of `PLUGIN`
 */
export async function publishRun(bus: BusService, plugin: string, hashes: string[]): Promise<void> {
  const { run, registry } = await loadRunFile({ options: { ...RUN_FILE, plugins: [plugin] } });
  await announceRun(bus, RUN, run, registry);
  await bus.runs.changePhase(RUN, 'training');
  const steps = Array.from({ length: 20 }, (_, step) => step);
  await Promise.all(
    steps.flatMap((step) =>
      Array.from({ length: 16 }, (_, index) => publish(bus, episode(step, index, hashes))),
    ),
  );
  for (const step of steps) {
    const metrics = {
      'optim/kl_sample_train_v1': 1e-6 * (1 + (step % 4)),
      'optim/kl_sample_train_v2': 2e-6 * (1 + (step % 3)),
      'optim/loss': 0.4 / (step + 1),
      'env/all/success': 0.3 + step / 40,
      'env/all/reward/total': 0.5 + step / 40,
    };
    const rolloutIds = Array.from({ length: 16 }, (_, index) => `${RUN}-g${step}-r${index}`);
    await bus.event({ type: 'train_step', runId: RUN, step: step + 1, rolloutIds, metrics }, `${step}`);
    const episodes = trainedEpisodes(rolloutIds.map((_, index) => episode(step, index, hashes)));
    await bus.event({ type: 'trained_tokens', runId: RUN, step: step + 1, episodes }, `${step}`);
  }
  await evaluation(bus, 'baseline', 0, 0.31, 0.28);
  await evaluation(bus, 'warm_start', 0, 0.55, 0.41);
  await evaluation(bus, 'final', 20, 0.93, 0.58);
}

async function evaluation(
  bus: BusService,
  stage: 'baseline' | 'warm_start' | 'final',
  version: number,
  onTrain: number,
  onEval: number,
): Promise<void> {
  const sets = { train_goals: onTrain, eval_goals: onEval };
  for (const [set, successRate] of Object.entries(sets)) {
    const tasks = ['Enable Wi-Fi', 'Open the notes', 'Set the volume to 40', 'Mute the alarm'].map(
      (description, index) => ({
        taskId: `${set}_${index}`,
        description,
        successes: Math.min(16, Math.round(successRate * 16) + ((index * 5) % 3) - 1),
        episodes: 16,
      }),
    );
    await bus.event(
      {
        type: 'evaluation',
        runId: RUN,
        evaluationId: stage,
        stage,
        set,
        policyVersion: version,
        checkpoint: `uirl://${RUN}/sampler_weights/0000${version}`,
        successRate,
        interval: [successRate - 0.09, successRate + 0.06],
        episodes: 64,
        invalid: 0,
        tasks,
      },
      `${stage}-${set}`,
    );
  }
}

/**
 * Three checkpoints evaluated together on two tasks, 8 episodes each: the second succeeds more often at one of them.
 */
export const COMPARED = 'eval-20261120-120000';

const SUCCESSES: Record<string, readonly [number, number]> = {
  small: [1, 4],
  '000040': [7, 5],
  '000080': [2, 3],
};
const EPISODES = 8;

export async function publishCompared(bus: BusService): Promise<void> {
  await bus.event({ type: 'run_created', runId: COMPARED, config: { name: 'eval' } }, 'created');
  await bus.event({ type: 'phase', runId: COMPARED, phase: 'finished' }, 'finished');
  const goals = ['Enable Wi-Fi', 'Open the notes'];
  for (const [place, [set, successes]] of Object.entries(SUCCESSES).entries()) {
    const evaluationId = `${COMPARED}-c${place}`;
    const tasks = goals.map((description, task) => ({
      taskId: `notes/goal_${task}`,
      description,
      successes: successes[task],
      episodes: EPISODES,
    }));
    await Promise.all(
      tasks.flatMap(({ taskId: id, description }, task) =>
        Array.from({ length: EPISODES }, (_, index) => {
          const rolloutId = `${evaluationId}-t${task}-${index}`;
          const success = index < successes[task];
          const request = makeRollout({
            ...{ rolloutId, evaluationId, groupId: rolloutId, runId: COMPARED, purpose: 'eval', seed: index },
            task: makeTask({ id, description }),
          });
          return publish(bus, makeTrajectory({ request, success, reward: Number(success), turns: [] }));
        }),
      ),
    );
    const sum = successes[0] + successes[1];
    await bus.event(
      {
        ...{ type: 'evaluation', runId: COMPARED, evaluationId, stage: 'final', set, policyVersion: 0 },
        checkpoint: `uirl://${RUN}/sampler_weights/${set}`,
        successRate: sum / (2 * EPISODES),
        interval: wilson(sum, 2 * EPISODES),
        episodes: 2 * EPISODES,
        invalid: 0,
        tasks,
      },
      evaluationId,
    );
  }
}
