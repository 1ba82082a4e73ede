import type { SampleClass, SampleResult } from '@ui-rl/plugin-kit';
import { sequenceOf, type Sequence } from '../caches/sequence';
import { EngineError } from '../errors';
import type { TokenGrammar } from '../grammar/token-grammar';
import type { ResolvedInput } from '../training/data';
import type { WorkerSampleRequest } from '../worker-api';
import type { TokenModel } from './token-model';

/** What is to be generated, whatever the weights. */
export type GenerationRequest = Omit<WorkerSampleRequest, 'model' | 'id'>;

/** Which weights have sampled a result, too. */
export type GenerationResult = SampleResult & { version: number };

/** A request that somebody waits for. */
export interface Job {
  request: GenerationRequest;
  /** Equal for equal prompts only. */
  promptKey: string;
  prompt: Sequence;
  /** Rotary position of the first sampled token. */
  position: number;
  stops: ReadonlySet<number>;
  /** What answers must match. */
  grammar: TokenGrammar | undefined;
  /** Whether nobody waits for it any more. */
  isCancelled: boolean;
  resolve(result: GenerationResult): void;
  reject(error: unknown): void;
}

/** Whom a job belongs to. */
export function classOf({ request }: Pick<Job, 'request'>): SampleClass {
  return request.class ?? 'outside';
}

/** What a job takes of the device at most: tokens that are read and sampled. */
export function costOf({ request }: Pick<Job, 'request'>): number {
  return request.prompt.tokenIds.length + request.maxTokens;
}

/** Throws an `EngineError` of category `request` where prompt and answer do not fit or are to be sampled as nothing can be. */
export function jobOf(
  model: TokenModel,
  request: GenerationRequest,
  maxSequence: number,
): Omit<Job, 'resolve' | 'reject'> {
  check(request, maxSequence);
  return {
    request,
    promptKey: keyOf(request.prompt),
    prompt: sequenceOf(request.prompt, model.imageTokenId),
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
