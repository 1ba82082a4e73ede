/** How a run and its services do: results of queries and of live answers. */
import type { EpisodePhase, ProcessStatus, Purpose, RunProfile } from '@ui-rl/contracts';

/** A rollout that has started and is not recorded yet. */
export interface RolloutInProgress {
  rolloutId: string;
  actor: string;
  startedAt: string;
  /** When its actor said last how far it is; null if it has said nothing yet. From here on as of that time. */
  heartbeatAt: string | null;
  purpose: Purpose | null;
  /** Id of the task, or the beginning of its description. */
  task: string | null;
  phase: EpisodePhase | null;
  turns: number | null;
  maxTurns: number | null;
}

/** How a run does, from its records. */
export interface RecordedHealth {
  /** How its training spent its time; null before the first step. In JSON, an unknown share is null. */
  profile: RunProfile | null;
  staleness: Staleness | null;
  /** Number of messages of the run that no service could read. */
  deadLetters: number;
}

/** Policy lag of the tokens of the latest step. */
export interface Staleness {
  step: number;
  /** Mean number of steps by which the sampling policy was older. */
  mean: number;
  /** Share of tokens by that number. */
  shares: { lag: number; share: number }[];
  /** Tokens that were left out because of their lag. */
  tokensMasked: number;
  /** Groups that were given up because of it. */
  groupsTooOld: number;
  /** Slow episodes in whose place others were requested. */
  stragglers: number;
}

/** The services of a run, as they answer at this moment. */
export interface LiveHealth {
  /** Whether the monitor has a broker; else it knows no services. */
  hasBroker: boolean;
  /** Those that serve the run, or are about to. */
  services: LiveService[];
  /** Consumers of its messages, and of the messages of all runs. */
  queues: QueueView[];
}

export interface LiveService {
  service: string;
  /** Id of its process. */
  instance: string;
  /** Null if an older version answers. */
  process: ProcessStatus | null;
}

export interface QueueView {
  stream: string;
  /** Name of the consumer. */
  name: string;
  /** Messages that it has not received or not acknowledged. */
  waiting: number;
  /** Of these, messages that it has received. */
  inProgress: number;
}

/** The latest record that a service left in a run. */
export interface ServiceSign {
  service: string;
  at: string;
  /** `trained step 20`. */
  sign: string;
}
