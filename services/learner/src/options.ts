import type { PromptStyle } from '@ui-rl/actions';
import type { HubOptions } from '@ui-rl/models';
import type { ComponentChoice, TaskSourceChoice, TrainedModel } from '@ui-rl/plugin-kit';
import type { TimeLimits } from '@ui-rl/settings';
import type { Uploads } from './checkpoints/checkpoint-store';
import type { IfLogDirExists } from './run-folder';
import type { AlgorithmOptions } from './training/algorithm';
import type { CollapseGuardOptions } from './training/guard/collapse-guard';

/** Supervised training on stored episodes, before reinforcement learning begins. */
export interface WarmStartOptions {
  /** File of episodes. */
  episodes: string;
  loss: ComponentChoice;
  /** Episodes whose return exceeds it are imitated. */
  rewardThreshold: number;
  /** Episodes, or pairs, of a step. */
  batchSize: number;
  epochs: number;
  /** Instead of epochs. */
  steps?: number | undefined;
  learningRate: number;
  /** The run ends with it. */
  only: boolean;
  /** Sources of the tasks that are evaluated: nothing is learnt from them. */
  evaluationTasks: TaskSourceChoice[];
  /** Name of the environment that plays those which name none. */
  environment?: string;
}

/** What the learner needs to know about a run. */
export interface LearnerOptions {
  /** Folder of all runs. */
  runsDir: string;
  /** Name of this run's folder; default: its id. */
  logDir?: string;
  ifLogDirExists: IfLogDirExists;
  /** A name on the hub, or one of `models`. */
  model: string;
  hub: HubOptions;
  /** Folders of models by name. */
  models: Readonly<Record<string, string>>;
  /** Folder of downloads. */
  cacheDir: string;
  /** How the policy writes its actions. */
  dialect: ComponentChoice;
  /** Whether it is told how, or knows by training. */
  promptStyle: PromptStyle;
  /** Folder of adapters for servers that sample outside of the engine. */
  adaptersDir: string;
  /** Keys of such servers, by address. */
  samplerKeys: Readonly<Record<string, string>>;
  engine: ComponentChoice;
  sampler: ComponentChoice;
  trackers: ComponentChoice[];
  /** Groups of each step that are written as pages for people. */
  groupsToLog: number;
  algorithm: AlgorithmOptions;
  warmStart?: WarmStartOptions;
  guard: CollapseGuardOptions;
  /** Address of the checkpoint whose weights the run begins with; default: fresh ones. */
  loadCheckpoint?: string;
  /** The renderer that messages are expected to go through; default: whichever the model has. */
  rendererName?: string;
  /** Whether the policy reasons before its answers; default: what the template of the model does. */
  thinking?: boolean;
  /** What is trained: an adapter, or all weights. */
  trainable: TrainedModel['trainable'];
  /** Sequences sampled at the same time. */
  maxRows: number;
  /** Longest sequence, prompt and answer together, in tokens. */
  maxSequence: number;
  /** The same seed gives the same weights, whatever the timing. */
  deterministic: boolean;
  seed: number;
  groupSize: number;
  groupsPerBatch: number;
  /** Groups may be sampled by a policy so many steps older than the one they train. */
  maxStepsOffPolicy: number;
  /** Answers in progress go on with new weights. */
  updatesInFlight: boolean;
  /** Another episode is requested in place of one that takes so many times as long as others; 0 = never. */
  stragglerFactor: number;
  /** Groups without signal that are replaced by others per batch; 0 = none. */
  maxReplacedGroups: number;
  /** Tries at one episode before its place in the group stays empty. */
  maxAttempts: number;
  /** The run ends after so many steps, those of the warm start aside, unless 0. */
  maxSteps: number;
  /** How long the training, and the whole run, may take. */
  timeLimits: TimeLimits;
  /** The run is evaluated before it trains. */
  hasBaseline: boolean;
  /** Checkpoints of steps that are multiples of one of these are kept; 0 names none. */
  keepEvery: number[];
  /** Checkpoints that other machines can have. */
  uploads: Uploads;
}
