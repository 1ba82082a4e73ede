import { randomInt, randomUUID } from 'node:crypto';
import { Fields, invalid, unsupported } from '@ui-rl/openai-api';
import type { ModelName, SampleRequest, SampleResult } from '@ui-rl/plugin-kit';
import { readModelInput, sampleJson } from '../wire/json';
import { writeSampleOutput, type SampleOutput } from '../wire/protobuf';
import type { WireChunk } from '../wire/training-request';
import { bodyDigest, fieldsOf, pending } from './bodies';
import { addressText, mustSample, parseAddress, roleIn } from './checkpoints';
import type { Context } from './context';
import type { Answer } from './futures';
import { readInput, type ReadInput } from './model-inputs';
import type { SamplingSession, SamplingSource } from './sessions';
import { mustServe } from './training';

const MAX_SEED = 2 ** 31 - 1;
/** Each is searched for after every token. */
const MAX_STOPS = 64;
const MAX_STOP_LENGTH = 1_024;
const MAX_SAMPLES = 1024;
const BASE: ModelName = 'base';

interface Sampling {
  count: number;
  maxTokens: number | undefined;
  temperature: number;
  topP: number;
  topK: number;
  seed: number;
  stopTokens: number[];
  stopTexts: string[];
}

/** Sampling operations. */
export class SamplingVerbs {
  constructor(private readonly context: Context) {}

  async createSamplingSession(body: unknown): Promise<object> {
    const fields = fieldsOf(body);
    const session = this.context.sessions.get(fields.requiredText('session_id'));
    const seq = fields.number('sampling_session_seq_id', { min: 0, integer: true });
    const source = this.sourceOf(fields);
    fields.end();
    const digest = bodyDigest('create_sampling_session', body);
    const known = seq === undefined ? undefined : session.samplingNumbers.get(seq);
    if (known !== undefined && known.digest !== digest) {
      throw invalid('sampling_session_seq_id', `${seq} was another sampling session`);
    }
    if (known !== undefined) return created(known.id);
    const id = randomUUID();
    const ended = session.addSampling(id, source);
    if (seq !== undefined) session.samplingNumbers.set(seq, { digest, id });
    await this.context.samplers.endOf(ended);
    // Reports missing weights, and weights that cannot be sampled from, immediately.
    if (source.kind !== 'saved') return created(id);
    try {
      const { run } = await this.context.store.open(source.address);
      mustSample(roleIn(run), 'model_path', addressText(source.address));
      return created(id);
    } catch (error) {
      session.endSampling(id);
      throw error;
    }
  }

  getSampler(id: string): object {
    const { source } = this.context.sessions.samplingSession(id);
    const path = source.kind === 'saved' ? { model_path: addressText(source.address) } : {};
    return { sampler_id: id, base_model: this.context.model.name, ...path };
  }

  asample(body: unknown): object {
    const { sessions, futures } = this.context;
    const fields = fieldsOf(body);
    const sessionId = fields.text('sampling_session_id');
    const seq = fields.number('seq_id', { min: 0, integer: true });
    const sampling = sessionId === undefined ? undefined : sessions.samplingSession(sessionId);
    const digest = bodyDigest('asample', body);
    const known = seq === undefined ? undefined : sampling?.numbers.find(seq, digest);
    const count = fields.number('num_samples', { min: 1, max: MAX_SAMPLES, integer: true }) ?? 1;
    if (known !== undefined) return begun(known, count);
    const source = sampling === undefined ? this.sourceOf(fields) : sourceIn(sampling, fields);
    const chunks = readModelInput(fields.raw('prompt'), 'prompt');
    const asked = readSampling(Fields.of(fields.raw('sampling_params') ?? {}, 'sampling_params'), count);
    const withPrompt = fields.boolean('prompt_logprobs') ?? false;
    refuseTopk(fields);
    refuseNewer(fields);
    fields.end();
    const requestId = futures.begin(sampling?.session ?? '', () =>
      this.sample(source, chunks, asked, withPrompt),
    );
    if (seq !== undefined) sampling?.numbers.keep(seq, digest, requestId);
    return begun(requestId, count);
  }

