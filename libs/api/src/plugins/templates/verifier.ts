import type { Template } from '../template';

export const verifier: Template = {
  type: 'VerifierComponent',
  types: { test: ['Episode'] },
  options: 'screen: string;',
  description: 'The right screen has to be open at the end.',
  members: `
  options: {
    screen: { type: 'text', default: 'settings', description: 'what the state has to name as its screen' },
  },
  create: ({ screen }) => ({
    verify({ stateAfter }) {
      // Null: nothing can be said of this episode.
      return stateAfter === null ? null : stateAfter.screen === screen;
    },
  }),`,
  test: `
const context = { log: () => undefined };
const deadline = { deadlineAt: Date.now() + 10_000, signal: new AbortController().signal };
const observation = { sha256: 'a'.repeat(64), width: 160, height: 224, png: async () => new Uint8Array() };

const episode = (stateAfter/*ts : Record<string, unknown> | null*/)/*ts : Episode*/ => ({
  task: { description: 'Open the settings' },
  seed: 0,
  status: 'completed',
  turns: [],
  finalObservation: observation,
  stateBefore: null,
  stateAfter,
});

test('says whether the screen is open, or that it cannot tell', async () => {
  const verifier = component.create({ screen: 'settings' }, context);
  assert.equal(await verifier.verify(episode({ screen: 'settings' }), deadline), true);
  assert.equal(await verifier.verify(episode({ screen: 'home' }), deadline), false);
  assert.equal(await verifier.verify(episode({}), deadline), false);
  assert.equal(await verifier.verify(episode(null), deadline), null);
});`,
  choice: 'verifier: { name: NAME, screen: settings }',
};
