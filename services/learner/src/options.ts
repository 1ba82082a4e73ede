import type { AdvantageKind } from '@ui-rl/algorithms';
import type { Device, EngineOptions, LossOptions } from '@ui-rl/engine';
import type { LearningRateSchedule } from '@ui-rl/graph';
import type { HubOptions } from '@ui-rl/models';
import type { Uploads } from './checkpoint-store';

/** What becomes of a group's rewards. */
export type Selection =
  | { kind: 'advantage'; advantage: AdvantageKind }
  | { kind: 'rejection'; rewardThreshold: number; bestOfGroup: boolean };

/** What the learner needs to know about a run. */
export interface LearnerOptions {
  /** Folder of all runs; this one's is `<runsDir>/<run id>`. */
  runsDir: string;
  /** `engine.modelDir` is a folder or the name of a model on the hub. */
  engine: Omit<EngineOptions, 'device'> & { device: Device | 'auto' };
  hub: HubOptions;
  /** Folder of downloads. */
  cacheDir: string;
  /** Turns of the conversation the policy sees. */
  historyTurns: number;
  selection: Selection;
  loss: LossOptions;
  learningRate: LearningRateSchedule;
  maxGradNorm: number;
  groupSize: number;
  groupsPerBatch: number;
  /** Optimizer steps a batch is split into, by groups. */
  substeps: number;
  minibatches: number;
  /** Groups may be sampled by a policy so many steps older than the one they train. */
  maxStepsOffPolicy: number;
  /** Groups without signal that are replaced by others per batch; 0 = none. */
  maxReplacedGroups: number;
  /** Tries at one episode before its slot in the group stays empty. */
  maxAttempts: number;
  /** The run ends after so many steps, unless 0. */
  maxSteps: number;
  /** The run ends so many minutes after training began, unless 0. */
  maxMinutes: number;
  /** Checkpoints of steps that are multiples of one of these are kept; 0 names none. */
  keepEvery: number[];
  /** Checkpoints that other machines can have. */
  uploads: Uploads;
}