  private sourceOf(fields: Fields): SamplingSource {
    const path = fields.text('model_path');
    const base = fields.text('base_model');
    if (base !== undefined) mustServe(this.context.model.name, base, 'base_model');
    if (path !== undefined) return { kind: 'saved', address: parseAddress(path, 'model_path') };
    if (base === undefined)
      throw invalid('model_path', 'is missing; expected model_path, base_model or sampling_session_id');
    return { kind: 'base' };
  }

  private async sample(
    source: SamplingSource,
    chunks: readonly WireChunk[],
    asked: Sampling,
    withPrompt: boolean,
  ): Promise<Answer> {
    const { images, range } = this.context;
    const prompt = await readInput(chunks, 'prompt', images, range);
    try {
      const maxTokens = roomFor(asked.maxTokens, prompt.length, range.maxSequence);
      // No await from here to the engine: found weights may be released during one.
      const model = await this.nameOf(source);
      const sequences = Array.from({ length: asked.count }, (_, index) =>
        this.sampleOne(asked, {
          model,
          prompt: prompt.input,
          maxTokens,
          temperature: asked.temperature,
          topP: asked.topP,
          topK: asked.topK,
          seed: (asked.seed + index) % (MAX_SEED + 1),
          stop: asked.stopTokens,
        }),
      );
      const scored = withPrompt ? this.promptLogprobs(model, prompt) : undefined;
      const [promptLogprobs, sampled] = await Promise.all([scored, Promise.all(sequences)]);
      return sampleAnswer({
        sequences: sampled,
        promptLogprobs,
      });
    } finally {
      images.release(prompt.hashes);
    }
  }

  private nameOf(source: SamplingSource): Promise<ModelName> | ModelName {
    const { samplers } = this.context;
    switch (source.kind) {
      case 'base':
        return BASE;
      case 'held':
        return samplers.held(source.name);
      case 'saved':
        return samplers.at(source.address);
    }
  }

  /** Also ends with the token that completes a stop text. */
  private async sampleOne(
    { stopTexts }: Sampling,
    request: SampleRequest,
  ): Promise<Pick<SampleResult, 'tokens' | 'logprobs' | 'stopReason'>> {
    const { engine, tokenizer } = this.context.model;
    if (stopTexts.length === 0) return engine.sample(request);
    const decoder = tokenizer.incremental();
    const found = new AbortController();
    const said: Pick<SampleResult, 'tokens' | 'logprobs'> = { tokens: [], logprobs: [] };
    const longest = Math.max(...stopTexts.map(({ length }) => length));
    let text = '';
    const onToken = (token: number, logprob: number): void => {
      if (found.signal.aborted) return;
      said.tokens.push(token);
      said.logprobs.push(logprob);
      // The latest characters complete a stop text.
      const added = decoder.push(token);
      text = (text + added).slice(-(added.length + longest));
      if (stopTexts.some((stop) => text.includes(stop))) found.abort();
    };
    try {
      const whole = await engine.sample({ ...request, onToken, signal: found.signal });
      return found.signal.aborted ? { ...said, stopReason: 'stop' } : whole;
    } catch (error) {
      if (found.signal.aborted) return { ...said, stopReason: 'stop' };
      throw error;
    }
  }

  /** Log-probability of each token given the previous ones; NaN for the first, and for image tokens. */
  private async promptLogprobs(model: ModelName, { input, length }: ReadInput): Promise<Float32Array> {
    const tokens = input.chunks.flatMap((chunk) =>
      chunk.type === 'text' ? Array.from(chunk.tokens) : new Array<undefined>(chunk.tokens).fill(undefined),
    );
    const next = [...tokens.slice(1), undefined];
    const datum = {
      modelInput: input,
      targetTokens: next.map((each) => each ?? 0),
      weights: next.map((each) => (each === undefined ? 0 : 1)),
    };
    const found = new Float32Array(length).fill(Number.NaN);
    if (!datum.weights.includes(1)) return found;
    const { logprobs } = await this.context.model.engine.forward({ model, data: [datum] });
    found.set(logprobs[0].subarray(0, length - 1), 1);
    return found;
  }
}

