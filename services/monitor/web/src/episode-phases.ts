import type { EpisodePhase } from '@ui-rl/contracts';

/** The phases of an episode, in order, in words. */
export const EPISODE_PHASES: { phase: EpisodePhase; words: string }[] = [
  { phase: 'opening', words: 'opens the environment' },
  { phase: 'playing', words: 'plays turns' },
  { phase: 'closing', words: 'reads the final state' },
  { phase: 'judging', words: 'judges and scores' },
  { phase: 'storing', words: 'stores screenshots' },
];
