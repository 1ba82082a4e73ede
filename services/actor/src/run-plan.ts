import type { EnvironmentSpec, Purpose, RunRecord } from '@ui-rl/contracts';
import type { ComponentRegistry, Log } from '@ui-rl/plugin-kit';
import { parseRunFile } from '@ui-rl/settings';
import { type EpisodePlan, TIMEOUTS, type Timeouts } from './episode/plan';

/** What the actor needs to know of a run. */
export interface RunPlan {
  runId: string;
  /** Episodes at once. */
  concurrency: number;
  /** For tasks that name no environment. */
  environment: EnvironmentSpec;
  timeouts: Timeouts;
  episode(purpose: Purpose): EpisodePlan;
}

/**
 * Reads a run's record and makes the components it chooses.
 *
 * @throws SettingsError or PluginError that names what is wrong
 */
export async function planRun(record: RunRecord, components: ComponentRegistry, log: Log): Promise<RunPlan> {
  const { model, rollout, environment, evaluation, rewards, verifier } = parseRunFile(
    record.config,
    components,
    `run ${record.runId}`,
  );
  const shared = {
    maxTurns: rollout.max_turns,
    historyTurns: model.history_turns,
    maxTokens: rollout.max_tokens,
    topP: rollout.top_p,
    promptStyle: model.prompt,
    dialect: {
      name: model.action_format.name,
      instance: components.create('action-dialect', model.action_format, {}),
    },
    verifier: { name: verifier.name, instance: components.create('verifier', verifier, { log }) },
    rewards: rewards.map((choice) => ({
      name: choice.name,
      instance: components.create('reward', choice, { log }),
    })),
    turnTimeoutMs: rollout.turn_timeout_ms,
    episodeTimeoutMs: rollout.episode_timeout_ms,
  };
  return {
    runId: record.runId,
    concurrency: rollout.concurrency,
    environment: { kind: environment.kind.name, options: {} },
    timeouts: {
      ...TIMEOUTS,
      openDeadlineMs: environment.deadline_ms,
      stepDeadlineMs: environment.deadline_ms,
      leaseMs: environment.lease_ms,
    },
    episode: (purpose) => ({
      ...shared,
      temperature: purpose === 'train' ? rollout.temperature : evaluation.temperature,
    }),
  };
}
