import { EventEmitter } from 'node:events';
import { Observable } from 'rxjs';
import type { Item } from './recording/batcher';

/** The changes of a run since the last such message. */
export interface LiveChange {
  runId: string;
  /** Number of new trajectories. */
  episodes: number;
  /** Types of the new events; `edited`: a reader changed the labels. */
  events: string[];
}

/** A commit to a run: a new episode, or an event of this type. */
type Commit = { runId: string; event: string | null };

const LET_IN_MS = 2_000;

/** Notifies open pages of commits, each at most once in `everyMs`. */
export class LiveChanges {
  private readonly emitter = new EventEmitter().setMaxListeners(0);
  /** Admitted pages that do not follow yet: many may connect at once. */
  private readonly letIn = new Set<object>();

  /** @param maxFollowers maximum number of pages that follow */
  constructor(
    private readonly everyMs = 1_000,
    private readonly maxFollowers = 100,
  ) {}

  get isFull(): boolean {
    return this.emitter.listenerCount('items') + this.letIn.size >= this.maxFollowers;
  }

  committed(items: readonly Item[]): void {
    this.emitter.emit('own');
    if (this.emitter.listenerCount('items') > 0) this.emitter.emit('items', items.map(commitOf));
  }

  /** Announces that a reader changed the labels of a run. */
  edited(runId: string): void {
    this.emitter.emit('own');
    this.emitter.emit('items', [{ runId, event: 'edited' }] satisfies Commit[]);
  }

  /** Announces changes by another monitor over the same records. */
  elsewhere(): void {
    this.emitter.emit('elsewhere');
  }

  /** Calls back after each change by this monitor. */
  onOwn(listener: () => void): void {
    this.emitter.on('own', listener);
  }

  /** Changes of one run, or of all; those of an interval are sent together. Empty: unknown ones of any run. */
  follow(runId?: string): Observable<LiveChange[]> {
    const place = {};
    this.letIn.add(place);
    // Frees the place of a page that disconnects before it follows.
    setTimeout(() => this.letIn.delete(place), LET_IN_MS).unref();
    return new Observable((subscriber) => {
      this.letIn.delete(place);
      const changes = new Map<string, LiveChange>();
      let timer: NodeJS.Timeout | null = null;
      const flush = () => {
        timer = null;
        subscriber.next([...changes.values()]);
        changes.clear();
      };
      const gather = (commits: readonly Commit[]) => {
        for (const commit of commits) add(changes, commit, runId);
        if (changes.size > 0) timer ??= setTimeout(flush, this.everyMs);
      };
      const unknown = () => subscriber.next([]);
      this.emitter.on('items', gather).on('elsewhere', unknown);
      return () => {
        this.emitter.off('items', gather).off('elsewhere', unknown);
        if (timer !== null) clearTimeout(timer);
      };
    });
  }
}

function commitOf(item: Item): Commit {
  if ('trajectory' in item) return { runId: item.trajectory.request.runId, event: null };
  const { runId, type } = item.event.event;
  return { runId, event: type };
}

function add(changes: Map<string, LiveChange>, { runId, event }: Commit, only?: string): void {
  if (only !== undefined && runId !== only) return;
  const change = changes.get(runId) ?? { runId, episodes: 0, events: [] };
  changes.set(runId, change);
  if (event === null) change.episodes++;
  else if (!change.events.includes(event)) change.events.push(event);
}
