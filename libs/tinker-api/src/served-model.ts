import type { Family, ImageProcessor, Tokenizer } from '@ui-rl/models';
import type { Engine } from '@ui-rl/plugin-kit';

/** The served model, and the engine that holds it. */
export interface ServedModel {
  /** Name in requests. */
  name: string;
  /** Name with which clients load its tokenizer: a folder, or a name on the hub. */
  tokenizerId: string;
  /** Started with this model and without trained models; it implements `addModel`. */
  engine: Engine;
  tokenizer: Pick<Tokenizer, 'vocabSize' | 'incremental'>;
  family: Pick<Family, 'imageText'> & { shape: { imageTokenId: number } };
  imageProcessor: Pick<ImageProcessor, 'measure'>;
  /** Longest sequence, in tokens. */
  maxSequence: number;
  /** Whether the engine's results are independent of concurrent work. */
  deterministic: boolean;
}

export interface ServingLimits {
  /** Maximum number of models trained at a time. */
  maxModels: number;
  /** Maximum number of weights held for sampling. */
  maxSamplers: number;
  /** Maximum number of requests in progress. */
  maxRequests: number;
  /** Time in ms without a sign of life after which a session ends. */
  sessionTimeoutMs: number;
  /** Time in ms that a request waits for those with smaller numbers. */
  gapMs: number;
  /** Time in ms that `retrieve_future` waits before it asks the client to retry. */
  pollMs: number;
}

export const USUAL_LIMITS: ServingLimits = {
  maxModels: 4,
  maxSamplers: 16,
  maxRequests: 1024,
  sessionTimeoutMs: 300_000,
  gapMs: 300_000,
  pollMs: 20_000,
};
