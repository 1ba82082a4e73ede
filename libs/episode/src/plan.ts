import type { Dialect, PromptStyle } from '@ui-rl/actions';
import type { ComponentRegistry, Log, Reward, Verifier } from '@ui-rl/plugin-kit';
import type { RunFile } from '@ui-rl/settings';

/** A component that a run uses, and how messages name it. */
export interface Named<Instance> {
  name: string;
  instance: Instance;
}

/** How the episodes of a run are played. */
export interface EpisodePlan {
  /** Turns after which an episode is truncated, unless the task allows fewer. */
  maxTurns: number;
  /** Turns the policy reads, the present one included. */
  historyTurns: number;
  maxTokens: number;
  temperature: number;
  topP: number;
  promptStyle: PromptStyle;
  dialect: Named<Dialect>;
  verifier: Named<Verifier>;
  rewards: readonly Named<Reward>[];
  /** For one turn: the policy's answer and its actions, retries included; and for one call of a verifier or reward. */
  turnTimeoutMs: number;
  /** For the whole episode. */
  episodeTimeoutMs: number;
}

/** What a run file says of its episodes. */
export type EpisodeSettings = Pick<RunFile, 'model' | 'rollout' | 'verifier' | 'rewards'>;

/**
 * Makes the components that episodes of a run need.
 *
 * @throws PluginError that names what is wrong
 */
export function planEpisodes(
  { model, rollout, rewards, verifier }: EpisodeSettings,
  components: ComponentRegistry,
  log: Log,
): Omit<EpisodePlan, 'temperature'> {
  return {
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
}
