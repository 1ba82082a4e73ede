import type { Turn } from '@ui-rl/contracts';
import { groupOf, turnOf } from '../../test/groups';
import { trainedEpisodes } from './trained-tokens';
import type { TrainedTurn } from './turn-data';

const { trajectories } = groupOf(0, [
  { turns: [turnOf(2), turnOf(3, { index: 1 })] },
  { turns: [turnOf(4)] },
  { turns: [] },
]);
const [[first, second], [third]] = trajectories.map(({ turns }) => turns);

function trained(turn: Turn, weights: number[]): TrainedTurn {
  return { sequence: { turn }, weights: Float32Array.from(weights) } as TrainedTurn;
}

const advantages = new Map([
  [first, Float32Array.of(1, 2)],
  [second, Float32Array.of(0, 0, -0.5)],
  [third, Float32Array.of(-1, -1, -1, -1)],
]);
const parts = [trained(first, [0.25, 0]), trained(third, [1, 1, 1, 1])];
const logprobs = new Map([
  [first, Float32Array.of(-0.123456789, -2)],
  [third, Float32Array.of(-1, -1, -1, -1)],
]);

it('has the advantage of every episode, and the numbers of the tokens that were trained on', () => {
  const { request } = trajectories[0];
  expect(trainedEpisodes(trajectories, advantages, parts, logprobs)).toEqual([
    {
      rolloutId: request.rolloutId,
      advantage: 0.5,
      turns: [{ index: 0, advantages: [1, 2], weights: [0.25, 0], logprobs: [-0.12346, -2] }],
    },
    expect.objectContaining({ advantage: -1, turns: [expect.objectContaining({ weights: [1, 1, 1, 1] })] }),
    { rolloutId: trajectories[2].request.rolloutId, advantage: null, turns: [] },
  ]);
});

it('has only advantages beyond its limit of tokens', () => {
  const turns = trainedEpisodes(trajectories, advantages, parts, logprobs, 5).map(
    (each) => each.turns.length,
  );
  expect(turns).toEqual([1, 0, 0]);
});
