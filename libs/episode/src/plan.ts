import type { Dialect, ParseResult, PromptStyle, ScreenSizes } from '@ui-rl/actions';
import type { RolloutRequest } from '@ui-rl/contracts';
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

/** A component of a run, with its name for messages. */
export interface Named<Instance> {
  name: string;
  instance: Instance;
}

/** An action format, in this thread or in another. */
export interface TurnDialect {
  describe(sizes: ScreenSizes, deadline: Deadline): string | Promise<string>;
  parse(text: string, sizes: ScreenSizes, deadline: Deadline): ParseResult | Promise<ParseResult>;
  grammar?(sizes: ScreenSizes, deadline: Deadline): string | undefined | Promise<string | undefined>;
}

/** The components and limits with which a run's episodes are played. */
export interface EpisodePlan {
  /** Number of maximum number of turns per episode, unless the task allows fewer. */
  maxTurns: number;
  /** Number of turns in a prompt, including the current one. */
  historyTurns: number;
  /** Number of turns in a prompt that show their screenshot, including the current one. */
  historyScreenshots: number;
  maxTokens: number;
  temperature: number;
  topP: number;
  topK: number;
  /** Whether sampling is constrained to parsable answers. */
  constrainActions: boolean;
  promptStyle: PromptStyle;
  dialect: Named<TurnDialect>;
  verifier: Named<Verifier>;
  rewards: readonly Named<Reward>[];
  /** Whether one of the rewards judges episodes that the verifier cannot judge. */
  rewardsJudge: boolean;
  /**
   * Time limit of one turn (the policy's answer and its actions, including retries), and of one call of a verifier or
   * reward.
   */
  turnTimeoutMs: number;
  /** Time limit of the whole episode. */
  episodeTimeoutMs: number;
}

/** The number of turns after which an episode is truncated. */
export function maxTurnsOf({ task }: RolloutRequest, { maxTurns }: Pick<EpisodePlan, 'maxTurns'>): number {
  return Math.min(task.maxSteps ?? maxTurns, maxTurns);
}

/** The parts of a run file that affect episodes. */
export type EpisodeSettings = Pick<RunFile, 'model' | 'rollout' | 'verifier' | 'rewards'>;

/** The plan of a run's episodes, with the resources of its components. */
export interface PlannedEpisodes {
  plan: Omit<EpisodePlan, 'temperature'>;
  /** Stops the threads of plugin components. */
  close: () => Promise<void>;
}

/**
 * Creates the components for the episodes of a run. Each plugin component gets its own thread.
 *
 * @throws PluginError that describes the fault
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

/** Values of the environment variables that a reward declares. */
function variablesOf(components: ComponentRegistry, reward: string): Record<string, string> {
  return readVariables(Object.keys(components.get('reward', reward).environment ?? {}));
}

type Make = (
  kind: IsolatedKind,
  choice: ComponentChoice,
) => Promise<Named<IsolatedComponent | Dialect | Verifier | Reward>>;

/** Without a number of screenshots, a prompt has few turns; with it, all turns, because those without are short. */
function historyOf(
  { history_turns: turns }: RunFile['model'],
  { history_screenshots: screenshots }: RunFile['rollout'],
): Pick<EpisodePlan, 'historyTurns' | 'historyScreenshots'> {
  return {
    historyTurns: turns ?? (screenshots === undefined ? 1 : Infinity),
    historyScreenshots: screenshots ?? Infinity,
  };
}

async function planWith(
  { model, rollout, rewards, verifier }: EpisodeSettings,
  make: Make,
): Promise<Omit<PlannedEpisodes['plan'], 'rewardsJudge'>> {
  const scoring: Named<Reward>[] = [];
  for (const choice of rewards) scoring.push((await make('reward', choice)) as Named<Reward>);
  return {
    maxTurns: rollout.max_turns,
    ...historyOf(model, rollout),
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
