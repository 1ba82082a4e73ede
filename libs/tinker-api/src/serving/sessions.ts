import { randomUUID } from 'node:crypto';
import { ApiError } from '@ui-rl/openai-api';
import { addressText, type CheckpointAddress } from './checkpoints';
import type { ModelRun } from './model-run';
import { Numbers } from './turns';

/** The source of a sampling session. */
export type SamplingSource =
  | { kind: 'base' }
  /** Weights that are only held in memory. */
  | { kind: 'held'; name: string }
  | { kind: 'saved'; address: CheckpointAddress };

export interface SamplingSession {
  id: string;
  session: string;
  source: SamplingSource;
  numbers: Numbers;
}

/**
 * Sampling sessions of a client, of which the most recently used are kept: each step of a training loop creates one.
 */
const MAX_SAMPLING = 1_024;

/** A client, as long as it sends heartbeats. */
export class Session {
  readonly id = randomUUID();
  readonly creations = new Numbers();
  /** Models by the request that created them, so that a retry gets the same answer. */
  readonly created = new Map<string, string>();
  readonly samplingNumbers = new Map<number, { digest: string; id: string }>();
  readonly models = new Map<string, ModelRun>();
  readonly sampling = new Map<string, SamplingSession>();
  lastSeenAt = Date.now();

  /** @returns the least recently used sampling session, if it was evicted */
  addSampling(id: string, source: SamplingSource): SamplingSession | undefined {
    this.sampling.set(id, { id, session: this.id, source, numbers: new Numbers() });
    const [oldest] = this.sampling.values();
    if (this.sampling.size <= MAX_SAMPLING) return undefined;
    this.endSampling(oldest.id);
    return oldest;
  }

  /** Ends a sampling session, and drops the number of its request. */
  endSampling(id: string): void {
    this.sampling.delete(id);
    for (const [seq, known] of this.samplingNumbers) if (known.id === id) this.samplingNumbers.delete(seq);
  }
}

/** Clients and everything that belongs to them. */
export class Sessions {
  private readonly all = new Map<string, Session>();

  constructor(private readonly most: number) {}

  begin(): Session {
    if (this.all.size >= this.most) {
      throw new ApiError(429, `${this.most} sessions are open, no more at a time`, 'rate_limit_exceeded');
    }
    const session = new Session();
    this.all.set(session.id, session);
    return session;
  }

  /** @throws ApiError 404 */
  get(id: string): Session {
    const found = this.all.get(id);
    if (found === undefined) {
      throw new ApiError(
        404,
        `there is no session "${id.slice(0, 100)}": it has ended without heartbeats, or the server was started anew; begin another one`,
        'session_not_found',
        'session_id',
      );
    }
    found.lastSeenAt = Date.now();
    return found;
  }

  /** Counts a request for a session's data as a sign of life. */
  heard(id: string): void {
    const session = this.all.get(id);
    if (session !== undefined) session.lastSeenAt = Date.now();
  }

  list(): Session[] {
    return [...this.all.values()];
  }

  models(): ModelRun[] {
    return this.list().flatMap(({ models }) => [...models.values()]);
  }

  findModel(id: string): ModelRun | undefined {
    return this.models().find((model) => model.id === id);
  }

  /** @throws ApiError 404 */
  model(id: string): ModelRun {
    const found = this.findModel(id);
    if (found !== undefined) {
      this.heard(found.session);
      return found;
    }
    throw new ApiError(
      404,
      `there is no model "${id.slice(0, 100)}": it was unloaded, or its session has ended`,
      'model_not_found',
      'model_id',
    );
  }

  /** @throws ApiError 404 */
  samplingSession(id: string): SamplingSession {
    for (const session of this.all.values()) {
      const found = session.sampling.get(id);
      if (found === undefined) continue;
      session.lastSeenAt = Date.now();
      session.sampling.delete(id);
      session.sampling.set(id, found);
      return found;
    }
    throw new ApiError(
      404,
      `there is no sampling session "${id.slice(0, 100)}": the session it belongs to has ended, its weights were deleted, or ${MAX_SAMPLING} others were asked since`,
      'sampling_session_not_found',
      'sampling_session_id',
    );
  }

  /** Ends the sampling sessions of deleted weights. */
  endSampling(address: string): void {
    for (const session of this.all.values()) {
      for (const { id, source } of session.sampling.values()) {
        if (source.kind === 'saved' && addressText(source.address) === address) session.endSampling(id);
      }
    }
  }

  /** Removes a session that its client has finished. @throws ApiError 404 */
  take(id: string): Session {
    const session = this.get(id);
    this.all.delete(id);
    return session;
  }

  /** Removes sessions without a sign of life for this long. */
  takeSilent(silentMs: number, now = Date.now()): Session[] {
    const silent = this.list().filter(({ lastSeenAt }) => now - lastSeenAt > silentMs);
    for (const { id } of silent) this.all.delete(id);
    return silent;
  }
}
