import { invalid, unsupported } from '@ui-rl/openai-api';
import type { ComponentChoice, LossInput, LossModel } from '@ui-rl/plugin-kit';

/** The engine's equivalent of one of Tinker's losses. */
interface KnownLoss {
  /** Required data, by Tinker's name and the engine's. */
  inputs: Readonly<Record<string, LossInput>>;
  /** Supported options. */
  options: readonly string[];
  choice(options: Readonly<Record<string, number>>): ComponentChoice;
}

const RATIO = { logprobs: 'old_logprobs', advantages: 'advantages' } as const;
const CLIPS = ['clip_low_threshold', 'clip_high_threshold'] as const;
/** Default bounds of the ratio itself. */
const USUAL = { clip_low_threshold: 0.8, clip_high_threshold: 1.2 };

/** Losses of policies, as in the engine; their sums over all tokens are differentiated, as in Tinker's API. */
const OF_POLICIES: Readonly<Record<string, KnownLoss>> = {
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

/** Squares of larger differences overflow float32, so this clip affects no finite value. */
const NO_CLIP = Math.sqrt(3.4e38);

const VALUE: KnownLoss = {
  inputs: { values: 'values', returns: 'returns' },
  options: ['value_clip'],
  choice: ({ value_clip }) => {
    if (value_clip === undefined) return { name: 'value' };
    if (!(value_clip > 0)) throw invalid('loss_fn_config.value_clip', 'expected a number above 0');
    return { name: 'value', value_clip: value_clip < NO_CLIP ? value_clip : 0 };
  },
};

/** Losses of critics; `ppo` is the name that the official client can send for them. */
const OF_CRITICS: Readonly<Record<string, KnownLoss>> = { ppo_critic: VALUE, ppo: VALUE };

const LOSSES = { policy: OF_POLICIES, critic: OF_CRITICS } as const;

/** The engine's options are distances of a ratio from 1. */
function distances(options: Readonly<Record<string, number>>): Record<string, number> {
  const { clip_low_threshold, clip_high_threshold } = { ...USUAL, ...options };
  return { clip_low: 1 - clip_low_threshold, clip_high: clip_high_threshold - 1 };
}

export interface ChosenLoss {
  choice: ComponentChoice;
  inputs: KnownLoss['inputs'];
}

/** @throws ApiError that names a loss or an option that models of this role do not support here */
export function chooseLoss(
  name: string,
  options: Readonly<Record<string, number | string>>,
  role: LossModel = 'policy',
): ChosenLoss {
  const known = LOSSES[role];
  if (!Object.hasOwn(known, name)) {
    const names = Object.keys(known).join(', ');
    const isOfOthers = Object.values(LOSSES).some((losses) => Object.hasOwn(losses, name));
    const why = isOfOthers ? `trains no ${role}; losses that do are` : 'is not known here; known are';
    throw unsupported('loss_fn', `"${name}" ${why} ${names}`);
  }
  const loss = known[name];
  const { inputs, options: taken } = loss;
  const unknown = Object.keys(options).find((each) => !taken.includes(each));
  if (unknown !== undefined) {
    const takes = taken.length === 0 ? 'none' : taken.join(', ');
    const of = role === 'critic' ? ' of a critic' : '';
    throw invalid(`loss_fn_config.${unknown}`, `is not an option of ${name}${of} here, which takes ${takes}`);
  }
  const [text] = Object.entries(options).filter(([, value]) => typeof value === 'string');
  if (text !== undefined) throw invalid(`loss_fn_config.${text[0]}`, `is a text, expected a number`);
  return { choice: loss.choice(options as Readonly<Record<string, number>>), inputs };
}
