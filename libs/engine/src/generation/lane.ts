import type { PrefixCache } from '../caches/prefix-cache';
import { beginningOf } from '../caches/sequence';
import type { SampleClass } from '@ui-rl/plugin-kit';
import type { EngineError } from '../errors';
import type { KvCache } from '../kv-cache/kv-cache';
import type { WeightSet } from '../weights/weight-set';
import { FairQueue, SHARES, type FairShares } from './fair-queue';
import { classOf, costOf, type Job } from './job';
import { cutAtLeast, cutAtMost, DETERMINISTIC_PART, stateKeptAt, wholeParts, type Reading } from './reading';
import {
  cachedSequence,
  decodeInput,
  IDLE_ROW,
  readRow,
  sampledBy,
  sampleRow,
  sharedRow,
  stopReason,
  type Row,
} from './row';
import { scoringTemperature } from './sampling';
import type { NextTokens, TokenModel } from './token-model';

export interface LaneOptions {
  maxRows: number;
  maxSequence: number;
  deterministic: boolean;
  /** Prompt tokens per prefill pass, padding included. */
  prefillTokens: number;
}

/** Totals over all lanes. */
export interface GenerationCounts {
  generatedTokens: number;
  /** Prompts copied from a running row with the same prompt. */
  sharedPrompts: number;
  /** Prompts that were partly in the prefix cache. */
  prefixHits: number;
  /** Tokens of all prompts. */
  promptTokens: number;
  /** Prompt tokens that were not prefilled. */
  cachedPromptTokens: number;
}

/** Resources shared by lanes. */
export interface LaneParts {
  counts: GenerationCounts;
  prefixes: PrefixCache;
  shares: FairShares;
  /** A cache whose rows have memory for this many tokens. */
  newCache(maxLength: number): KvCache;
}

const CLASSES = Object.keys(SHARES) as SampleClass[];

/** Cache lengths are multiples of this, so that a released cache often fits the next use. */
const LENGTH_STEP = 32;

/** Prompts with at most this many tokens left are prefilled together, however their lengths differ. */
const SHORT = 64;

/** Maximum number of attention scores per head in a pass, new tokens × cached tokens. */
const SCORES = 2048 * 2048;

/**
 * The sequences generated with one set of weights: waiting requests, and rows that advance together. Movable ones can
 * switch to other weights between two passes.
 */
export class Lane {
  readonly rows: Row[] = [];
  readonly waiting: FairQueue<Job>;
  cache: KvCache | undefined;
  /** Weights of the next pass. */
  private successor: WeightSet | undefined;

  constructor(
    readonly model: TokenModel,
    private current: WeightSet,
    readonly movable: boolean,
    private readonly options: LaneOptions,
    private readonly parts: LaneParts,
  ) {
    this.waiting = new FairQueue<Job>(parts.shares, classOf, costOf);
  }

  /** The class with the largest share among waiting and running requests; the first of `SHARES` on a tie. */
  get class(): SampleClass {
    const classes = new Set([...this.rows.map(({ job }) => classOf(job)), ...this.waiting.classes]);
    const here = CLASSES.filter((each) => classes.has(each));
    return here.reduce((best, each) => (SHARES[each] > SHARES[best] ? each : best), here[0] ?? 'outside');
  }

  /** The weights of the current or the previous pass. */
  get weights(): WeightSet {
    return this.current;
  }

  /** The weights of the next pass. */
  get nextWeights(): WeightSet {
    return this.successor ?? this.current;
  }

