import type { PrefixCache } from '../caches/prefix-cache';
import { EngineError } from '../errors';
import type { KvCache } from '../kv-cache/kv-cache';
import type { WeightSet } from '../weights/weight-set';
import { FairShares } from './fair-queue';
import { jobOf, type GenerationRequest, type GenerationResult, type Job } from './job';
import { Lane, type GenerationCounts, type LaneOptions } from './lane';
import type { SampleClass } from '@ui-rl/plugin-kit';
import type { TokenModel } from './token-model';

function cancelled(): EngineError {
  return new EngineError('request', 'the caller no longer waits for the sample');
}

/** Maximum number of prompt tokens per prefill pass. */
export const PREFILL_TOKENS = 2048;

/**
 * Continuous batching: requests enter free rows as they arrive, all rows advance by one token per iteration, and
 * finished rows free their slots. Requests for different weights run in separate lanes, which take turns.
 */
export class Generator {
  readonly counts: GenerationCounts = {
    generatedTokens: 0,
    sharedPrompts: 0,
    prefixHits: 0,
    promptTokens: 0,
    cachedPromptTokens: 0,
  };
  private readonly lanes: Lane[] = [];
  /** Shares of rows, and of turns between lanes. */
  private readonly shares = new FairShares();
  private readonly turns = new FairShares();
  /** Kept from the last closed lane for a new lane with the same needs. */
  private spare: { model: TokenModel; cache: KvCache } | undefined;
  private running: Promise<void> | undefined;
  private readonly onTurn = new Set<() => void>();
  private busyMs = 0;
  private stopped: EngineError | undefined;

  constructor(
    private readonly options: LaneOptions,
    private readonly prefixes: PrefixCache,
  ) {}

  get rowsActive(): number {
    return this.lanes.reduce((sum, lane) => sum + lane.rows.length, 0);
  }

  get rowsWaiting(): number {
    return this.lanes.reduce((sum, lane) => sum + lane.waiting.length, 0);
  }

  /** Whether weights are being sampled from and must not change. */
  uses(weights: WeightSet): boolean {
    return this.lanes.some((lane) => lane.weights === weights || lane.nextWeights === weights);
  }

  /** Generates with the given weights; resolves when the response ends, rejects when the signal aborts. */
  generate(
    model: TokenModel,
    weights: WeightSet,
    request: GenerationRequest,
    signal?: AbortSignal,
  ): Promise<GenerationResult> {
    if (this.stopped !== undefined) return Promise.reject(this.stopped);
    if (signal?.aborted === true) return Promise.reject(cancelled());
    const draft = jobOf(model, request, this.options.maxSequence);
    return new Promise((resolve, reject) => {
      const job: Job = { ...draft, resolve, reject };
      const lane = this.laneOf(model, weights, request.movable === true);
      lane.waiting.push(job);
      signal?.addEventListener('abort', () => {
        // If it has a row, the next pass frees it.
        job.isCancelled = true;
        lane.waiting.remove(job);
        reject(cancelled());
      });
      this.running ??= this.run();
    });
  }

  /**
   * Continues movable requests with other weights; resolves when no further pass with the old weights serves them.
   */
  async move(from: WeightSet, to: WeightSet): Promise<void> {
    if (from === to) return;
    const moved = this.lanes.filter((lane) => lane.movable && lane.nextWeights === from);
    for (const lane of moved) lane.moveTo(to);
    while (moved.some((lane) => lane.weights === from && this.lanes.includes(lane))) {
      await new Promise<void>((resolve) => this.onTurn.add(resolve));
    }
  }

  /** Yields to generation for this time, or until there is nothing to generate. */
  async share(milliseconds: number): Promise<void> {
    const until = this.busyMs + milliseconds;
    while (this.running !== undefined && this.busyMs < until) {
      await new Promise<void>((resolve) => this.onTurn.add(resolve));
    }
  }

  /** Rejects running and waiting requests after the current pass, and all later ones. */
  async stop(reason: EngineError): Promise<void> {
    this.stopped = reason;
    for (const lane of this.lanes) lane.rejectWaiting(reason);
    await this.running;
  }

  private laneOf(model: TokenModel, weights: WeightSet, movable: boolean): Lane {
    let lane = this.lanes.find((each) => each.nextWeights === weights && each.movable === movable);
    if (lane === undefined) {
      const { counts, prefixes, shares } = this;
      const newCache = (maxLength: number): KvCache => this.cacheOf(model, maxLength);
      lane = new Lane(model, weights, movable, this.options, { counts, prefixes, shares, newCache });
      this.lanes.push(lane);
    }
    return lane;
  }

  private cacheOf(model: TokenModel, maxLength: number): KvCache {
    const { spare } = this;
    if (spare?.model !== model || spare.cache.shape.maxLength !== maxLength) return model.newCache(maxLength);
    this.spare = undefined;
    return spare.cache;
  }

  private async run(): Promise<void> {
    // Requests that arrive together are prefilled together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.lanes.length > 0) {
      const { lane, of } = this.nextLane();
      const began = performance.now();
      await lane.advance();
      if (this.stopped !== undefined) lane.reject(this.stopped);
      if (lane.isEmpty) this.close(lane);
      const took = performance.now() - began;
      this.turns.charge(of, took);
      this.busyMs += took;
      this.announceTurn();
    }
    this.running = undefined;
    this.announceTurn();
  }

  /** The lane of the class with the least use; lanes of one class take turns. */
  private nextLane(): { lane: Lane; of: SampleClass } {
    const of = this.turns.next([...new Set(this.lanes.map((lane) => lane.class))]);
    const lane = this.lanes.find((each) => each.class === of)!;
    this.lanes.push(...this.lanes.splice(this.lanes.indexOf(lane), 1));
    return { lane, of };
  }

  private announceTurn(): void {
    const waiting = [...this.onTurn];
    this.onTurn.clear();
    for (const resolve of waiting) resolve();
  }

  private close(lane: Lane): void {
    this.lanes.splice(this.lanes.indexOf(lane), 1);
    lane.cache?.clear();
    if (lane.cache !== undefined) this.spare = { model: lane.model, cache: lane.cache };
  }
}
