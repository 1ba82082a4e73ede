import type { PrefixCache } from '../caches/prefix-cache';
import { beginningOf } from '../caches/sequence';
import type { SampleClass } from '@ui-rl/plugin-kit';
import type { EngineError } from '../errors';
import type { KvCache } from '../kv-cache/kv-cache';
import type { WeightSet } from '../weights/weight-set';
import { FairQueue, SHARES, type FairShares } from './fair-queue';
import { classOf, costOf, type Job } from './job';
import { DETERMINISTIC_PART, stateKeptAt, type Reading } from './reading';
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
  /** Prompt tokens, padding included, that are read in one pass. */
  prefillTokens: number;
}

/** What has been generated, by all lanes. */
export interface GenerationCounts {
  generatedTokens: number;
  /** Prompts that were not read because a row in generation had the same. */
  sharedPrompts: number;
  /** Prompts of which a part was not read because its keys and values were kept. */
  prefixHits: number;
  /** Tokens of all prompts. */
  promptTokens: number;
  /** Of those, tokens that were not read. */
  cachedPromptTokens: number;
}

/** What lanes share. */
export interface LaneParts {
  counts: GenerationCounts;
  prefixes: PrefixCache;
  shares: FairShares;
  /** A cache whose rows have memory for so many tokens. */
  newCache(maxLength: number): KvCache;
}

const CLASSES = Object.keys(SHARES) as SampleClass[];

/** Cache lengths are multiples of so many tokens, so that one that is done with often fits what comes next. */
const LENGTH_STEP = 32;

/** Prompts of which that little is left to read are read together, however their lengths differ. */
const SHORT = 64;

/** Scores of one head, of new tokens over those in the cache, that a pass computes at once. */
const SCORES = 2048 * 2048;

/**
 * The sequences that are generated with one set of weights: requests that wait, and rows that advance together. Where they are movable
 * they go on with other weights between two passes.
 */
export class Lane {
  readonly rows: Row[] = [];
  readonly waiting: FairQueue<Job>;
  cache: KvCache | undefined;
  /** What the next pass changes to. */
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

  /** The class with the largest share among those that wait or generate here; of equal ones the first of `SHARES`. */
  get class(): SampleClass {
    const classes = new Set([...this.rows.map(({ job }) => classOf(job)), ...this.waiting.classes]);
    const here = CLASSES.filter((each) => classes.has(each));
    return here.reduce((best, each) => (SHARES[each] > SHARES[best] ? each : best), here[0] ?? 'outside');
  }

  /** Those of the pass in progress, or of the one before. */
  get weights(): WeightSet {
    return this.current;
  }

  /** Those of the next pass. */
  get nextWeights(): WeightSet {
    return this.successor ?? this.current;
  }

