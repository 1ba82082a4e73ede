import type { EngineError } from '../errors';
import type { KvCache } from '../kv-cache/kv-cache';
import type { WeightSet } from '../weights/weight-set';
import type { Job } from './job';
import { decodeInput, IDLE_ROW, readRow, sampleRow, sharedRow, stopReason, type Row } from './row';
import { scoringTemperature } from './sampling';
import type { TokenModel } from './token-model';

export interface LaneOptions {
  maxRows: number;
  maxSequence: number;
  deterministic: boolean;
  /** Prompt tokens, padding included, that are read in one pass. */
  prefillTokens: number;
}

/** What has been generated, by all lanes. */
export interface GenerationCounts {
  generatedTokens: number;
  /** Prompts that were not read because a row in generation had the same. */
  sharedPrompts: number;
}

/** Cache lengths are multiples of so many tokens, so that one that is done with often fits what comes next. */
const LENGTH_STEP = 32;

/** The sequences that are generated with one set of weights: requests that wait, and rows that advance together. */
export class Lane {
  readonly rows: Row[] = [];
  waiting: Job[] = [];
  cache: KvCache | undefined;

  /** @param newCache a cache whose rows have memory for so many tokens */
  constructor(
    readonly model: TokenModel,
    readonly weights: WeightSet,
    private readonly options: LaneOptions,
    private readonly counts: GenerationCounts,
    private readonly newCache: (maxLength: number) => KvCache,
  ) {}

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.waiting.length === 0;
  }

  /** Reads requests into free rows, then one more token in each row. A failure rejects those it concerns. */
  async advance(): Promise<void> {
    try {
      await this.admit();
      if (this.rows.length > 0) await this.decode();
    } catch (error) {
      for (const { job } of this.rows.splice(0)) job.reject(error);
    }
  }

  /** Rejects all that waits for a row. */
  rejectWaiting(reason: EngineError): void {
    for (const job of this.waiting.splice(0)) job.reject(reason);
  }

  /** Rejects all that is generated and all that waits. */
  reject(reason: EngineError): void {
    for (const { job } of this.rows.splice(0)) job.reject(reason);
    this.rejectWaiting(reason);
  }

  private async admit(): Promise<void> {
    const { maxRows } = this.options;
    while (this.waiting.length > 0 && this.rows.length < maxRows) {
      if (this.sharePrompt()) continue;
      const jobs = this.takeTogether();
      try {
        this.cache = this.cacheFor(jobs);
        await this.prefill(this.cache, jobs);
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
  private sharePrompt(): boolean {
    for (const [index, job] of this.waiting.entries()) {
      const source = this.rows.findIndex((row) => row.job.promptKey === job.promptKey);
      if (source < 0 || !this.canShare(job)) continue;
      this.waiting.splice(index, 1);
      try {
        this.addShared(job, source);
      } catch (error) {
        job.reject(error);
      }
      return true;
    }
    return false;
  }

  private addShared(job: Job, source: number): void {
    const row = sharedRow(job);
    this.cache = this.cacheFor([job]);
    this.cache.copyRow(source, this.rows.length, row.cached);
    this.rows.push(row);
    this.counts.sharedPrompts += 1;
  }

  /** Whether a request need not read its prompt where a row has the same. Rows that end with their first token leave none. */
  private canShare({ request }: Job): boolean {
    const { tokenIds } = request.prompt;
    const last = tokenIds[tokenIds.length - 1];
    return (
      !this.options.deterministic && request.maxTokens > 1 && !this.model.forbiddenTokenIds.includes(last)
    );
  }

  /** The cache, long enough for what the jobs may become; in deterministic mode always for the longest there may be. */
  private cacheFor(jobs: readonly Job[]): KvCache {
    const lengths = jobs.map(({ request }) => request.prompt.tokenIds.length + request.maxTokens);
    const { deterministic, maxSequence } = this.options;
    const longest = deterministic ? maxSequence : Math.min(Math.max(...lengths), maxSequence);
    const maxLength = Math.ceil(longest / LENGTH_STEP) * LENGTH_STEP;
    const { cache } = this;
    if (cache === undefined) return this.newCache(maxLength);
    return maxLength <= cache.shape.maxLength ? cache : cache.grown(maxLength, this.rows.length);
  }

  /** Makes each row long enough for so many tokens; in deterministic mode always as long as it may become. */
  private ensureCapacity(cache: KvCache, tokens: number): void {
    cache.ensureCapacity(this.options.deterministic ? cache.shape.maxLength : tokens, this.rows.length);
  }

  /**
   * The next requests to read in one pass: different prompts of similar length, in the order they came; one at a time in
   * deterministic mode.
   */
  private takeTogether(): Job[] {
    const freeRows = this.options.deterministic ? 1 : this.options.maxRows - this.rows.length;
    const jobs: Job[] = [];
    let longest = 0;
    let shortest = Number.POSITIVE_INFINITY;
    for (const job of this.waiting) {
      if (jobs.length === freeRows) break;
      if (this.canShare(job) && jobs.some(({ promptKey }) => promptKey === job.promptKey)) continue;
      const length = job.request.prompt.tokenIds.length;
      longest = Math.max(longest, length);
      shortest = Math.min(shortest, length);
      const padded = (jobs.length + 1) * longest;
      if (jobs.length > 0 && (padded > this.options.prefillTokens || longest > 1.5 * shortest)) break;
      jobs.push(job);
    }
    this.waiting = this.waiting.filter((job) => !jobs.includes(job));
    return jobs;
  }

  private async prefill(cache: KvCache, jobs: Job[]): Promise<void> {
    const first = this.rows.length;
    const prompts = jobs.map(({ request }) => ({
      prompt: request.prompt,
      temperature: scoringTemperature(request.temperature),
    }));
    this.ensureCapacity(cache, Math.max(...prompts.map(({ prompt }) => prompt.tokenIds.length)));
    const probabilities = await this.model.prefill(this.weights, cache, first, prompts);
    const rows = jobs.map(readRow);
    rows.forEach((row, index) => this.sample(row, probabilities, index));
    this.rows.push(...rows);
    this.retire(cache);
  }

  private async decode(): Promise<void> {
    const cache = this.cache as KvCache;
    this.ensureCapacity(cache, Math.max(...this.rows.map(({ cached }) => cached + 1)));
    const inputs = this.rows.map(decodeInput);
    if (this.options.deterministic) while (inputs.length < this.options.maxRows) inputs.push(IDLE_ROW);
    const probabilities = await this.model.decode(this.weights, cache, inputs);
    this.rows.forEach((row, index) => {
      row.cached += 1;
      row.position += 1;
      this.sample(row, probabilities, index);
    });
    this.retire(cache);
  }

  private sample(row: Row, probabilities: Float32Array, index: number): void {
    sampleRow(this.model, row, probabilities, index);
    this.counts.generatedTokens += 1;
  }

  /** Answers the rows that have ended and moves the last rows into their slots. */
  private retire(cache: KvCache): void {
    const { version, digest } = this.weights;
    for (let index = this.rows.length - 1; index >= 0; index -= 1) {
      const row = this.rows[index];
      const reason = stopReason(row, this.options.maxSequence);
      if (reason === undefined) continue;
      const last = this.rows.pop() as Row;
      if (last !== row) {
        cache.copyRow(this.rows.length, index, last.cached);
        this.rows[index] = last;
      }
      const { tokens, logprobs } = row;
      row.job.resolve({ tokens, logprobs, stopReason: reason, version, digest });
    }
  }
}
