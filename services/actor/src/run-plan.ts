import { dialects } from '@ui-rl/actions';
import type { EnvironmentSpec, Purpose, RunRecord } from '@ui-rl/contracts';
import { loadPlugins, type Reward, type RewardPlugin, type Verifier, verify } from '@ui-rl/plugin-kit';
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
 * Reads a run's record and loads the reward plugins it names.
 *
 * @throws SettingsError or PluginError that names what is wrong
 */
export async function planRun(record: RunRecord, furtherPlugins: readonly string[] = []): Promise<RunPlan> {
  const { model, rollout, environment, evaluation, rewards, plugins } = parseRunFile(
    record.config,
    `run ${record.runId}`,
  );
  const registry = await loadPlugins({ packages: [...plugins, ...furtherPlugins] });
  const shared = {
    maxTurns: rollout.max_turns,
    historyTurns: model.history_turns,
    maxTokens: rollout.max_tokens,
    topP: rollout.top_p,
    promptStyle: model.prompt,
    dialect: { name: model.action_format, instance: dialects[model.action_format] },
    verifier: { name: 'checks', instance: checks },
    rewards: rewards.map((name) => ({ name, instance: asReward(registry.reward(name)) })),
    turnTimeoutMs: rollout.turn_timeout_ms,
    episodeTimeoutMs: rollout.episode_timeout_ms,
  };
  return {
    runId: record.runId,
    concurrency: rollout.concurrency,
    environment: { kind: environment.kind, options: {} },
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

const checks: Verifier = { verify: ({ task, stateAfter }) => verify(task.checks, stateAfter) };

function asReward(plugin: RewardPlugin): Reward {
  return {
    score: ({ task, success, status, turns, stateAfter: finalState }) =>
      plugin.score({ task, success, status, turns: turns.length, finalState }),
  };
}
