import { EngineError } from '../errors';
import type { KvCache } from '../kv-cache/kv-cache';
import { sampleToken, scoringTemperature } from './sampling';
import type { SampleResult } from '@ui-rl/plugin-kit';
import { uniformAt } from '@ui-rl/random';
import type { ResolvedInput } from '../training/data';
import type { DecodeInput, TokenModel } from './token-model';
import type { WorkerSampleRequest } from '../worker-api';
import type { WeightSet } from '../weights/weight-set';

/** What is to be generated, whatever the weights. */
export type GenerationRequest = Omit<WorkerSampleRequest, 'model'>;

/** Which weights have sampled a result, too. */
export type GenerationResult = SampleResult & { version: number };

export interface GeneratorOptions {
  maxRows: number;
  maxSequence: number;
  deterministic: boolean;
  /** Prompt tokens, padding included, that are read in one pass. */
  prefillTokens: number;
}

interface Job {
  request: GenerationRequest;
  /** Equal for equal prompts only. */
  promptKey: string;
  /** Rotary position of the first sampled token. */
  position: number;
  stops: ReadonlySet<number>;
  resolve(result: GenerationResult): void;
  reject(error: unknown): void;
}

/** A sequence in generation: the tokens it has, and where its next one goes. */
interface Row {
  job: Job;
  tokens: number[];
  logprobs: number[];
  /** The token the next pass appends: the last that was sampled, or the prompt's last. */
  next: number;
  /** Tokens in the cache: all before `next`. */
  cached: number;
  /** Rotary position of `next`. */
  position: number;
}

/** The sequences that are generated with one set of weights. */
interface Lane {
  model: TokenModel;
  weights: WeightSet;
  waiting: Job[];
  rows: Row[];
  cache: KvCache | undefined;
}

/** Prompt tokens that are read in one pass. */
export const PREFILL_TOKENS = 2048;

/** Cache lengths are multiples of so many tokens, so that one that is done with often fits what comes next. */
const LENGTH_STEP = 32;

const IDLE_ROW: DecodeInput = { tokenId: 0, cached: 0, position: 0, temperature: 1 };

/**
 * Continuous batching: requests are read into free rows as they come, all rows advance by one token per iteration, rows
 * that end free their slot. Requests that name different weights run in lanes of their own, which take turns.
 */
export class Generator {
  private readonly lanes: Lane[] = [];
  /** Of the lane that closed last, for one that needs the same. */
  private spare: { model: TokenModel; cache: KvCache } | undefined;
  private running: Promise<void> | undefined;
  private readonly onTurn = new Set<() => void>();
  private busyMs = 0;
  private stopped: EngineError | undefined;
  generatedTokens = 0;
  /** Prompts that were not read because a row in generation had the same. */
  sharedPrompts = 0;

  constructor(private readonly options: GeneratorOptions) {}

  get rowsActive(): number {
    return this.lanes.reduce((sum, lane) => sum + lane.rows.length, 0);
  }

  get rowsWaiting(): number {
    return this.lanes.reduce((sum, lane) => sum + lane.waiting.length, 0);
  }

  /** Whether weights are being sampled from, so that they must not change. */
  uses(weights: WeightSet): boolean {
    return this.lanes.some((lane) => lane.weights === weights);
  }

  /** Generates with the weights given; resolves when the response has ended. */
  generate(model: TokenModel, weights: WeightSet, request: GenerationRequest): Promise<GenerationResult> {
    if (this.stopped !== undefined) return Promise.reject(this.stopped);
    this.check(request);
    const position = model.nextPosition(request.prompt);
    const stops = new Set([...model.stopTokenIds, ...(request.stop ?? [])]);
    return new Promise((resolve, reject) => {
      const promptKey = keyOf(request.prompt);
      this.laneOf(model, weights).waiting.push({ request, promptKey, position, stops, resolve, reject });
      this.running ??= this.run();
    });
  }

  /** Lets generation run for so long, or until there is nothing to generate. */
  async share(milliseconds: number): Promise<void> {
    const until = this.busyMs + milliseconds;
    while (this.running !== undefined && this.busyMs < until) {
      await new Promise<void>((resolve) => this.onTurn.add(resolve));
    }
  }

  /** Rejects what is being generated or waits for it, once the pass in progress is over; and all that comes. */
  async stop(reason: EngineError): Promise<void> {
    this.stopped = reason;
    await this.running;
  }

