import { join } from 'node:path';
import type { EvaluationEvent, PhaseEvent, TrainStepEvent } from '@ui-rl/contracts';
import { loadRunFileComponents, readRunFile, type RunFileOptions } from '@ui-rl/settings';
import { makeRollout, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import {
  measured,
  MODES,
  runFile,
  table,
  type Mode,
  type Published,
  type Row,
  type Setting,
} from './measure';

const setting: Setting = {
  ...{ steps: 2, sessions: 8, groupsPerBatch: 1, groupSize: 2, bound: 1 },
  latency: [200, 1000],
};

/** Two steps of one episode each, whose first token was sampled by policy 0 and whose second by policy 1. */
function published(changes: Partial<Record<string, number>> = {}): Published {
  const spans = [0, 1].map((version) => ({ version, digest: `d${version}`, tokens: 1 }));
  const phase = (name: string, minute: number) =>
    ({ phase: name, at: `2026-01-01T00:0${minute}:00.000Z` }) as PhaseEvent;
  return {
    steps: [1, 2].map((step) => ({
      step,
      rolloutIds: [`r${step}`],
      metrics: { 'idle_ratio/learner': step / 4, 'async/steps_off_policy_max': 1, ...changes },
    })) as unknown as TrainStepEvent[],
    phases: [phase('training', 1), phase('final_eval', 3)],
    evaluations: [{ stage: 'final', successRate: 0.5 } as EvaluationEvent],
    trajectories: [1, 2].map((step) =>
      makeTrajectory({
        request: makeRollout({ rolloutId: `r${step}` }),
        turns: [makeTurn({ policySpans: step === 1 ? undefined : spans })],
      }),
    ),
  };
}

it('trains in all modes with run files that a run begins with', async () => {
  const registry = await loadRunFileComponents({ options: { plugins: [join(__dirname, 'far.cjs')] } });
  const bounds = MODES.map((mode) => {
    const options = runFile(mode, 0, setting) as RunFileOptions;
    return readRunFile({ options }, registry).async.max_steps_off_policy;
  });
  expect(bounds).toEqual([0, 1, 1]);
});

it('counts episodes by the minute, and how old each trained token was', () => {
  expect(measured(published(), setting, 1)).toMatchObject({
    ...{ minutes: 2, episodes: 4, episodesPerMinute: 2, success: 0.5, maskedTokens: 0 },
    staleness: { 0: 3, 1: 1 },
    idle: { learner: 0.375 },
  });
});

it('takes no run that has trained a token beyond its bound', () => {
  expect(() => measured(published(), setting, 0)).toThrow(
    '1 tokens of trained episodes are beyond the bound, 0 were',
  );
  expect(() => measured(published({ 'async/tokens_masked': 1 }), setting, 0)).toThrow(
    'trained 1 steps off-policy',
  );
  expect(() => measured({ ...published(), evaluations: [] }, setting, 1)).toThrow('no final success rate');
});

it('compares modes with the synchronous one', () => {
  const row = (mode: Mode, episodesPerMinute: number): Row =>
    ({ mode, episodesPerMinute, success: 0.9, idle: { actors: 0, environments: 0.5, learner: 0.25 } }) as Row;
  const lines = table([row('synchronous', 100), row('asynchronous', 260), row('asynchronous', 240)]).split(
    '\n',
  );
  expect(lines.slice(2)).toEqual([
    '| synchronous | 1 | 100 | 1.00× | 90 % | 0.00 | 0.50 | 0.25 |',
    '| asynchronous | 2 | 250 | 2.50× | 90 %, 90 % | 0.00 | 0.50 | 0.25 |',
  ]);
});
