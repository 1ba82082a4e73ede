import type { Family, ImageProcessor, Tokenizer } from '@ui-rl/models';
import type { Engine } from '@ui-rl/plugin-kit';

/** The model that is offered, and the engine that holds it. */
export interface ServedModel {
  /** As clients name it. */
  name: string;
  /** What clients load its tokenizer by: a folder, or a name on the hub. */
  tokenizerId: string;
  /** Started with this model and with nothing that is trained; it has `addModel`. */
  engine: Engine;
  tokenizer: Pick<Tokenizer, 'vocabSize' | 'incremental'>;
  family: Pick<Family, 'imageText'> & { shape: { imageTokenId: number } };
  imageProcessor: Pick<ImageProcessor, 'measure'>;
  /** Longest sequence, in tokens. */
  maxSequence: number;
  /** Whether the engine promises the same results whatever it computes beside them. */
  deterministic: boolean;
}

export interface ServingLimits {
  /** Models that are trained at a time. */
  maxModels: number;
  /** Weights that are held to sample from, at a time. */
  maxSamplers: number;
  /** Requests in progress. */
  maxRequests: number;
  /** A session nobody has been heard of for so long ends. */
  sessionTimeoutMs: number;
  /** So long a request waits for those that were numbered before it. */
  gapMs: number;
  /** So long `retrieve_future` waits before it asks to come again. */
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
