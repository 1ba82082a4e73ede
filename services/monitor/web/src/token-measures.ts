import type { TurnView } from '@ui-rl/records';

/** A sampled token with what the records hold of it; null where they lack it. */
export interface Token {
  place: number;
  id: number;
  /** The text that it adds; empty for tokens that control the chat, and while a character is incomplete. */
  text: string;
  logprob: number;
  advantage: number | null;
  /** Log-probability by the trainer, before its optimizer step. */
  trainerLogprob: number | null;
  /** Probability by the trainer over that by the sampler. */
  ratio: number | null;
  /** Weight in the loss; 0 if it was masked. */
  weight: number | null;
  /** See {@link pushOf}. */
  push: number | null;
}

export function tokensOf({ tokenIds, tokenTexts, logprobs, trained }: TurnView): Token[] {
  return tokenIds.map((id, place) => {
    const logprob = logprobs[place];
    const token = { place, id, text: tokenTexts?.[place] ?? '', logprob };
    if (trained === null) {
      return { ...token, advantage: null, trainerLogprob: null, ratio: null, weight: null, push: null };
    }
    const [advantage, trainerLogprob, weight] = [
      trained.advantages[place],
      trained.logprobs[place],
      trained.weights[place],
    ];
    const ratio = Math.exp(trainerLogprob - logprob);
    const push = pushOf(advantage, ratio, trainerLogprob, weight);
    return { ...token, advantage, trainerLogprob, ratio, weight, push };
  });
}

/**
 * How far the step wants to move the logit of a token: advantage · ratio · (1 − probability), the gradient of the
 * policy-gradient objective without clipping. 0 if the token was masked.
 */
function pushOf(advantage: number, ratio: number, logprob: number, weight: number): number {
  return weight === 0 ? 0 : advantage * ratio * (1 - Math.exp(logprob));
}

/** The tokens that were blamed most, or credited most with `sign` 1. Those that control the chat have no text. */
export function mostPushed(tokens: readonly Token[], sign: 1 | -1, most = 3): Token[] {
  return tokens
    .filter(({ push, text }) => push !== null && push * sign > 0 && text.trim() !== '')
    .toSorted((a, b) => Math.abs(b.push!) - Math.abs(a.push!))
    .slice(0, most);
}

export const COLOURS = ['logprob', 'push', 'ratio'] as const;
export type Colour = (typeof COLOURS)[number];

/** Natural logarithm below which a token has the strongest colour: a probability of 2 %. */
const IMPROBABLE = 4;

/** −1 (red) to 1 (green), or 0 to 1 for log-probabilities. @param strongest |push| of the strongest token */
export function heatOf(token: Token, colour: Colour, strongest: number): number {
  if (colour === 'logprob') return Math.min(1, -token.logprob / IMPROBABLE);
  if (colour === 'push') return strongest === 0 ? 0 : (token.push ?? 0) / strongest;
  return token.ratio === null ? 0 : Math.max(-1, Math.min(1, Math.log(token.ratio) / Math.LN2));
}
