import { Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { BusService } from '@ui-rl/bus';
import { RolloutRequest, STREAMS, subjects, type Trajectory } from '@ui-rl/contracts';
import { describeError, sleep } from '@ui-rl/retry';
import type { Progress } from '../training/progress';
import { MAX_REQUESTS, memberRollout, type GroupBuffer } from './groups';

/** Minimum number of known durations before an episode counts as slow, and the maximum that is kept. */
const LEAST_KNOWN = 8;
const MOST_KNOWN = 64;

/** Shorter episodes never count as slow, however short the others are. */
const LEAST_MS = 5_000;

/** Number of remembered rollouts and groups: more than are ever open. */
const REMEMBERED = 10_000;

export interface StragglersParts {
  runId: string;
  bus: BusService;
  options: { stragglerFactor: number; groupSize: number; maxAttempts: number };
  buffer: GroupBuffer;
  progress: Progress;
  /** Whether training has ended. */
  isOver: () => boolean;
}

/**
 * Detects episodes that take much longer than others: requests another one in place of each, once, and uses the one
 * that arrives first. An episode starts with its first policy request. The limit depends on the median of all and on
 * the slowest of the same group, because tasks differ.
 */
export class Stragglers {
  private readonly logger = new Logger('learner');
  /** Start time of each rollout that has not arrived, by `performance.now()`. */
  private readonly begun = new LRUCache<string, number>({ max: REMEMBERED });
  /** Durations of the latest episodes, in milliseconds. */
  private readonly durations: number[] = [];
  /** The longest duration of each group, by its index. */
  private readonly longest = new LRUCache<number, number>({ max: REMEMBERED });
  /** Rollouts that were replaced, or that are not being played. */
  private readonly judged = new LRUCache<string, true>({ max: REMEMBERED });
  private replaced = 0;

  constructor(
    private readonly parts: StragglersParts,
    private readonly everyMs = 1_000,
    private readonly leastMs = LEAST_MS,
  ) {}

  /** Records a policy request for a turn, by its id. */
  asked(requestId: string): void {
    if (this.parts.options.stragglerFactor === 0) return;
    const [rolloutId] = requestId.split(/[~/]/, 1);
    if (!this.begun.has(rolloutId)) this.begun.set(rolloutId, performance.now());
  }

  /** Records a received episode. */
  came({ request: { rolloutId, groupIndex }, status }: Trajectory): void {
    const began = this.begun.get(rolloutId);
    this.begun.delete(rolloutId);
    if (began === undefined || status === 'invalid') return;
    const duration = performance.now() - began;
    this.durations.push(duration);
    if (this.durations.length > MOST_KNOWN) this.durations.shift();
    this.longest.set(groupIndex, Math.max(duration, this.longest.get(groupIndex) ?? 0));
  }

  /** Whether a rollout was requested in place of a slow one: if it fails, the slow one is still being played. */
  isExtra({ attempt }: RolloutRequest): boolean {
    return attempt === this.extraAttempt;
  }

  /** Number of episodes that were replaced since the last call. */
  takeReplaced(): number {
    const { replaced } = this;
    this.replaced = 0;
    return replaced;
  }

  /** Checks periodically, until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    if (this.parts.options.stragglerFactor === 0) return;
    for (await sleep(this.everyMs, signal); !signal.aborted; await sleep(this.everyMs, signal)) {
      await this.look().catch((error: unknown) => this.logger.error(describeError(error)));
    }
  }

  private async look(): Promise<void> {
    const { bus, runId, isOver } = this.parts;
    const limitMs = this.limitMs();
    const slow = this.slowerThan(limitMs);
    if (slow.size === 0 || isOver()) return;
    // An episode that is slow compared with all may not be slow for its group.
    for await (const request of bus.stored(
      STREAMS.rollouts,
      subjects.rollout(runId, 'train'),
      RolloutRequest,
    )) {
      const { rolloutId, groupIndex } = request;
      if (!slow.delete(rolloutId)) continue;
      if (this.slowerThan(this.limitMs(groupIndex)).has(rolloutId)) await this.replace(request);
    }
    // Neither in training nor in the queue: it belongs to an evaluation, or is settled.
    for (const rolloutId of slow) this.judged.set(rolloutId, true);
  }

  /** Beyond every possible earlier attempt, including those in place of lost episodes. */
  private get extraAttempt(): number {
    return this.parts.options.maxAttempts + MAX_REQUESTS;
  }

  private async replace(request: RolloutRequest): Promise<void> {
    const { bus, runId, options, buffer, progress } = this.parts;
    const { rolloutId, groupIndex, indexInGroup } = request;
    this.judged.set(rolloutId, true);
    const isOwed = buffer.missing(groupIndex, options.groupSize).includes(indexInGroup);
    if (this.isExtra(request) || !isOwed || progress.settled.has(groupIndex)) return;
    const other = memberRollout(request, this.extraAttempt);
    this.logger.warn(`${rolloutId} takes much longer than others: asking for ${other.rolloutId}`);
    await bus.publishJson(subjects.rollout(runId, 'train'), other, other.rolloutId);
    this.replaced += 1;
  }

  /** Time limit of an episode; infinite as long as too few durations are known. */
  private limitMs(groupIndex?: number): number {
    const { durations, longest } = this;
    if (durations.length < LEAST_KNOWN) return Number.POSITIVE_INFINITY;
    const median = durations.toSorted((a, b) => a - b)[Math.floor(durations.length / 2)];
    const ofGroup = groupIndex === undefined ? 0 : (longest.get(groupIndex) ?? 0);
    return Math.max(this.leastMs, this.parts.options.stragglerFactor * Math.max(median, ofGroup));
  }

  private slowerThan(limitMs: number): Set<string> {
    const since = performance.now() - limitMs;
    const slow = [...this.begun.entries()].filter(([id, began]) => began < since && !this.judged.has(id));
    return new Set(slow.map(([id]) => id));
  }
}
