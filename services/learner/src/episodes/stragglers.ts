import { Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { BusService } from '@ui-rl/bus';
import { RolloutRequest, STREAMS, subjects, type Trajectory } from '@ui-rl/contracts';
import { describeError, sleep } from '@ui-rl/retry';
import type { Progress } from '../training/progress';
import { MAX_REQUESTS, memberRollout, type GroupBuffer } from './groups';

/** Episodes of which the durations are known, before anything is called slow, and at most. */
const LEAST_KNOWN = 8;
const MOST_KNOWN = 64;

/** What is shorter holds nobody up, however short the others are. */
const LEAST_MS = 5_000;

/** Rollouts and groups that are remembered: more than are ever open. */
const REMEMBERED = 10_000;

export interface StragglersParts {
  runId: string;
  bus: BusService;
  options: { stragglerFactor: number; groupSize: number; maxAttempts: number };
  buffer: GroupBuffer;
  progress: Progress;
  /** Whether anything is trained any more. */
  isOver: () => boolean;
}

/**
 * Episodes that are played for much longer than others: another one is requested in place of each, once, and the first to come counts.
 * They began when the policy was first asked for them. What is fair is judged by the median of all and by the slowest of the same group,
 * since tasks differ.
 */
export class Stragglers {
  private readonly logger = new Logger('learner');
  /** When each rollout that has not come in began, by `performance.now()`. */
  private readonly begun = new LRUCache<string, number>({ max: REMEMBERED });
  /** Of the episodes that came in last, in milliseconds. */
  private readonly durations: number[] = [];
  /** The longest of each group, by its index. */
  private readonly longest = new LRUCache<number, number>({ max: REMEMBERED });
  /** Rollouts in whose place another one was requested, or nobody plays. */
  private readonly judged = new LRUCache<string, true>({ max: REMEMBERED });
  private replaced = 0;

  constructor(
    private readonly parts: StragglersParts,
    private readonly everyMs = 1_000,
    private readonly leastMs = LEAST_MS,
  ) {}

  /** The policy was asked for a turn, by the id of the request. */
  asked(requestId: string): void {
    if (this.parts.options.stragglerFactor === 0) return;
    const [rolloutId] = requestId.split(/[~/]/, 1);
    if (!this.begun.has(rolloutId)) this.begun.set(rolloutId, performance.now());
  }

  /** An episode came in. */
  came({ request: { rolloutId, groupIndex }, status }: Trajectory): void {
    const began = this.begun.get(rolloutId);
    this.begun.delete(rolloutId);
    if (began === undefined || status === 'invalid') return;
    const duration = performance.now() - began;
    this.durations.push(duration);
    if (this.durations.length > MOST_KNOWN) this.durations.shift();
    this.longest.set(groupIndex, Math.max(duration, this.longest.get(groupIndex) ?? 0));
  }

  /** Whether a rollout was requested in place of a slow one: where it fails, that one is still played. */
  isExtra({ attempt }: RolloutRequest): boolean {
    return attempt === this.extraAttempt;
  }

  /** Episodes in whose place others were requested since this was asked last. */
  takeReplaced(): number {
    const { replaced } = this;
    this.replaced = 0;
    return replaced;
  }

  /** Looks now and then, until the signal aborts. */
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
    // What is slow by the standard of all may not be by that of its group.
    for await (const request of bus.stored(
      STREAMS.rollouts,
      subjects.rollout(runId, 'train'),
      RolloutRequest,
    )) {
      const { rolloutId, groupIndex } = request;
      if (!slow.delete(rolloutId)) continue;
      if (this.slowerThan(this.limitMs(groupIndex)).has(rolloutId)) await this.replace(request);
    }
    // Neither training's nor in the queue: of an evaluation, or settled.
    for (const rolloutId of slow) this.judged.set(rolloutId, true);
  }

  /** Beyond every attempt that there may have been, and those in place of lost episodes. */
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

  /** How long an episode may take; without end as long as too few are known. */
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
