import type { Logger } from '@nestjs/common';
import { runOfSubject, STREAMS, subjects, ANY, type RunState } from '@ui-rl/contracts';
import { describeError, sleep } from '@ui-rl/retry';
import type { Broker } from './broker';
import type { DeadLetters } from './dead-letter';
import { consumersOf, countBySubject, runOfConsumer } from './run-messages';
import { FINAL_PHASES, type RunDirectory } from './runs';
import { makeRoom } from './room';

export interface HousekeepingOptions {
  /** Pause between two rounds. */
  everyMs: number;
}

interface HousekeepingParts {
  broker: Broker;
  runs: RunDirectory;
  deadLetters: DeadLetters;
}

export interface Housekeeping {
  stop(): Promise<void>;
  ended: Promise<void>;
}

const EVERY_MS = 60_000;

export function startHousekeeping(
  parts: HousekeepingParts,
  { everyMs = EVERY_MS }: Partial<HousekeepingOptions> = {},
): Housekeeping {
  const keeper = new Housekeeper(parts);
  const stopping = new AbortController();
  const ended = keeper.work(everyMs, AbortSignal.any([stopping.signal, parts.broker.closing]));
  return {
    ended,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

/**
 * Removes leftovers of runs: messages of ended runs in work queues, consumers without readers, and old messages of
 * full streams.
 */
class Housekeeper {
  private readonly logger: Logger;
  /** Consumers of ended runs without a reader in the last round, and their positions. */
  private idle = new Map<string, number>();
  /** Ended runs whose last phase has certainly been announced. */
  private readonly announced = new Set<string>();
  /** Runs beside the rounds: if the event stream is full, it waits for the rounds to purge it. */
  private announcing: Promise<void> | null = null;

  constructor(private readonly parts: HousekeepingParts) {
    this.logger = parts.broker.logger;
  }

  async work(everyMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.round().catch((error: unknown) => {
        if (!signal.aborted) this.logger.warn(`streams could not be cleaned: ${describeError(error)}`);
      });
      await sleep(everyMs, signal);
    }
  }

  private async round(): Promise<void> {
    const states = await this.parts.runs.states();
    this.announcing ??= this.announceEnds(states).finally(() => {
      this.announcing = null;
    });
    await this.refuseTasks(states);
    await this.emptyRollouts(states);
    await this.deleteConsumers(states);
    for (const stream of [STREAMS.trajectories, STREAMS.events])
      await makeRoom(this.parts.broker, stream, states);
  }

  /**
   * An ended run has no services: if the process that ended it died before the announcement, only housekeeping can
   * make it.
   */
  private async announceEnds(states: ReadonlyMap<string, RunState>): Promise<void> {
    for (const [runId, { phase }] of states) {
      if (!FINAL_PHASES.includes(phase) || this.announced.has(runId)) continue;
      try {
        await this.parts.runs.announcePhase(runId);
        this.announced.add(runId);
      } catch (error) {
        if (this.parts.broker.closing.aborted) return;
        this.logger.warn(`the end of run ${runId} could not be announced: ${describeError(error)}`);
      }
    }
    for (const runId of this.announced) if (!states.has(runId)) this.announced.delete(runId);
  }

  /** Turns tasks that no service will handle any more into dead letters, so that they do not vanish silently. */
  private async refuseTasks(states: ReadonlyMap<string, RunState>): Promise<void> {
    const { broker, deadLetters } = this.parts;
    const stream = STREAMS.tasks;
    for (const [subject, phase] of await this.leftBy(states, stream, subjects.task(ANY))) {
      for (let seq = 1; ;) {
        const query = { seq, next_by_subj: subject };
        const message = await broker.jsm.streams.getMessage(stream, query);
        if (message === null) break;
        seq = message.seq + 1;
        const reason = `run ${runOfSubject(subject)} has ended (${phase}): nothing is played for it any more`;
        const key = `${stream}.${message.seq}`;
        await deadLetters.put({ key, subject, reason }, message.data);
        await broker.jsm.streams.deleteMessage(stream, message.seq);
      }
    }
  }

  private async emptyRollouts(states: ReadonlyMap<string, RunState>): Promise<void> {
    const { jsm } = this.parts.broker;
    for (const [subject] of await this.leftBy(states, STREAMS.rollouts, subjects.rollout(ANY, ANY))) {
      const { purged } = await jsm.streams.purge(STREAMS.rollouts, { filter: subject });
      this.logger.log(`took ${purged} rollouts of ${subject} out of the queue: the run has ended`);
    }
  }

  /** Subjects of a queue with messages of ended runs, and the phases of those runs. */
  private async leftBy(
    states: ReadonlyMap<string, RunState>,
    stream: string,
    filter: string,
  ): Promise<[string, string][]> {
    const found: [string, string][] = [];
    for (const subject of (await countBySubject(this.parts.broker, stream, filter)).keys()) {
      const phase = states.get(runOfSubject(subject) ?? '')?.phase;
      if (phase !== undefined && FINAL_PHASES.includes(phase)) found.push([subject, phase]);
    }
    return found;
  }

  /**
   * Deletes consumers that read only one run that is not open, after two rounds without a waiting reader or a
   * delivery.
   */
  private async deleteConsumers(states: ReadonlyMap<string, RunState>): Promise<void> {
    const { broker } = this.parts;
    const idle = new Map<string, number>();
    for (const stream of [STREAMS.tasks, STREAMS.rollouts, STREAMS.trajectories, STREAMS.events]) {
      for (const consumer of await consumersOf(broker, stream)) {
        const runId = runOfConsumer(consumer);
        if (runId === null || consumer.num_waiting > 0 || isOpen(states.get(runId))) continue;
        const name = `${stream} ${consumer.name}`;
        const delivered = consumer.delivered.consumer_seq;
        if (this.idle.get(name) !== delivered) idle.set(name, delivered);
        else await broker.jsm.consumers.delete(stream, consumer.name);
      }
    }
    this.idle = idle;
  }
}

function isOpen(state: RunState | undefined): boolean {
  return state !== undefined && !FINAL_PHASES.includes(state.phase);
}
