import { LRUCache } from 'lru-cache';
import type { SamplerReport } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';

const CHECK_EVERY_MS = 1_000;
const MAX_EPISODES = 10_000;

/** The known state of a sampler process. */
export class SamplerProcess {
  readonly instance: string;
  readonly host: string;
  readonly device: string;
  rows: number;
  /** Digests of its weights. */
  holds: ReadonlySet<string> = new Set();
  /** Digests of weights that it could not load, with the reasons. */
  failed: ReadonlyMap<string, string> = new Map();
  /** Number of requests in progress. */
  inFlight = 0;
  /** Number of requests so far. */
  taken = 0;
  seenAt = performance.now();
  private readonly gone = new AbortController();

  constructor({ instance, host, device, rows }: SamplerReport) {
    this.instance = instance;
    this.host = host;
    this.device = device;
    this.rows = rows;
  }

  get name(): string {
    return `sampler ${this.instance} on ${this.host}`;
  }

  /** Aborts when the process counts as lost; the reason explains why. */
  get lost(): AbortSignal {
    return this.gone.signal;
  }

  /** Expected wait of a request, relative to its concurrent capacity. */
  get load(): number {
    return this.inFlight / this.rows;
  }

  note({ holds, failed, rows }: SamplerReport): void {
    this.seenAt = performance.now();
    this.rows = rows;
    this.holds = new Set(holds);
    this.failed = new Map(failed.map(({ digest, message }) => [digest, message]));
  }

  lose(reason: string): void {
    this.gone.abort(new Error(`${this.name} ${reason}`));
  }
}

/** The current sampler processes of a run. */
export class Processes {
  private readonly byInstance = new Map<string, SamplerProcess>();
  private readonly episodes = new LRUCache<string, { process: SamplerProcess; weights: string }>({
    max: MAX_EPISODES,
  });
  private changed = new AbortController();
  private checkedAt = performance.now();
  private readonly timer: NodeJS.Timeout;

  /** @param onLost called for each lost process */
  constructor(private readonly onLost: (process: SamplerProcess) => void) {
    this.timer = setInterval(() => this.check(), CHECK_EVERY_MS);
    this.timer.unref();
  }

  get all(): SamplerProcess[] {
    return [...this.byInstance.values()];
  }

  /** Records a process's report. Returns true if the process is new. */
  note(report: SamplerReport): boolean {
    const known = this.byInstance.get(report.instance);
    const process = known ?? new SamplerProcess(report);
    const before = known === undefined ? '' : stateOf(known);
    process.note(report);
    this.byInstance.set(process.instance, process);
    if (stateOf(process) !== before) this.announce();
    return known === undefined;
  }

  /** Records a sign of life. */
  touch(instance: string): void {
    const process = this.byInstance.get(instance);
    if (process !== undefined) process.seenAt = performance.now();
  }

  lose(process: SamplerProcess, reason: string): void {
    if (this.byInstance.get(process.instance) !== process) return;
    this.byInstance.delete(process.instance);
    process.lose(reason);
    this.onLost(process);
    this.announce();
  }

  /** Aborts at the next change of the processes. */
  get change(): AbortSignal {
    return this.changed.signal;
  }

  /**
   * Picks the process for an answer with these weights: the one with the episode's prefix, else the least busy one,
   * and among equally busy ones the one that has seen the episode's images.
   * @param avoided processes that have failed at this request: used only if there are no others
   */
  pick(
    weights: string,
    episode: string | undefined,
    avoided: ReadonlySet<string>,
  ): SamplerProcess | undefined {
    const able = this.all.filter(({ holds }) => holds.has(weights));
    const fresh = able.filter(({ instance }) => !avoided.has(instance));
    const candidates = fresh.length > 0 ? fresh : able;
    const home = episode === undefined ? undefined : this.episodes.get(episode);
    const found =
      home !== undefined && home.weights === weights && candidates.includes(home.process)
        ? home.process
        : leastBusy(candidates, home?.process);
    if (episode !== undefined && found !== undefined) this.episodes.set(episode, { process: found, weights });
    return found;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private announce(): void {
    const before = this.changed;
    this.changed = new AbortController();
    before.abort();
  }

  private check(): void {
    const now = performance.now();
    // This process itself was suspended: reports of that time have not been read yet.
    const wasHeldUp = now - this.checkedAt > 2 * CHECK_EVERY_MS;
    this.checkedAt = now;
    if (wasHeldUp) {
      for (const process of this.all) process.seenAt = Math.max(process.seenAt, now - CHECK_EVERY_MS);
      return;
    }
    for (const process of this.all) {
      if (now - process.seenAt > DEADLINES.sampler.ms)
        this.lose(process, `has said nothing for ${DEADLINES.sampler.ms / 1_000} s`);
    }
  }
}

function stateOf({ holds, failed }: SamplerProcess): string {
  const reasons = Array.from(failed, ([digest, message]) => `${digest} ${message}`);
  return JSON.stringify([[...holds].toSorted(), reasons.toSorted()]);
}

function leastBusy(
  processes: readonly SamplerProcess[],
  home: SamplerProcess | undefined,
): SamplerProcess | undefined {
  const isHome = (process: SamplerProcess): number => Number(process === home);
  return processes.toSorted(
    (a, b) => a.load - b.load || isHome(b) - isHome(a) || a.taken - b.taken || b.rows - a.rows,
  )[0];
}
