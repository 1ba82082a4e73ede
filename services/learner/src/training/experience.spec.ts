import { byTurn, experienceOf } from './experience';
import { groupOf, turnOf } from '../../test/groups';

describe('the inputs of estimators', () => {
  it('is what each turn earned; what the episode earned as a whole is in its last turn', () => {
    const group = groupOf(0, [
      { reward: 1.5, rewards: { quick: 0.5, done: 1 }, turns: [turnOf(2, { reward: 0.5 }), turnOf(1)] },
      { reward: 1, status: 'truncated', success: false, turns: [turnOf(1), turnOf(0)] },
    ]);
    const { task, episodes } = experienceOf(group);
    expect(task.id).toBe(group.trajectories[0].request.task.id);
    expect(episodes.map(({ turns }) => turns.map(({ reward }) => reward))).toEqual([
      [0.5, 1],
      [0, 1],
    ]);
    expect(episodes[0]).toMatchObject({ rolloutId: 'g0-r0', rewards: { quick: 0.5, done: 1 } });
    expect(episodes[1]).toMatchObject({ status: 'truncated', success: false });
    expect(episodes[0].turns[0]).toMatchObject({
      screenshot: group.trajectories[0].turns[0].screenshot,
      logprobs: Float32Array.of(-0, -1),
      inputs: {},
    });
  });

  it('has the arrays that were asked for', () => {
    const group = groupOf(0, [{ turns: [turnOf(2)] }]);
    const { episodes } = experienceOf(group, ({ tokenIds }) => ({
      reference_logprobs: Float32Array.from(tokenIds),
    }));
    expect(episodes[0].turns[0].inputs.reference_logprobs).toEqual(Float32Array.of(0, 1));
  });
});

describe('the results of estimators', () => {
  const groups = [groupOf(0, [{ turns: [turnOf(2), turnOf(1)] }, { turns: [turnOf(1)] }])];
  const turns = groups[0].trajectories.flatMap((episode) => episode.turns);

  it('is known by turn; episodes that are not trained have nothing', () => {
    const found = byTurn(groups, [[[Float32Array.of(1, 2), Float32Array.of(3)], null]], 'advantage x');
    expect(turns.map((turn) => found.get(turn))).toEqual([
      Float32Array.of(1, 2),
      Float32Array.of(3),
      undefined,
    ]);
  });

  it.each([
    [[[[Float32Array.of(1), Float32Array.of(3)], null]], 'gives 1 numbers for turn 0 of episode g0-r0'],
    [[[[Float32Array.of(1, 2)], null]], 'gives nothing for turn 1 of episode g0-r0'],
    [[[null]], 'gives nothing for turn 0 of episode g0-r1'],
    [[[null, [Float32Array.of(Number.NaN)]]], 'gives a NaN for turn 0 of episode g0-r1'],
  ])('is refused where there is not one number per sampled token', (numbers, message) => {
    expect(() => byTurn(groups, numbers, 'advantage x')).toThrow(`advantage x ${message}`);
  });
});
