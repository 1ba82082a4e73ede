import type { PolicyAnswer } from './policy';

/** Token counts of a request whose answers all have the same prompt. */
export function usageOf(answers: readonly PolicyAnswer[]) {
  const prompt_tokens = answers[0]?.promptTokenIds.length ?? 0;
  const completion_tokens = answers.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** Seconds since 1970. */
export function now(): number {
  return Math.floor(Date.now() / 1000);
}

export function idsOf({ tokens }: Pick<PolicyAnswer, 'tokens'>): number[] {
  return tokens.map(({ id }) => id);
}
