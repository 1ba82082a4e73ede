import type { Dialect, ParseResult, PromptStyle, ScreenSizes } from '@ui-rl/actions';
import {
  judgesWithoutVerifier,
  type ComponentChoice,
  type ComponentRegistry,
  type Deadline,
  type Log,
  type Reward,
  type Verifier,
} from '@ui-rl/plugin-kit';
import { readVariables, type RunFile } from '@ui-rl/settings';
import { IsolatedComponent } from './isolation/isolated-component';
import type { IsolatedKind } from './isolation/messages';

/** A component that a run uses, and how messages name it. */
export interface Named<Instance> {
  name: string;
  instance: Instance;
}

/** A dialect, here or in a thread. */
export interface TurnDialect {
  describe(sizes: ScreenSizes, deadline: Deadline): string | Promise<string>;
  parse(text: string, sizes: ScreenSizes, deadline: Deadline): ParseResult | Promise<ParseResult>;
  grammar?(sizes: ScreenSizes, deadline: Deadline): string | undefined | Promise<string | undefined>;
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
  topK: number;
  /** Whether nothing is sampled but what the dialect can read. */
  constrainActions: boolean;
  promptStyle: PromptStyle;
  dialect: Named<TurnDialect>;
  verifier: Named<Verifier>;
  rewards: readonly Named<Reward>[];
  /** Whether one of them says what an episode is worth where the verifier cannot judge. */
  rewardsJudge: boolean;
  /** For one turn: the policy's answer and its actions, retries included; and for one call of a verifier or reward. */
  turnTimeoutMs: number;
  /** For the whole episode. */
  episodeTimeoutMs: number;
}

/** What a run file says of its episodes. */
export type EpisodeSettings = Pick<RunFile, 'model' | 'rollout' | 'verifier' | 'rewards'>;

/** The episodes of a run, and what their components hold. */
export interface PlannedEpisodes {
  plan: Omit<EpisodePlan, 'temperature'>;
  /** Ends the threads of components from outside. */
  close: () => Promise<void>;
}

/**
 * Makes the components that episodes of a run need. Those from outside of the project get a thread each.
 *
 * @throws PluginError that names what is wrong
 */
export async function planEpisodes(
  settings: EpisodeSettings,
  components: ComponentRegistry,
  log: Log,
): Promise<PlannedEpisodes> {
  const isolated: IsolatedComponent[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(isolated.map((component) => component.close()));
  };
  const make: Make = async (kind, choice) => {
    const { name } = choice;
    const file = components.moduleOf(kind, name);
    const environment = kind === 'reward' ? variablesOf(components, name) : {};
    if (file === undefined) {
      const context = { log, environment, reward };
      // All three kinds take this context.
      return { name, instance: await components.create(kind as 'reward', choice, context) };
    }
    const component = await IsolatedComponent.start({ file, kind, choice, environment }, log);
    isolated.push(component);
    return { name, instance: component };
  };
  const reward = async (choice: ComponentChoice): Promise<Reward> =>
    (await make('reward', choice)).instance as Reward;
  try {
    const rewardsJudge = judgesWithoutVerifier(settings.rewards, components);
    return { plan: { ...(await planWith(settings, make)), rewardsJudge }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What a reward reads of the environment of this service. */
function variablesOf(components: ComponentRegistry, reward: string): Record<string, string> {
  return readVariables(Object.keys(components.get('reward', reward).environment ?? {}));
}

type Make = (
  kind: IsolatedKind,
  choice: ComponentChoice,
) => Promise<Named<IsolatedComponent | Dialect | Verifier | Reward>>;

async function planWith(
  { model, rollout, rewards, verifier }: EpisodeSettings,
  make: Make,
): Promise<Omit<PlannedEpisodes['plan'], 'rewardsJudge'>> {
  const scoring: Named<Reward>[] = [];
  for (const choice of rewards) scoring.push((await make('reward', choice)) as Named<Reward>);
  return {
    maxTurns: rollout.max_turns,
    historyTurns: model.history_turns,
    maxTokens: rollout.max_tokens,
    topP: rollout.top_p,
    topK: rollout.top_k,
    constrainActions: rollout.constrain_actions,
    promptStyle: model.prompt,
    dialect: (await make('action-dialect', model.action_format)) as Named<TurnDialect>,
    verifier: (await make('verifier', verifier)) as Named<Verifier>,
    rewards: scoring,
    turnTimeoutMs: rollout.turn_timeout_ms,
    episodeTimeoutMs: rollout.episode_timeout_ms,
  };
}
