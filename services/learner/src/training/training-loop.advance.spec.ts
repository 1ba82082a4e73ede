import { makeRollout, makeTrajectory } from '@ui-rl/testkit';
import { GroupBuffer } from '../episodes/groups';
import { Recovery, type RecoveryParts } from './guard/recovery';
import { Progress } from './progress';
import { TrainingLoop, type TrainingLoopParts } from './training-loop';

/** A loop that stops before training, and whether it got that far. */
function loopOver(buffer: GroupBuffer): { loop: TrainingLoop; trained: () => boolean } {
  let reached = false;
  const train = (): Promise<never> => {
    reached = true;
    return Promise.reject(new Error('far enough'));
  };
  const progress = new Progress('run', { name: 'model' });
  const guarded = { options: { enabled: false }, maxStepsOffPolicy: 0, progress };
  const parts = {
    recovery: new Recovery(guarded as RecoveryParts),
    options: {
      training: { groups_per_batch: 1, max_steps: 0, deterministic: false, warm_start: { only: false } },
      algorithm: { dynamic_sampling: false },
    },
    algorithm: { estimator: {} },
    buffer,
    progress,
    weights: { current: { digest: 'none' } },
    trainer: { train },
    durable: { restore: () => Promise.reject(new Error('far enough')) },
    demand: { requestReplacements: () => Promise.resolve() },
  };
  return { loop: new TrainingLoop(parts as unknown as TrainingLoopParts), trained: () => reached };
}

it.each(Array.from({ length: 10 }, (_, turns) => turns))(
  'trains a group that is complete when the loop ends, %i promises later',
  async (turns) => {
    const buffer = new GroupBuffer({ maxAttempts: 1, isSettled: () => false, isHopeless: () => false });
    const { loop, trained } = loopOver(buffer);
    const running = [loop.advance()];
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    buffer.add(makeTrajectory({ request: makeRollout({ groupIndex: 0, indexInGroup: 0, groupSize: 1 }) }));
    running.push(loop.advance());
    await Promise.allSettled(running);
    expect(trained()).toBe(true);
  },
);
