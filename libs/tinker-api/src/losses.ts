import { invalid, unsupported } from '@ui-rl/openai-api';
import type { ComponentChoice, LossInput } from '@ui-rl/plugin-kit';

/** A loss of Tinker's as one of the engine. */
interface KnownLoss {
  /** What data have to bring, by Tinker's name and by the engine's. */
  inputs: Readonly<Record<string, LossInput>>;
  /** Options it knows. */
  options: readonly string[];
  choice(options: Readonly<Record<string, number>>): ComponentChoice;
}

const RATIO = { logprobs: 'old_logprobs', advantages: 'advantages' } as const;
const CLIPS = ['clip_low_threshold', 'clip_high_threshold'] as const;
/** Bounds of the ratio itself, where a request gives none. */
const USUAL = { clip_low_threshold: 0.8, clip_high_threshold: 1.2 };

/** As the engine has them; their sums over all tokens are what is differentiated, as in Tinker's API. */
const LOSSES: Readonly<Record<string, KnownLoss>> = {
  cross_entropy: { inputs: {}, options: [], choice: () => ({ name: 'cross_entropy' }) },
  importance_sampling: { inputs: RATIO, options: [], choice: () => ({ name: 'importance_sampling' }) },
  ppo: { inputs: RATIO, options: CLIPS, choice: (options) => ({ name: 'ppo', ...distances(options) }) },
  gspo: { inputs: RATIO, options: CLIPS, choice: (options) => ({ name: 'gspo', ...distances(options) }) },
  cispo: {
    inputs: RATIO,
    options: CLIPS,
    choice: (options) => {
      const { clip_low_threshold, clip_high_threshold } = { ...USUAL, ...options };
      return { name: 'cispo', ratio_low: clip_low_threshold, ratio_high: clip_high_threshold };
    },
  },
  dro: { inputs: RATIO, options: ['beta'], choice: (options) => ({ name: 'dro', ...options }) },
  dppo: {
    inputs: { logprobs: 'sample_logprobs', advantages: 'advantages' },
    options: ['delta_low', 'delta_high'],
    choice: (options) => ({ name: 'dppo', ...options }),
  },
};

/** The engine says how far from 1 a ratio may be. */
function distances(options: Readonly<Record<string, number>>): Record<string, number> {
  const { clip_low_threshold, clip_high_threshold } = { ...USUAL, ...options };
  return { clip_low: 1 - clip_low_threshold, clip_high: clip_high_threshold - 1 };
}

export interface ChosenLoss {
  choice: ComponentChoice;
  inputs: KnownLoss['inputs'];
}

/** @throws ApiError that names a loss or an option nobody knows here */
export function chooseLoss(name: string, options: Readonly<Record<string, number>>): ChosenLoss {
  if (!Object.hasOwn(LOSSES, name)) {
    throw unsupported('loss_fn', `"${name}" is not known here; known are ${Object.keys(LOSSES).join(', ')}`);
  }
  const loss = LOSSES[name];
  const { inputs, options: known } = loss;
  const unknown = Object.keys(options).find((each) => !known.includes(each));
  if (unknown !== undefined) {
    const takes = known.length === 0 ? 'none' : known.join(', ');
    throw invalid(`loss_fn_config.${unknown}`, `is no option of ${name} here, which takes ${takes}`);
  }
  return { choice: loss.choice(options), inputs };
}
