import { groupAdvantages, hasRewardSpread, selectByReward } from '@ui-rl/algorithms';
import type { Trajectory, Turn } from '@ui-rl/contracts';
import type { TrainSample } from '@ui-rl/engine';
import type { ProcessedImage } from '@ui-rl/models';
import type { Selection } from './options';

/** What is wrong with a trajectory that says it is valid; undefined where nothing is. */
export function findDefect(trajectory: Trajectory, imageTokenId: number): string | undefined {
  for (const turn of trajectory.turns) {
    const where = `turn ${turn.index}`;
    const placeholders = turn.promptTokenIds.filter((id) => id === imageTokenId).length;
    if (placeholders !== turn.imageTokens) {
      return `${where} has ${placeholders} image placeholders but ${turn.imageTokens} image features`;
    }
    if (turn.logprobs.length !== turn.tokenIds.length) {
      return `${where} has ${turn.tokenIds.length} tokens but ${turn.logprobs.length} log-probabilities`;
    }
    if (turn.promptTokenIds.length === 0) return `${where} has no prompt`;
  }
  return Number.isFinite(trajectory.reward) ? undefined : `its reward is ${trajectory.reward}`;
}

/** Whether training on episodes with these rewards would change anything. */
export function hasLearningSignal(rewards: readonly number[], selection: Selection): boolean {
  return selection.kind === 'advantage'
    ? hasRewardSpread(rewards)
    : selectByReward(rewards, selection).includes(true);
}

/** Advantage per episode of a group; null where an episode is not trained on. */
export function advantagesOf(rewards: readonly number[], selection: Selection): (number | null)[] {
  if (selection.kind === 'advantage') return groupAdvantages(rewards, selection.advantage);
  return selectByReward(rewards, selection).map((selected) => (selected ? 1 : null));
}

/** Each turn with sampled tokens is a sample: what the policy read and what it said, token by token. */
export async function samplesOf(
  trajectory: Trajectory,
  advantage: number,
  imagesOfPrompt: (hashes: readonly string[]) => Promise<ProcessedImage[]>,
): Promise<TrainSample[]> {
  const turns = trajectory.turns.filter((turn) => turn.tokenIds.length > 0);
  return Promise.all(
    turns.map(async (turn) => sampleOf(turn, await imagesOfPrompt(turn.promptImages), advantage)),
  );
}

function sampleOf(turn: Turn, images: ProcessedImage[], advantage: number): TrainSample {
  const features = images.reduce((sum, { tokens }) => sum + tokens, 0);
  if (features !== turn.imageTokens) {
    throw new Error(
      `turn ${turn.index}: its images have ${features} features, its prompt ${turn.imageTokens}`,
    );
  }
  const promptLength = turn.promptTokenIds.length;
  const length = promptLength + turn.tokenIds.length;
  const tokenIds = new Int32Array(length);
  tokenIds.set(turn.promptTokenIds);
  tokenIds.set(turn.tokenIds, promptLength);
  const oldLogprobs = new Float32Array(length);
  oldLogprobs.set(turn.logprobs, promptLength);
  const mask = new Uint8Array(length).fill(1, promptLength);
  return { tokenIds, images, mask, advantages: advantage, oldLogprobs, temperature: turn.temperature };
}