  /** Switches the next pass to these weights. Keys and values of earlier tokens stay unchanged. */
  moveTo(weights: WeightSet): void {
    this.successor = weights;
  }

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.waiting.length === 0;
  }

  /** Prefills requests into free rows, then samples one token per row. A failure rejects the affected requests. */
  async advance(): Promise<void> {
    this.move();
    try {
      this.dropCancelled();
      await this.admit();
      if (this.rows.length > 0) await this.decode();
    } catch (error) {
      for (const { job } of this.rows.splice(0)) job.reject(error);
    }
  }

  private move(): void {
    if (this.successor === undefined) return;
    this.current = this.successor;
    this.successor = undefined;
    for (const row of this.rows) row.isMixed = true;
  }

  /** Rejects all requests without a row. */
  rejectWaiting(reason: EngineError): void {
    for (const job of this.waiting.clear()) job.reject(reason);
  }

  /** Rejects all running and waiting requests. */
  reject(reason: EngineError): void {
    for (const { job } of this.rows.splice(0)) job.reject(reason);
    this.rejectWaiting(reason);
  }

  private async admit(): Promise<void> {
    const { maxRows } = this.options;
    while (this.waiting.length > 0 && this.rows.length < maxRows) {
      if (this.sharePrompt()) continue;
      const readings = this.takeTogether();
      const jobs = readings.map(({ job }) => job);
      try {
        this.cache = this.cacheFor(jobs);
        await this.prefill(this.cache, readings);
      } catch (error) {
        for (const job of jobs) job.reject(error);
        for (const row of this.rows) row.isOver ||= jobs.includes(row.job);
      }
    }
  }

  /**
   * Samples of a group share their prompt: one prefills it, and the others copy its keys and values and continue from
   * its last token; with recurrent states, they continue from the stored states, see `keptAt`. Not in deterministic
   * mode, because a pass over one token rounds differently from a pass over many. Returns whether there was such a
   * request.
   */
  private sharePrompt(): boolean {
    for (const job of this.waiting.inOrder()) {
      const source = this.rows.findIndex((row) => !row.isMixed && row.job.promptKey === job.promptKey);
      if (source < 0 || !this.canShare(job)) continue;
      this.waiting.take([job]);
      job.request.onBegin?.();
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
    this.parts.counts.sharedPrompts += 1;
    this.parts.counts.promptTokens += row.cached + 1;
    this.parts.counts.cachedPromptTokens += row.cached;
  }

  /** Whether a request can copy its prompt from a row. Rows that end with their first token leave nothing to copy. */
  private canShare({ request }: Job): boolean {
    const { tokenIds } = request.prompt;
    const last = tokenIds[tokenIds.length - 1];
    const { hasStates, forbiddenTokenIds } = this.model;
    const mayShare = !this.options.deterministic && !hasStates;
    return mayShare && request.maxTokens > 1 && !forbiddenTokenIds.includes(last);
  }

  /** A cache of sufficient length for the jobs; in deterministic mode always the maximum length. */
  private cacheFor(jobs: readonly Job[]): KvCache {
    const lengths = jobs.map(({ request }) => request.prompt.tokenIds.length + request.maxTokens);
    const { deterministic, maxSequence } = this.options;
    const longest = deterministic ? maxSequence : Math.min(Math.max(...lengths), maxSequence);
    const maxLength = Math.ceil(longest / LENGTH_STEP) * LENGTH_STEP;
    const { cache } = this;
    if (cache === undefined) return this.parts.newCache(maxLength);
    return maxLength <= cache.shape.maxLength ? cache : cache.grown(maxLength, this.rows.length);
  }

  /** Grows each row for this many tokens; in deterministic mode always to the maximum length. */
  private ensureCapacity(cache: KvCache, tokens: number): void {
    cache.ensureCapacity(this.options.deterministic ? cache.shape.maxLength : tokens, this.rows.length);
  }

  /**
   * The next requests to prefill in one pass: different prompts of similar length, in order of arrival; one at a time
   * in deterministic mode.
   */
  private takeTogether(): Reading[] {
    const freeRows = this.options.deterministic ? 1 : this.options.maxRows - this.rows.length;
    const readings: Reading[] = [];
    const left = { longest: 0, shortest: Number.POSITIVE_INFINITY };
    let longest = 0;
    for (const job of this.waiting.inOrder()) {
      if (readings.length === freeRows) break;
      const isTaken = readings.some((reading) => reading.job.promptKey === job.promptKey);
      if (isTaken && this.canShare(job)) continue;
      const reading = this.readingOf(job);
      if (this.model.hasStates && !this.goesTogether(reading, readings, isTaken)) continue;
      const { length } = job.prompt.tokenIds;
      left.longest = Math.max(left.longest, length - reading.cached);
      left.shortest = Math.min(left.shortest, length - reading.cached);
      longest = Math.max(longest, length);
      const padded = (readings.length + 1) * left.longest;
      const isSimilar = left.longest <= Math.max(SHORT, 1.5 * left.shortest);
      const continues = [...readings, reading].some(({ cached }) => cached > 0);
      const fits = padded <= this.options.prefillTokens && (!continues || padded * longest <= SCORES);
      if (readings.length > 0 && !(isSimilar && fits)) break;
      readings.push(reading);
    }
    this.waiting.take(readings.map(({ job }) => job));
    for (const { job } of readings) job.request.onBegin?.();
    return readings;
  }

  /**
   * Prompts with storable states are first prefilled up to that point, all together. A duplicate of one of them
   * continues from there in a later pass.
   */
  private goesTogether(reading: Reading, readings: readonly Reading[], isTaken: boolean): boolean {
    const isNew = this.keptAt(reading.job) > reading.cached;
    return readings.every(({ job, cached }) => this.keptAt(job) > cached === isNew) && !(isTaken && isNew);
  }

  /** Number of tokens after which the states of a prompt are stored; 0 without states. */
  private keptAt(job: Job): number {
    const { limitBytes } = this.parts.prefixes;
    return this.model.hasStates && limitBytes > 0 ? stateKeptAt(job, this.options.deterministic) : 0;
  }

  /** The part of a prompt to prefill: at least its last token, because the answer starts after it. */
  private readingOf(job: Job): Reading {
    const { length } = job.prompt.tokenIds;
    if (this.model.hasStates) {
      const prefix = this.parts.prefixes.find(this.weights, beginningOf(job.prompt, length - 1));
      return { job, prefix, cached: prefix?.tokens ?? 0 };
    }
    const prefix = this.parts.prefixes.find(this.weights, job.prompt);
    const known = Math.min(prefix?.tokens ?? 0, length - 1);
    const cached = this.options.deterministic ? wholeParts(job, known) : cutAtMost(job, known);
    return { job, prefix, cached };
  }

  private async prefill(cache: KvCache, readings: readonly Reading[]): Promise<void> {
    this.ensureCapacity(cache, Math.max(...readings.map(({ job }) => job.prompt.tokenIds.length)));
    const scores = await this.readPrompts(cache, readings);
    const rows = readings.map(({ job }) => readRow(job));
    const first = this.rows.length;
    for (const [index, { job, cached }] of readings.entries())
      await this.keepPrompt(cache, job, first + index, cached);
    rows.forEach((row, index) => this.sample(row, scores, index));
    this.rows.push(...rows);
    await this.retire(cache);
  }

  /** Prefills the unknown parts of prompts, long ones in several passes; returns the next-token distributions. */
  private async readPrompts(cache: KvCache, readings: readonly Reading[]): Promise<NextTokens> {
    const { model, weights, rows } = this;
    for (const [index, { prefix, cached }] of readings.entries()) {
      if (prefix !== undefined && cached > 0) {
        await this.parts.prefixes.read({ ...prefix, tokens: cached }, cache, rows.length + index);
      } else cache.clearRow(rows.length + index);
    }
    const part = this.partOf(readings);
    let cached = readings.map((reading) => reading.cached);
    for (;;) {
      const inputs = readings.map(({ job }, index) => {
        const { request, grammar } = job;
        const { prompt, temperature } = request;
        const end = cached[index] < this.keptAt(job) ? this.keptAt(job) : prompt.tokenIds.length;
        const until = Math.min(end, cutAtLeast(job, cached[index] + part));
        return {
          prompt,
          temperature: scoringTemperature(temperature),
          cached: cached[index],
          until,
          wantsLogits: grammar !== undefined,
        };
      });
      const scores = await model.prefill(weights, cache, rows.length, inputs);
      if (inputs.every(({ prompt, until }) => until === prompt.tokenIds.length)) return scores;
      cached = inputs.map(({ until }) => until);
      for (const [index, { job }] of readings.entries()) {
        if (cached[index] !== this.keptAt(job)) continue;
        const beginning = beginningOf(job.prompt, cached[index]);
        await this.parts.prefixes.keep(this.weights, beginning, cache, rows.length + index);
      }
    }
  }

  /** Number of tokens of each prompt per pass. */
  private partOf(readings: readonly Reading[]): number {
    if (this.options.deterministic) return DETERMINISTIC_PART;
    const [{ job, cached }] = readings;
    if (readings.length > 1 || cached === 0) return this.options.maxSequence;
    return Math.max(SHORT, Math.floor(SCORES / job.prompt.tokenIds.length));
  }

  /** Stores a prompt as a prefix for others; in deterministic mode its whole parts only. */
  private async keepPrompt(cache: KvCache, job: Job, row: number, cached: number): Promise<void> {
    const { prompt } = job;
    const { length } = prompt.tokenIds;
    if (!this.model.hasStates) {
      const kept = this.options.deterministic ? wholeParts(job, length) : length;
      await this.parts.prefixes.keep(this.weights, beginningOf(prompt, kept), cache, row);
    }
    const { counts } = this.parts;
    if (cached > 0) counts.prefixHits += 1;
    counts.promptTokens += length;
    counts.cachedPromptTokens += cached;
  }

  /**
   * Stores the samples of finished rows for prompts that continue them. Not in deterministic mode, see
   * `DETERMINISTIC_PART`.
   */
  private async keepEnded(cache: KvCache): Promise<void> {
    if (this.options.deterministic) return;
    for (const [index, row] of this.rows.entries()) {
      if (row.isMixed || row.isOver || stopReason(row, this.options.maxSequence) === undefined) continue;
      await this.parts.prefixes.keep(this.weights, cachedSequence(row), cache, index);
    }
  }

  private async decode(): Promise<void> {
    const cache = this.cache as KvCache;
    this.ensureCapacity(cache, Math.max(...this.rows.map(({ cached }) => cached + 1)));
    const inputs = this.rows.map(decodeInput);
    if (this.options.deterministic) while (inputs.length < this.options.maxRows) inputs.push(IDLE_ROW);
    const scores = await this.model.decode(this.weights, cache, inputs);
    this.rows.forEach((row, index) => {
      row.cached += 1;
      row.position += 1;
      this.sample(row, scores, index);
    });
    await this.retire(cache);
  }

  /** If a row has no possible next token, for example because its grammar allows none, only that row fails. */
  private sample(row: Row, scores: NextTokens, index: number): void {
    try {
      sampleRow(this.model, this.weights, row, scores, index);
      this.parts.counts.generatedTokens += 1;
    } catch (error) {
      row.isOver = true;
      row.job.reject(error);
    }
  }

  /** Frees the slots of cancelled rows. */
  private dropCancelled(): void {
    for (let index = this.rows.length - 1; index >= 0; index -= 1) {
      const { isOver, job } = this.rows[index];
      if (isOver || job.isCancelled) this.removeRow(this.cache as KvCache, index);
    }
  }

  /** Moves the last row into the slot of a finished one. */
  private removeRow(cache: KvCache, index: number): void {
    const last = this.rows.pop() as Row;
    if (index === this.rows.length) return;
    cache.copyRow(this.rows.length, index, last.cached);
    this.rows[index] = last;
  }

  /** Resolves the requests of finished rows. */
  private async retire(cache: KvCache): Promise<void> {
    await this.keepEnded(cache);
    for (let index = this.rows.length - 1; index >= 0; index -= 1) {
      const row = this.rows[index];
      const reason = stopReason(row, this.options.maxSequence);
      if (reason === undefined && !row.isOver) continue;
      this.removeRow(cache, index);
      if (reason === undefined || row.isOver) continue;
      row.job.resolve({ ...sampledBy(row), stopReason: reason });
    }
  }
}