/** Newer clients need the ids of all sequences immediately. */
function begun(requestId: string, count: number): object {
  const ids = Array.from({ length: count }, (_, index) => `${requestId}-${index}`);
  return { ...pending(requestId), sample_sequence_ids: ids };
}

function created(id: string): object {
  return { type: 'create_sampling_session', sampling_session_id: id };
}

function sourceIn({ source }: SamplingSession, fields: Fields): SamplingSource {
  for (const name of ['model_path', 'base_model']) fields.only(name);
  return source;
}

function readSampling(fields: Fields, count: number): Sampling {
  const topK = fields.number('top_k', { min: -1, integer: true }) ?? -1;
  const read = {
    count,
    maxTokens: fields.number('max_tokens', { min: 1, integer: true }),
    temperature: fields.number('temperature', { min: 0 }) ?? 1,
    topP: fields.number('top_p', { min: 1e-6, max: 1 }) ?? 1,
    topK: Math.max(0, topK),
    seed: fields.number('seed', { min: 0, max: MAX_SEED, integer: true }) ?? randomInt(MAX_SEED),
    ...readStop(fields),
  };
  fields.end();
  return read;
}

/** A text, texts or token ids. */
function readStop(fields: Fields): Pick<Sampling, 'stopTokens' | 'stopTexts'> {
  const value = fields.raw('stop') ?? [];
  const stops: unknown[] = Array.isArray(value) ? value : [value];
  if (stops.length > MAX_STOPS)
    throw invalid(fields.at('stop'), `has ${stops.length} entries, expected at most ${MAX_STOPS}`);
  if (stops.every((each) => Number.isSafeInteger(each)))
    return { stopTokens: stops as number[], stopTexts: [] };
  if (stops.every((each) => typeof each === 'string' && each !== '')) {
    const stopTexts = stops as string[];
    const longest = Math.max(...stopTexts.map(({ length }) => length));
    if (longest <= MAX_STOP_LENGTH) return { stopTokens: [], stopTexts };
    throw invalid(
      fields.at('stop'),
      `has a text of ${longest} characters, expected at most ${MAX_STOP_LENGTH}`,
    );
  }
  throw invalid(fields.at('stop'), 'expected a text, a list of texts, or a list of token ids');
}

function refuseTopk(fields: Fields): void {
  const most = fields.number('topk_prompt_logprobs', { min: 0, integer: true }) ?? 0;
  if (most > 0) {
    throw unsupported(
      'topk_prompt_logprobs',
      'is not supported here: expected prompt_logprobs, the log-probabilities of the tokens in the prompt',
    );
  }
}

/** Options that clients since 0.25 can send, with their defaults. */
function refuseNewer(fields: Fields): void {
  for (const name of ['topk_sample_logprobs', 'prompt_alt_tokens_k']) fields.only(name, 0);
  for (const name of ['target_prompt_logprobs', 'prompt_logprobs_last_n']) fields.only(name);
  fields.only('record_stability_info', false);
}

function roomFor(asked: number | undefined, promptTokens: number, maxSequence: number): number {
  const room = maxSequence - promptTokens;
  const maxTokens = asked ?? room;
  if (room >= 1 && maxTokens <= room) return maxTokens;
  throw invalid(
    'sampling_params.max_tokens',
    `is ${maxTokens} after a prompt of ${promptTokens} tokens; a sequence here has at most ${maxSequence} (--max-sequence)`,
  );
}

function sampleAnswer(output: SampleOutput): Answer {
  const tokens = output.sequences.reduce((sum, each) => sum + each.tokens.length, 0);
  return {
    json: () => sampleJson(output),
    protobuf: () => writeSampleOutput(output),
    sizeBytes: 1024 + 16 * tokens + (output.promptLogprobs?.byteLength ?? 0),
  };
}
