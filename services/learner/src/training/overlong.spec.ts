import type { AdvantageEstimator, EpisodeGroup } from '@ui-rl/plugin-kit';
import { groupOf, turnOf } from '../../test/groups';
import { experienceOf } from './experience';
import { overlongPenalty, withOverlongPenalty } from './overlong';

const options = { overlong_buffer: 4, overlong_penalty: 0.5 };
const MAX_TOKENS = 10;

it('takes reward off an answer in a line over the last tokens before the limit', () => {
  const lost = [1, 6, 7, 8, 10, 12].map((tokens) => overlongPenalty(tokens, options, MAX_TOKENS));
  expect(lost).toEqual([0, 0, 0.125, 0.25, 0.5, 0.5]);
});

describe('an estimator that is shown shaped rewards', () => {
  const seen: EpisodeGroup[] = [];
  const plain: AdvantageEstimator = {
    estimate(groups, _memory, untrained = []) {
      seen.splice(0, seen.length, ...groups, ...untrained);
      return { advantages: groups.map(({ episodes }) => episodes.map(() => null)), metrics: { own: 1 } };
    },
  };
  const group = experienceOf(
    groupOf(0, [
      { reward: 1, turns: [turnOf(8), turnOf(10)] },
      { reward: 1, turns: [turnOf(3)] },
    ]),
  );

  it('gets each turn’s penalty with that turn, and says what was taken off', () => {
    const { metrics } = withOverlongPenalty(plain, options, MAX_TOKENS).estimate([group]);
    const [{ episodes }] = seen;
    expect(episodes.map(({ reward }) => reward)).toEqual([0.25, 1]);
    expect(episodes.map(({ turns }) => turns.map(({ reward }) => reward))).toEqual([[-0.25, 0.5], [1]]);
    expect(metrics).toEqual({ own: 1, overlong_penalty: 0.375 });
    expect(group.episodes[0].reward).toBe(1);
  });

  it('gets groups that are not trained in the same form', () => {
    withOverlongPenalty(plain, options, MAX_TOKENS).estimate([], undefined, [group]);
    expect(seen.map(({ episodes }) => episodes[0].reward)).toEqual([0.25]);
  });

  it('learns from episodes that earned the same with answers of different length', () => {
    expect(withOverlongPenalty(plain, options, MAX_TOKENS).hasLearningSignal?.(group)).toBe(true);
    const alike = { ...group, episodes: [group.episodes[1], group.episodes[1]] };
    expect(withOverlongPenalty(plain, options, MAX_TOKENS).hasLearningSignal?.(alike)).toBe(false);
  });
});
