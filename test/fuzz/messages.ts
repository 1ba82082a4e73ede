import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '@ui-rl/random';
import { type Trend, trendOf } from '@ui-rl/testkit';
import { SERVICES, TestFleet } from '../e2e/support/fleet';
import { Mutator } from './mutate';
import { answers, openWays, residentBytes, RUN, targetOf, type Way } from './subjects';
import { seedOf } from './target';

/** Concurrent requests. */
const AT_ONCE = 100;
/** Requests between two measurements of the services. */
const ROUND = 2_000;
/** Time limit of a reply, in milliseconds. */
const DEADLINE_MS = 10_000;
const LOOK_EVERY_MS = 20_000;
const MOST_LOOKS = 15;
/** Growth between two measurements below which memory has settled. */
const SETTLED = 1.02;

export interface SubjectReport {
  sent: number;
  seconds: number;
  /** Milliseconds until the reply: the 99th percentile, and the maximum. */
  usual: number;
  slowest: number;
  /** Unanswered requests, and how to reproduce them. */
  unanswered: string[];
}

export interface MessagesReport {
  /** Subject → results of its requests. */
  subjects: Record<string, SubjectReport>;
  /** Services that ended meanwhile, and how. */
  ended: string[];
  /** Service → resident bytes by requests sent. */
  memory: Record<string, Trend>;
}

/**
 * Sends malformed MessagePack requests to each subject of a run in progress. After each round, a valid one must be
 * answered.
 */
export async function fuzzMessages(
  each: number,
  seed: number,
  say: (line: string) => void,
): Promise<MessagesReport> {
  const fleet = await TestFleet.start();
  try {
    const run = await fleet.createRun(RUN, { training: { max_steps: 100_000 } });
    await fleet.reaches(RUN, 'training');
    await memorySettles(fleet, say);
    const ways = (await openWays(fleet, run)).filter(({ request }) => request);
    const looks = new Map(SERVICES.map((name) => [name, [] as [sent: number, bytes: number][]] as const));
    const subjects: Record<string, SubjectReport> = {};
    let total = 0;
    for (const way of ways) {
      const sender = new Sender(fleet, way, seed);
      while (sender.sent < each) {
        total += await sender.round(Math.min(ROUND, each - sender.sent));
        await answers(fleet);
        for (const [name, values] of looks) values.push([total, residentBytes(fleet.pidOf(name))]);
        const { sent, usual, slowest, unanswered } = sender.report();
        say(
          `${way.subject}: ${sent} sent, 99 % within ${usual} ms, slowest ${slowest} ms, ${unanswered.length} unanswered`,
        );
      }
      subjects[way.subject] = sender.report();
    }
    await run.stop();
    const memory = Object.fromEntries([...looks].map(([name, values]) => [name, trendOf(values)]));
    return { subjects, ended: fleet.unexpectedEnds, memory };
  } finally {
    await fleet.stop();
  }
}

/** In the first minutes of training a learner fills its caches. Growth after that is attributed to the messages. */
async function memorySettles(fleet: TestFleet, say: (line: string) => void): Promise<void> {
  for (let before = 0, looks = 0; looks < MOST_LOOKS; looks++) {
    const bytes = residentBytes(fleet.pidOf('learner'));
    if (bytes < before * SETTLED) return;
    say(`waiting for the memory of the learner to settle: ${Math.round(bytes / 1e6)} MB`);
    before = bytes;
    await sleep(LOOK_EVERY_MS);
  }
}

/** Sends malformed requests to one subject. */
class Sender {
  sent = 0;
  private at = 0;
  private seconds = 0;
  private readonly times: number[] = [];
  private readonly unanswered: string[] = [];

  constructor(
    private readonly fleet: TestFleet,
    private readonly way: Way,
    private readonly seed: number,
  ) {}

  async round(count: number): Promise<number> {
    const until = this.sent + count;
    const began = performance.now();
    const place = async (): Promise<void> => {
      while (this.sent < until) await this.one();
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, place));
    this.seconds += (performance.now() - began) / 1_000;
    return count;
  }

  report(): SubjectReport {
    const times = this.times.toSorted((a, b) => a - b);
    const { sent, seconds, unanswered } = this;
    const [usual, slowest] = [times[Math.floor(times.length * 0.99)] ?? 0, times.at(-1) ?? 0].map(Math.round);
    return { sent, seconds, usual, slowest, unanswered };
  }

  private async one(): Promise<void> {
    const { at, seed, way } = this;
    this.at += 1;
    const target = targetOf(way);
    const input = target.input(new Mutator(new Random(seedOf(seed, at))));
    const { connection } = this.fleet.bus;
    // Valid ones would start an episode; other tests cover them.
    if (target.feed(input) === true || input.byteLength > (connection.info?.max_payload ?? 0)) return;
    this.sent += 1;
    const began = performance.now();
    try {
      await connection.request(way.subject, input, { timeout: DEADLINE_MS });
    } catch (error) {
      this.unanswered.push(`number ${at} of seed ${seed} on ${way.subject}: ${String(error)}`);
    }
    this.times.push(performance.now() - began);
  }
}