  private check({ prompt, maxTokens, temperature, topP }: GenerationRequest): void {
    const length = prompt.tokenIds.length;
    if (length === 0) throw new EngineError('request', 'the prompt holds no tokens');
    if (length >= this.options.maxSequence) {
      throw new EngineError(
        'request',
        `the prompt has ${length} tokens, which leaves no room in a sequence of ${this.options.maxSequence}; ` +
          'raise maxSequence, or send fewer turns or smaller images',
      );
    }
    if (!(maxTokens >= 1)) throw new EngineError('request', `maxTokens is ${maxTokens}, expected at least 1`);
    if (!(temperature >= 0))
      throw new EngineError('request', `temperature is ${temperature}, expected 0 or more`);
    if (!(topP > 0 && topP <= 1))
      throw new EngineError('request', `topP is ${topP}, expected more than 0, at most 1`);
  }

  private laneOf(model: TokenModel, weights: WeightSet): Lane {
    let lane = this.lanes.find((each) => each.weights === weights);
    if (lane === undefined) {
      lane = { model, weights, waiting: [], rows: [], cache: undefined };
      this.lanes.push(lane);
    }
    return lane;
  }

  private async run(): Promise<void> {
    // Requests that arrive together are read together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.lanes.length > 0) {
      for (const lane of [...this.lanes]) {
        const began = performance.now();
        await this.advance(lane);
        this.busyMs += performance.now() - began;
        this.announceTurn();
      }
    }
    this.running = undefined;
    this.announceTurn();
  }

  private announceTurn(): void {
    const waiting = [...this.onTurn];
    this.onTurn.clear();
    for (const resolve of waiting) resolve();
  }

  private async advance(lane: Lane): Promise<void> {
    try {
      await this.admit(lane);
      if (lane.rows.length > 0) await this.decode(lane);
    } catch (error) {
      for (const { job } of lane.rows.splice(0)) job.reject(error);
    }
    if (this.stopped !== undefined) {
      for (const { job } of lane.rows.splice(0)) job.reject(this.stopped);
      for (const job of lane.waiting.splice(0)) job.reject(this.stopped);
    }
    if (lane.rows.length === 0 && lane.waiting.length === 0) this.close(lane);
  }

  private close(lane: Lane): void {
    this.lanes.splice(this.lanes.indexOf(lane), 1);
    lane.cache?.clear();
    if (lane.cache !== undefined) this.spare = { model: lane.model, cache: lane.cache };
  }

  private async admit(lane: Lane): Promise<void> {
    const { maxRows } = this.options;
    while (this.stopped === undefined && lane.waiting.length > 0 && lane.rows.length < maxRows) {
      if (this.sharePrompt(lane)) continue;
      const jobs = this.takeTogether(lane);
      try {
        lane.cache = this.cacheFor(lane, jobs);
        await this.prefill(lane, lane.cache, jobs);
      } catch (error) {
        for (const job of jobs) job.reject(error);
      }
    }
  }

  /**
   * Samples of a group begin with the same prompt: one reads it, the others take its keys and values and go on with its last
   * token. Not in deterministic mode, since the pass that appends one token rounds otherwise than the one that reads many.
   * Returns whether there was such a request.
   */
  private sharePrompt(lane: Lane): boolean {
    for (const [index, job] of lane.waiting.entries()) {
      const source = lane.rows.findIndex((row) => row.job.promptKey === job.promptKey);
      if (source < 0 || !this.canShare(lane, job)) continue;
      lane.waiting.splice(index, 1);
      try {
        this.addShared(lane, job, source);
      } catch (error) {
        job.reject(error);
      }
      return true;
    }
    return false;
  }

  private addShared(lane: Lane, job: Job, source: number): void {
    const { tokenIds } = job.request.prompt;
    const cached = tokenIds.length - 1;
    lane.cache = this.cacheFor(lane, [job]);
    lane.cache.copyRow(source, lane.rows.length, cached);
    const next = tokenIds[cached];
    lane.rows.push({ job, tokens: [], logprobs: [], next, cached, position: job.position - 1 });
    this.sharedPrompts += 1;
  }

  /** Whether a request need not read its prompt where a row has the same. Rows that end with their first token leave none. */
  private canShare({ model }: Lane, { request }: Job): boolean {
    const { tokenIds } = request.prompt;
    const last = tokenIds[tokenIds.length - 1];
    return !this.options.deterministic && request.maxTokens > 1 && !model.forbiddenTokenIds.includes(last);
  }

  /** The lane's cache, long enough for what the jobs may become; in deterministic mode always for the longest there may be. */
  private cacheFor({ model, cache, rows }: Lane, jobs: readonly Job[]): KvCache {
    const lengths = jobs.map(({ request }) => request.prompt.tokenIds.length + request.maxTokens);
    const { deterministic, maxSequence } = this.options;
    const longest = deterministic ? maxSequence : Math.min(Math.max(...lengths), maxSequence);
    const maxLength = Math.ceil(longest / LENGTH_STEP) * LENGTH_STEP;
    if (cache === undefined) {
      const { spare } = this;
      if (spare?.model !== model || spare.cache.shape.maxLength !== maxLength)
        return model.newCache(maxLength);
      this.spare = undefined;
      return spare.cache;
    }
    return maxLength <= cache.shape.maxLength ? cache : cache.grown(maxLength, rows.length);
  }

  /** Makes each row long enough for so many tokens; in deterministic mode always as long as it may become. */
  private ensureCapacity(cache: KvCache, tokens: number, rows: number): void {
    cache.ensureCapacity(this.options.deterministic ? cache.shape.maxLength : tokens, rows);
  }

  /**
   * The next requests to read in one pass: different prompts of similar length, in the order they came; one at a time in
   * deterministic mode.
   */
  private takeTogether(lane: Lane): Job[] {
    const freeRows = this.options.deterministic ? 1 : this.options.maxRows - lane.rows.length;
    const jobs: Job[] = [];
    let longest = 0;
    let shortest = Number.POSITIVE_INFINITY;
    for (const job of lane.waiting) {
      if (jobs.length === freeRows) break;
      if (this.canShare(lane, job) && jobs.some(({ promptKey }) => promptKey === job.promptKey)) continue;
      const length = job.request.prompt.tokenIds.length;
      longest = Math.max(longest, length);
      shortest = Math.min(shortest, length);
      const padded = (jobs.length + 1) * longest;
      if (jobs.length > 0 && (padded > this.options.prefillTokens || longest > 1.5 * shortest)) break;
      jobs.push(job);
    }
    lane.waiting = lane.waiting.filter((job) => !jobs.includes(job));
    return jobs;
  }

  private async prefill(lane: Lane, cache: KvCache, jobs: Job[]): Promise<void> {
    const first = lane.rows.length;
    const prompts = jobs.map(({ request }) => ({
      prompt: request.prompt,
      temperature: scoringTemperature(request.temperature),
    }));
    const longest = Math.max(...prompts.map(({ prompt }) => prompt.tokenIds.length));
    this.ensureCapacity(cache, longest, first);
    const probabilities = await lane.model.prefill(lane.weights, cache, first, prompts);
    const rows = jobs.map((job): Row => {
      const cached = job.request.prompt.tokenIds.length;
      return { job, tokens: [], logprobs: [], next: 0, cached, position: job.position };
    });
    rows.forEach((row, index) => this.sample(lane.model, row, probabilities, index));
    lane.rows.push(...rows);
    this.retire(lane, cache);
  }

  private async decode(lane: Lane): Promise<void> {
    const cache = lane.cache as KvCache;
    this.ensureCapacity(cache, Math.max(...lane.rows.map(({ cached }) => cached + 1)), lane.rows.length);
    const inputs: DecodeInput[] = lane.rows.map((row) => ({
      tokenId: row.next,
      cached: row.cached,
      position: row.position,
      temperature: scoringTemperature(row.job.request.temperature),
    }));
    if (this.options.deterministic) while (inputs.length < this.options.maxRows) inputs.push(IDLE_ROW);
    const probabilities = await lane.model.decode(lane.weights, cache, inputs);
    lane.rows.forEach((row, index) => {
      row.cached += 1;
      row.position += 1;
      this.sample(lane.model, row, probabilities, index);
    });
    this.retire(lane, cache);
  }

  private sample(model: TokenModel, row: Row, probabilities: Float32Array, index: number): void {
    const { vocabSize, forbiddenTokenIds } = model;
    const own = probabilities.subarray(index * vocabSize, (index + 1) * vocabSize);
    const { request } = row.job;
    const uniform = uniformAt(request.seed, row.tokens.length);
    const { token, logprob } = sampleToken(own, request, uniform, forbiddenTokenIds);
    row.tokens.push(token);
    row.next = token;
    row.logprobs.push(logprob);
    this.generatedTokens += 1;
  }

  /** Answers the rows that have ended and moves the last rows into their slots. */
  private retire(lane: Lane, cache: KvCache): void {
    for (let index = lane.rows.length - 1; index >= 0; index -= 1) {
      const row = lane.rows[index];
      const reason = this.stopReason(row);
      if (reason === undefined) continue;
      const last = lane.rows.pop() as Row;
      if (last !== row) {
        cache.copyRow(lane.rows.length, index, last.cached);
        lane.rows[index] = last;
      }
      row.job.resolve({
        tokens: row.tokens,
        logprobs: row.logprobs,
        stopReason: reason,
        version: lane.weights.version,
        digest: lane.weights.digest,
      });
    }
  }

  private stopReason(row: Row): 'stop' | 'length' | undefined {
    if (row.job.stops.has(row.tokens[row.tokens.length - 1])) return 'stop';
    const full = row.cached + 1 >= this.options.maxSequence;
    return full || row.tokens.length >= row.job.request.maxTokens ? 'length' : undefined;
  }
}

function keyOf({ tokenIds, images }: ResolvedInput): string {
  return [Array.from(tokenIds).join(), ...images.map(({ key }) => key)].join(' ');
}
