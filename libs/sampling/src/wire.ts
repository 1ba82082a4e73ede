import { decodeKeptTokens, encodeKeptTokens, type SampleMessage, type SampleReply } from '@ui-rl/contracts';
import type { ModelInputChunk, SampleRequest, SampleResult } from '@ui-rl/plugin-kit';

/** Encodes a request for a sampler. @param id of this attempt */
export function writeRequest(id: string, request: SampleRequest): SampleMessage {
  const { model, prompt, maxTokens, temperature, topP, topK = 0, seed, stop = [], grammar } = request;
  return {
    ...{ id, weights: model, maxTokens, temperature, topP, topK, seed, stop: [...stop] },
    chunks: prompt.chunks.map(writeChunk),
    movable: request.movable === true,
    class: request.class ?? 'outside',
    grammar,
  };
}

function writeChunk(chunk: ModelInputChunk): SampleMessage['chunks'][number] {
  if (chunk.type === 'text') return { type: 'text', tokens: Array.from(chunk.tokens) };
  const { sha256, tokens: places, continues } = chunk;
  return { type: 'image', sha256, places, continues };
}

/** Decodes a request, except for the name of the weights. Throws if a chunk is incomplete. */
export function readRequest(message: SampleMessage): Omit<SampleRequest, 'model'> {
  const { chunks, maxTokens, temperature, topP, topK, seed, stop, movable, grammar } = message;
  return {
    ...{ maxTokens, temperature, topP, topK, seed, stop, class: message.class },
    prompt: { chunks: chunks.map(readChunk) },
    ...(movable ? { movable } : {}),
    grammar,
  };
}

function readChunk({
  type,
  tokens,
  sha256,
  places,
  continues,
}: SampleMessage['chunks'][number]): ModelInputChunk {
  if (type === 'text' && tokens !== undefined) return { type, tokens };
  if (type === 'image' && sha256 !== undefined && places !== undefined)
    return { type, sha256, tokens: places, continues };
  throw new Error(`a chunk of ${type} lacks its ${type === 'text' ? 'tokens' : 'hash or its places'}`);
}

export function writeResult({ keptTokens, spans, ...result }: SampleResult): SampleReply {
  const { tokens, logprobs, stopReason, digest } = result;
  return {
    ...{ tokens, logprobs, stopReason, digest },
    ...(keptTokens === undefined ? {} : { keptTokens: encodeKeptTokens(keptTokens) }),
    ...(spans === undefined ? {} : { spans: [...spans] }),
  };
}

/** Throws if lists are inconsistent. */
export function readResult({ keptTokens, ...result }: SampleReply): SampleResult {
  const { tokens, logprobs } = result;
  if (tokens.length !== logprobs.length)
    throw new Error(`${tokens.length} tokens came with ${logprobs.length} log-probabilities`);
  return {
    ...result,
    ...(keptTokens === undefined ? {} : { keptTokens: decodeKeptTokens(keptTokens, tokens.length) }),
  };
}
