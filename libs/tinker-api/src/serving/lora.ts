import { invalid, type Fields } from '@ui-rl/openai-api';
import type { LoraOptions } from '@ui-rl/plugin-kit';

/** A client's request for an adapter. */
export interface LoraRequest {
  rank: number;
  trainMlp: boolean;
  trainAttn: boolean;
}

/** Tinker's adapters are scaled by 32 / rank, for every rank. */
const ALPHA = 32;
const MAX_RANK = 1024;

/**
 * Parses `lora_config`. Adapters here exclude the output layer: when a session starts, a message informs the client
 * that `train_unembed`, which clients send as true, has no effect.
 */
export function readLora(fields: Fields): LoraRequest & { seed: number | undefined } {
  const rank = fields.number('rank', { min: 1, max: MAX_RANK, integer: true });
  if (rank === undefined) throw fields.missing('rank');
  const seed = fields.number('seed', { min: 0, integer: true });
  const trainMlp = fields.boolean('train_mlp') ?? true;
  const trainAttn = fields.boolean('train_attn') ?? true;
  fields.note('train_unembed');
  fields.end();
  if (!trainMlp && !trainAttn) {
    throw invalid(fields.at('train_attn'), 'neither attention nor MLP layers would be trained');
  }
  return { rank, trainMlp, trainAttn, seed };
}

export function loraOptions({ rank, trainMlp, trainAttn }: LoraRequest): LoraOptions {
  const targets = trainMlp && trainAttn ? 'all-linear' : trainMlp ? 'mlp' : 'attention';
  return { rank, alpha: ALPHA, targets, dropout: 0, vision: false, rslora: false };
}