  /** The next pass is one of these weights. Keys and values of the tokens before stay as they are. */
  moveTo(weights: WeightSet): void {
    this.successor = weights;
  }

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.waiting.length === 0;
  }

  /** Reads requests into free rows, then one more token in each row. A failure rejects those it concerns. */
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

  /** Rejects all that waits for a row. */
  rejectWaiting(reason: EngineError): void {
    for (const job of this.waiting.clear()) job.reject(reason);
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
   * Samples of a group begin with the same prompt: one reads it, the others take its keys and values and go on with its last
   * token; where rows remember states, they go on from those that were kept, see `keptAt`. Not in deterministic mode, since the pass that appends one token rounds otherwise than the one that reads many.
   * Returns whether there was such a request.
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

  /** Whether a request need not read its prompt where a row has the same. Rows that end with their first token leave none. */
  private canShare({ request }: Job): boolean {
    const { tokenIds } = request.prompt;
    const last = tokenIds[tokenIds.length - 1];
    const { hasStates, forbiddenTokenIds } = this.model;
    const mayShare = !this.options.deterministic && !hasStates;
    return mayShare && request.maxTokens > 1 && !forbiddenTokenIds.includes(last);
  }

  /** The cache, long enough for what the jobs may become; in deterministic mode always for the longest there may be. */
  private cacheFor(jobs: readonly Job[]): KvCache {
    const lengths = jobs.map(({ request }) => request.prompt.tokenIds.length + request.maxTokens);
    const { deterministic, maxSequence } = this.options;
    const longest = deterministic ? maxSequence : Math.min(Math.max(...lengths), maxSequence);
    const maxLength = Math.ceil(longest / LENGTH_STEP) * LENGTH_STEP;
    const { cache } = this;
    if (cache === undefined) return this.parts.newCache(maxLength);
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
   * Prompts whose states are to be kept are read up to there first, all together. One that another one of them is the same as goes on
   * from there once that has been read.
   */
  private goesTogether(reading: Reading, readings: readonly Reading[], isTaken: boolean): boolean {
    const isNew = this.keptAt(reading.job) > reading.cached;
    return readings.every(({ job, cached }) => this.keptAt(job) > cached === isNew) && !(isTaken && isNew);
  }

  /** Up to where the states of a prompt are kept: 0 where it has none. */
  private keptAt(job: Job): number {
    const { limitBytes } = this.parts.prefixes;
    return this.model.hasStates && limitBytes > 0 ? stateKeptAt(job, this.options.deterministic) : 0;
  }

  /** What is left to read of a prompt: its last token at least, since the answer begins behind it. */
  private readingOf(job: Job): Reading {
    const { length } = job.prompt.tokenIds;
    if (this.model.hasStates) {
      const prefix = this.parts.prefixes.find(this.weights, beginningOf(job.prompt, length - 1));
      return { job, prefix, cached: prefix?.tokens ?? 0 };
    }
    const prefix = this.parts.prefixes.find(this.weights, job.prompt);
    let cached = Math.min(prefix?.tokens ?? 0, length - 1);
    if (this.options.deterministic) cached -= cached % DETERMINISTIC_PART;
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

  /** Reads what is not known of prompts, a long one part by part; and what follows. */
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
        const until = Math.min(end, cached[index] + part);
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

  /** How many tokens of each prompt are read in one pass. */
  private partOf(readings: readonly Reading[]): number {
    if (this.options.deterministic) return DETERMINISTIC_PART;
    const [{ job, cached }] = readings;
    if (readings.length > 1 || cached === 0) return this.options.maxSequence;
    return Math.max(SHORT, Math.floor(SCORES / job.prompt.tokenIds.length));
  }

  /** Keeps a prompt for others that begin like it; in deterministic mode its whole parts. */
  private async keepPrompt(cache: KvCache, { prompt }: Job, row: number, cached: number): Promise<void> {
    const { length } = prompt.tokenIds;
    if (!this.model.hasStates) {
      const kept = this.options.deterministic ? length - (length % DETERMINISTIC_PART) : length;
      await this.parts.prefixes.keep(this.weights, beginningOf(prompt, kept), cache, row);
    }
    const { counts } = this.parts;
    if (cached > 0) counts.prefixHits += 1;
    counts.promptTokens += length;
    counts.cachedPromptTokens += cached;
  }

  /** Keeps what ended rows have sampled, for prompts that go on with it. Not in deterministic mode, see `DETERMINISTIC_PART`. */
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

  /** What has no next token, such as in a grammar that no token fits, ends alone. */
  private sample(row: Row, scores: NextTokens, index: number): void {
    try {
      sampleRow(this.model, this.weights, row, scores, index);
      this.parts.counts.generatedTokens += 1;
    } catch (error) {
      row.isOver = true;
      row.job.reject(error);
    }
  }

  /** Frees the slots of rows that nobody waits for. */
  private dropCancelled(): void {
    for (let index = this.rows.length - 1; index >= 0; index -= 1) {
      const { isOver, job } = this.rows[index];
      if (isOver || job.isCancelled) this.removeRow(this.cache as KvCache, index);
    }
  }

  /** Moves the last row into the slot of one that is done with. */
  private removeRow(cache: KvCache, index: number): void {
    const last = this.rows.pop() as Row;
    if (index === this.rows.length) return;
    cache.copyRow(this.rows.length, index, last.cached);
    this.rows[index] = last;
  }

  /** Answers the rows that have ended. */
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
