import type { EnvironmentSpec, Purpose, RunRecord } from '@ui-rl/contracts';
import { type EpisodePlan, leaseOf, planEpisodes } from '@ui-rl/episode';
import type { Log } from '@ui-rl/plugin-kit';
import { receiveRunFile, type RunFileReceiver } from '@ui-rl/service';
import type { RolloutGroup } from '@ui-rl/settings';
import { TIMEOUTS, type Timeouts } from './episode/timeouts';

/** The actor's view of a run. */
export interface RunPlan {
  runId: string;
  /** Whether actors or outside agents play its episodes. */
  playedBy: RolloutGroup['played_by'];
  /** Number of concurrent episodes. */
  concurrency: number;
  /** For tasks that name no environment. */
  environment: EnvironmentSpec;
  timeouts: Timeouts;
  episode(purpose: Purpose): EpisodePlan;
  /** Releases its resources. */
  close: () => Promise<void>;
}

/**
 * Reads a run's record and creates the components that it chooses.
 *
 * @throws SettingsError or PluginError that describes the fault
 */
export async function planRun(record: RunRecord, receiver: RunFileReceiver, log: Log): Promise<RunPlan> {
  const run = await receiveRunFile(record, ['model.action_format', 'verifier', 'rewards'], receiver);
  const { rollout, environment, evaluation } = run;
  const { plan, close } = await planEpisodes(run, receiver.components, log);
  return {
    runId: record.runId,
    playedBy: rollout.played_by,
    concurrency: rollout.concurrency,
    environment: { kind: environment.kind.name, options: {} },
    timeouts: {
      ...TIMEOUTS,
      openDeadlineMs: environment.deadline_ms,
      stepDeadlineMs: environment.deadline_ms,
      leaseMs: leaseOf(run),
    },
    episode: (purpose) => ({
      ...plan,
      temperature: purpose === 'train' ? rollout.temperature : evaluation.temperature,
    }),
    close,
  };
}
