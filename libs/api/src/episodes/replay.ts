import {
  samplingSeed,
  type PolicyActReply,
  type PolicyActRequest,
  type RolloutRequest,
  type Screenshot,
  type Trajectory,
  type Turn,
} from '@ui-rl/contracts';
import {
  EpisodeFailure,
  playRollout,
  type EpisodeEnvironment,
  type EpisodePlan,
  type Policy,
} from '@ui-rl/episode';
import type { StepOutcome } from '@ui-rl/plugin-kit';
import { MemoryScreenshots } from '../task/memory-screenshots';
import type { VisionLanguageModel } from '../model/vision-language-model';
import type { Demonstration, DemonstrationStep } from './demonstration';

/** A step as the run's model says it. */
export interface SpokenStep {
  screenshot: Screenshot;
  text: string;
  sampled?: DemonstrationStep['sampled'];
  /** Recorded properties of the turn. */
  recorded?: Pick<Turn, 'actions' | 'outcome' | 'reward'>;
}

export interface ReplayContext {
  plan: EpisodePlan;
  model: VisionLanguageModel;
  /** Longest sequence in tokens. */
  maxSequence: number;
  signal: AbortSignal;
}

export interface ReplayedEpisode {
  trajectory: Trajectory;
  screenshots: MemoryScreenshots;
}

const RUN = 'import';
/** Any demonstration is worth imitating, unless its file has a return. */
const USUAL_REWARD = 1;

/**
 * Plays a demonstration as an episode: the environment shows its screenshots and the policy gives its answers, so
 * that prompts and tokens are those of a rollout.
 *
 * @param steps at least one @returns an invalid trajectory if the first prompt is too long
 */
export async function replay(
  demonstration: Demonstration,
  steps: readonly SpokenStep[],
  rolloutId: string,
  { plan, model, maxSequence, signal }: ReplayContext,
): Promise<ReplayedEpisode> {
  const { record, success } = demonstration;
  const screenshots = new MemoryScreenshots();
  const stage = new Stage(steps, model, maxSequence, screenshots);
  const reward = record?.reward ?? (success === false ? 0 : USUAL_REWARD);
  const trajectory = await playRollout(requestOf(demonstration, rolloutId), {
    plan: {
      ...plan,
      temperature: 1,
      constrainActions: false,
      verifier: { name: RUN, instance: { verify: () => success } },
      rewards: [{ name: RUN, instance: { score: () => record?.rewards ?? { demonstration: reward } } }],
      rewardsJudge: true,
    },
    policy: stage,
    open: async () => stage.environment,
    screenshots,
    warn: () => undefined,
    actor: RUN,
    delivery: 1,
    stopping: signal,
    restarts: 0,
  });
  if (trajectory.status === 'invalid') return { trajectory, screenshots };
  const isWhole = trajectory.turns.length === steps.length;
  Object.assign(trajectory, { reward, status: isWhole ? (record?.status ?? 'completed') : 'truncated' });
  trajectory.turns.forEach((turn, index) => Object.assign(turn, steps[index].recorded));
  return { trajectory, screenshots };
}

function requestOf({ id, goal, record }: Demonstration, rolloutId: string): RolloutRequest {
  const { goalFrom: _, ...task } = record?.task ?? { id: id.slice(-200), source: RUN, description: goal };
  return {
    runId: RUN,
    rolloutId,
    groupId: rolloutId,
    groupIndex: 0,
    indexInGroup: 0,
    groupSize: 1,
    attempt: 0,
    purpose: 'train',
    task: { ...task, description: goal },
    seed: record?.seed ?? 0,
    samplingSeed: samplingSeed(rolloutId),
    policy: 'latest',
  };
}

/** Both sides of a replayed episode. */
class Stage implements Policy {
  private turn = -1;

  constructor(
    private readonly steps: readonly SpokenStep[],
    private readonly model: VisionLanguageModel,
    private readonly maxSequence: number,
    private readonly screenshots: MemoryScreenshots,
  ) {}

  modelImage: Policy['modelImage'] = (screenshot) => this.model.modelImage(screenshot);

  async act(request: PolicyActRequest): Promise<PolicyActReply> {
    this.turn += 1;
    const step = this.steps.at(this.turn);
    // Ends the episode.
    if (step === undefined)
      throw new EpisodeFailure('prompt_too_long', 'the demonstration has no further step');
    const images = request.images.map((each) =>
      typeof each === 'string' ? this.screenshots.png(each) : each,
    );
    const reply = await this.model.answered(Object.assign(request, { images }), step.text, step.sampled);
    // As for half of a surrogate pair. The warm start would refuse the file.
    if (!this.model.says(reply.tokenIds, step.text))
      throw new EpisodeFailure('tokens', 'the model has no tokens for the text of an answer');
    const length = reply.promptTokenIds.length + reply.tokenIds.length;
    if (length <= this.maxSequence) return reply;
    throw new EpisodeFailure(
      'prompt_too_long',
      `turn ${this.turn} has ${length} tokens, model.max_sequence is ${this.maxSequence}`,
    );
  }

  get environment(): EpisodeEnvironment {
    return {
      firstFrame: this.steps[0].screenshot,
      initialState: null,
      step: async (): Promise<StepOutcome> => {
        const { screenshot } = this.steps.at(this.turn + 1) ?? this.steps[this.turn];
        return { screenshot, outcome: 'ok', done: false };
      },
      close: async () => null,
      discard: () => undefined,
    };
  }
}
