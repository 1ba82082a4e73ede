import type { VerifierComponent } from '@ui-rl/plugin-kit';

interface Options {
  screen: string;
}

const component: VerifierComponent<Options> = {
  kind: 'verifier',
  name: 'my-component',
  description: 'Succeeds if a given screen is open at the end.',
  options: {
    screen: { type: 'text', default: 'settings', description: 'screen that the state must name' },
  },
  create: ({ screen }) => ({
    verify({ stateAfter }) {
      // Null: unknown for this episode.
      return stateAfter === null ? null : stateAfter.screen === screen;
    },
  }),
};

export default component;
