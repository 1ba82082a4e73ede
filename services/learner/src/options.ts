import type { PromptStyle } from '@ui-rl/actions';
import type { HubOptions } from '@ui-rl/models';
import type { ComponentChoice, TaskSourceChoice, TrainedModel } from '@ui-rl/plugin-kit';
import type { TimeLimits } from '@ui-rl/settings';
import type { Uploads } from './checkpoints/checkpoint-store';
import type { IfLogDirExists } from './run-folder';
import type { AlgorithmOptions } from './training/algorithm';
import type { CollapseGuardOptions } from './training/guard/collapse-guard';

/** Supervised training on stored episodes before reinforcement learning. */
export interface WarmStartOptions {
  /** File of episodes. */
  episodes: string;
  loss: ComponentChoice;
  /** Minimum return (exclusive) of episodes to imitate. */
  rewardThreshold: number;
  /** Number of episodes, or pairs, per step. */
  batchSize: number;
  epochs: number;
  /** Instead of epochs. */
  steps?: number | undefined;
  learningRate: number;
  /** Whether the run ends with it. */
  only: boolean;
  /** Sources of evaluation tasks, which are excluded from training. */
  evaluationTasks: TaskSourceChoice[];
  /** Environment of tasks that name none. */
  environment?: string;
}

/** The learner's view of a run. */
export interface LearnerOptions {
  /** Folder of all runs. */
  runsDir: string;
  /** Name of this run's folder; default: its id. */
  logDir?: string;
  ifLogDirExists: IfLogDirExists;
  /** A name on the hub, or one of `models`. */
  model: string;
  hub: HubOptions;
  /** Model folders by name. */
  models: Readonly<Record<string, string>>;
  /** Folder of downloads. */
  cacheDir: string;
  /** Action format of the policy. */
  dialect: ComponentChoice;
  /** Whether the prompt explains the actions, or the model was trained on them. */
  promptStyle: PromptStyle;
  /** Folder of adapters for servers that sample outside of the engine. */
  adaptersDir: string;
  /** API keys of such servers, by address. */
  samplerKeys: Readonly<Record<string, string>>;
  engine: ComponentChoice;
  sampler: ComponentChoice;
  trackers: ComponentChoice[];
  /** Number of groups per step that are written as readable pages. */
  groupsToLog: number;
  algorithm: AlgorithmOptions;
  warmStart?: WarmStartOptions;
  guard: CollapseGuardOptions;
  /** Address of the checkpoint with the initial weights; default: fresh ones. */
  loadCheckpoint?: string;
  /** The expected renderer of messages; default: the model's. */
  rendererName?: string;
  /** Whether the policy reasons before its answers; default: as the model's template does. */
  thinking?: boolean;
  /** Trained weights: an adapter, or all weights. */
  trainable: TrainedModel['trainable'];
  /** Maximum number of sequences sampled at the same time. */
  maxRows: number;
  /** Longest sequence, prompt and answer together, in tokens. */
  maxSequence: number;
  /** Whether the same seed gives the same weights, independent of timing. */
  deterministic: boolean;
  seed: number;
  groupSize: number;
  groupsPerBatch: number;
  /** Maximum number of steps between the policy that samples a group and the one that trains on it. */
  maxStepsOffPolicy: number;
  /** Whether answers in progress continue with new weights. */
  updatesInFlight: boolean;
  /** An episode that takes this many times as long as others is requested again; 0 = never. */
  stragglerFactor: number;
  /** Maximum number of groups without signal to replace per batch; 0 = none. */
  maxReplacedGroups: number;
  /** Maximum number of attempts at one episode before its slot in the group stays empty. */
  maxAttempts: number;
  /** Number of steps after which the run ends, without those of the warm start; 0 = no limit. */
  maxSteps: number;
  /** Time limits of the training and of the whole run. */
  timeLimits: TimeLimits;
  /** Whether the run is evaluated before training. */
  hasBaseline: boolean;
  /** Checkpoints of steps that are multiples of one of these are kept; 0 names none. */
  keepEvery: number[];
  /** Which checkpoints are uploaded for other machines. */
  uploads: Uploads;
}
