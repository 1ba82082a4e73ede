import type { Template } from '../template';

export const reward: Template = {
  type: 'RewardComponent',
  types: { test: ['JudgedEpisode'] },
  options: 'bonus: number;',
  description: 'Pays a success more, the fewer turns it took.',
  members: `
  options: {
    bonus: { type: 'number', default: 1, above: 0, description: 'what a success in one turn pays' },
  },
  create: ({ bonus }) => ({
    score({ success, turns }) {
      return success === true ? bonus / turns.length : 0;
    },
  }),`,
  test: `
const context = {
  log: () => undefined,
  environment: {},
  reward: async () => {
    throw new Error('there is no other reward');
  },
};
const deadline = { deadlineAt: Date.now() + 10_000, signal: new AbortController().signal };
const screen = { sha256: 'a'.repeat(64), width: 160, height: 224, png: async () => new Uint8Array() };

const episode = (success/*ts : boolean | null*/, turnCount/*ts : number*/)/*ts : JudgedEpisode*/ => ({
  task: { description: 'Turn on Wi-Fi' },
  seed: 0,
  success,
  status: 'completed',
  turns: Array.from({ length: turnCount }, (_, index) => ({ index, observation: screen, text: '', actions: [] })),
  finalObservation: screen,
  stateBefore: null,
  stateAfter: null,
});

test('a success pays more, the fewer turns it took', async () => {
  const reward = await component.create({ bonus: 2 }, context);
  assert.equal(await reward.score(episode(true, 1), deadline), 2);
  assert.equal(await reward.score(episode(true, 4), deadline), 0.5);
});

test('what is no success pays nothing', async () => {
  const reward = await component.create({ bonus: 2 }, context);
  assert.equal(await reward.score(episode(false, 1), deadline), 0);
  assert.equal(await reward.score(episode(null, 1), deadline), 0);
});`,
  choice: 'rewards: [task-success, { name: NAME, bonus: 0.5 }]',
};
