import type { SampleClass, SampleResult } from '@ui-rl/plugin-kit';
import { sequenceOf, type PlacedImage, type Sequence } from '../caches/sequence';
import { EngineError } from '../errors';
import type { TokenGrammar } from '../grammar/token-grammar';
import type { ResolvedInput } from '../training/data';
import type { WorkerSampleRequest } from '../worker-api';
import type { TokenModel } from './token-model';

/** A generation request, independent of the weights. */
export type GenerationRequest = Omit<WorkerSampleRequest, 'model' | 'id'>;

/** Includes the version of the weights that sampled the result. */
export type GenerationResult = SampleResult & { version: number };

/** A pending request. */
export interface Job {
  request: GenerationRequest;
  /** Equal only for equal prompts. */
  promptKey: string;
  prompt: Sequence;
  /** Parts of the prompt that a pass must read as a whole. */
  uncut: readonly PlacedImage[];
  /** Rotary position of the first sampled token. */
  position: number;
  stops: ReadonlySet<number>;
  /** Grammar that the answer must match. */
  grammar: TokenGrammar | undefined;
  /** Whether the caller has cancelled it. */
  isCancelled: boolean;
  resolve(result: GenerationResult): void;
  reject(error: unknown): void;
}

/** The scheduling class of a job. */
export function classOf({ request }: Pick<Job, 'request'>): SampleClass {
  return request.class ?? 'outside';
}

/** Upper bound on a job's device use: tokens to prefill and to sample. */
export function costOf({ request }: Pick<Job, 'request'>): number {
  return request.prompt.tokenIds.length + request.maxTokens;
}

/**
 * Throws an `EngineError` of category `request` if prompt and answer do not fit, or the sampling options are invalid.
 */
export function jobOf(
  model: TokenModel,
  request: GenerationRequest,
  maxSequence: number,
): Omit<Job, 'resolve' | 'reject'> {
  check(request, maxSequence);
  const prompt = sequenceOf(request.prompt, model.imageTokenId);
  return {
    request,
    promptKey: keyOf(request.prompt),
    prompt,
    uncut: model.wholeImages ? prompt.images : [],
    position: model.nextPosition(request.prompt),
    stops: new Set([...model.stopTokenIds, ...(request.stop ?? [])]),
    grammar: request.grammar === undefined ? undefined : model.grammar(request.grammar),
    isCancelled: false,
  };
}

function check(
  { prompt, maxTokens, temperature, topP, topK = 0 }: GenerationRequest,
  maxSequence: number,
): void {
  const length = prompt.tokenIds.length;
  if (length === 0) throw new EngineError('request', 'the prompt holds no tokens');
  if (length >= maxSequence) {
    throw new EngineError(
      'request',
      `the prompt has ${length} tokens, which leaves no room in a sequence of ${maxSequence}; ` +
        'raise maxSequence, or send fewer turns or smaller images',
    );
  }
  if (!(maxTokens >= 1)) throw new EngineError('request', `maxTokens is ${maxTokens}, expected at least 1`);
  if (!(temperature >= 0))
    throw new EngineError('request', `temperature is ${temperature}, expected 0 or more`);
  if (!(topP > 0 && topP <= 1))
    throw new EngineError('request', `topP is ${topP}, expected more than 0, at most 1`);
  if (!(Number.isInteger(topK) && topK >= 0))
    throw new EngineError('request', `topK is ${topK}, expected a whole number from 0 on`);
}

function keyOf({ tokenIds, images }: ResolvedInput): string {
  return [Array.from(tokenIds).join(), ...images.map(({ key }) => key)].join(' ');
}
