import { readFileSync } from 'node:fs';
import { PolicyInfoReply, runKeys, subjects } from '@ui-rl/contracts';
import { Random } from '@ui-rl/random';
import { eventually } from '@ui-rl/testkit';
import { SERVICES, TestFleet } from '../e2e/support/fleet';
import type { RunLog } from '../e2e/support/run-log';
import { messageTargets } from './message-targets';
import { Mutator } from './mutate';
import { seedOf, type Target } from './target';
import { type Trend, trendOf } from '@ui-rl/testkit';

export const RUN = 'fuzzed';
/** Inputs between two measurements of the services. */
const ROUND = 500;
/** Concurrent messages. */
const AT_ONCE = 50;
/** Nonexistent runs whose keys are written. */
const FORGED_RUNS = 5;

/** A subject that services listen to, and its generator of messages. */
export interface Way {
  subject: string;
  target: string;
  request: boolean;
}

/** Every input of a run's services; `instance` is its env service. */
function waysTo(run: string, instance: string): Way[] {
  const published = (subject: string, target: string): Way => ({ subject, target, request: false });
  const requested = (subject: string, target: string): Way => ({ subject, target, request: true });
  const forged = Array.from({ length: FORGED_RUNS }, (_, index) => `forged-${index}`);
  return [
    published(subjects.task(run), 'message/task'),
    ...(['train', 'eval', 'baseline'] as const).flatMap((purpose) => [
      published(subjects.rollout(run, purpose), 'message/rollout'),
      published(subjects.trajectory(run, purpose), 'message/trajectory'),
    ]),
    ...['phase', 'train_step', 'warning', 'checkpoint', 'service_ready', 'nonsense'].map((type) =>
      published(subjects.event(run, type), 'message/event'),
    ),
    ...forged.flatMap((other) => [
      published(`$KV.runs.${runKeys.record(other)}`, 'message/run_record'),
      published(`$KV.runs.${runKeys.state(other)}`, 'message/run_state'),
      published(`$KV.runs.${runKeys.policy(other)}`, 'message/policy_state'),
    ]),
    requested(subjects.envOpen('browser'), 'request/env_open'),
    requested(subjects.envStep(instance), 'request/env_step'),
    requested(subjects.envClose(instance), 'request/env_step'),
    requested(subjects.policyAct(run), 'request/policy_act'),
    requested(subjects.policyInfo(run), 'request/policy_info'),
    requested(subjects.serving('learner', run), 'request/policy_info'),
    requested(subjects.monitorPage(), 'request/policy_info'),
  ];
}

/** Every input of a run's services, once all of them answer. */
export async function openWays(fleet: TestFleet, log: RunLog): Promise<Way[]> {
  const { instance } = await eventually(
    `the env service of ${log.runId}`,
    () => log.events('service_ready').find(({ service }) => service === 'env'),
    120_000,
  );
  const ways = waysTo(log.runId, instance);
  for (const { subject } of ways.filter(({ request }) => request))
    await fleet.until(`an answer on ${subject}`, async () => isAnswered(fleet, subject), 120_000);
  return ways;
}

async function isAnswered(fleet: TestFleet, subject: string): Promise<boolean> {
  return fleet.bus.connection.request(subject, new Uint8Array(), { timeout: 20_000 }).then(() => true);
}

export interface Sent {
  /** Without valid messages. */
  count: number;
  /** Unanswered requests, and how to reproduce them. */
  unanswered: string[];
}

/** Sends the malformed messages with numbers `from` up to `to`. */
export async function sendWrong(
  fleet: TestFleet,
  ways: readonly Way[],
  { seed, from, to }: { seed: number; from: number; to: number },
): Promise<Sent> {
  const sent: Sent = { count: 0, unanswered: [] };
  for (let first = from; first < to; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, to - first);
    await Promise.all(
      Array.from({ length: count }, (_, index) => send(fleet, ways, { seed, at: first + index }, sent)),
    );
  }
  await fleet.bus.connection.flush();
  return sent;
}

async function send(
  fleet: TestFleet,
  ways: readonly Way[],
  { seed, at }: { seed: number; at: number },
  sent: Sent,
): Promise<void> {
  const random = new Random(seedOf(seed, at));
  const way = random.pick(ways);
  const input = targetOf(way).input(new Mutator(random));
  // Valid ones would be used for training; other tests cover them.
  if (targetOf(way).feed(input) === true) return;
  const { connection } = fleet.bus;
  if (input.byteLength > (connection.info?.max_payload ?? 0)) return;
  sent.count += 1;
  if (!way.request) return connection.publish(way.subject, input);
  try {
    await connection.request(way.subject, input, { timeout: 60_000 });
  } catch (error) {
    sent.unanswered.push(`number ${at} of seed ${seed} on ${way.subject}: ${String(error)}`);
  }
}

export const targetOf = ({ target }: Way): Target => messageTargets.find(({ name }) => name === target)!;

export interface SubjectsReport {
  sent: number;
  unanswered: string[];
  /** Services that ended meanwhile, and how. */
  ended: string[];
  /** Service → resident bytes by messages sent. */
  memory: Record<string, Trend>;
  /** The result of a later run on the same processes. */
  afterwards: string;
}

/** Sends malformed messages to the services of a run in progress, then checks that they can serve another run. */
export async function fuzzSubjects(
  inputs: number,
  seed: number,
  say: (line: string) => void,
): Promise<SubjectsReport> {
  const fleet = await TestFleet.start();
  try {
    const fuzzed = await fleet.createRun(RUN, { training: { max_steps: 100_000 } });
    await fleet.reaches(RUN, 'training');
    const ways = await openWays(fleet, fuzzed);
    const looks = new Map(SERVICES.map((name) => [name, [] as [sent: number, bytes: number][]] as const));
    let sent = 0;
    const unanswered: string[] = [];
    for (let from = 0; from < inputs; from += ROUND) {
      const round = await sendWrong(fleet, ways, { seed, from, to: Math.min(inputs, from + ROUND) });
      sent += round.count;
      unanswered.push(...round.unanswered);
      await answers(fleet);
      for (const [name, values] of looks) values.push([sent, residentBytes(fleet.pidOf(name))]);
      say(
        `${sent} sent, ${fuzzed.steps.length} steps meanwhile, ${fleet.unexpectedEnds.length} services ended`,
      );
    }
    const { length } = fuzzed.steps;
    await fleet.until('a step after all of them', () => fuzzed.steps.length > length, 120_000);
    await fleet.bus.runs.changePhase(RUN, 'stopped');
    await fuzzed.stop();
    const memory = Object.fromEntries([...looks].map(([name, values]) => [name, trendOf(values)]));
    return { sent, unanswered, ended: fleet.unexpectedEnds, memory, afterwards: await anotherRun(fleet) };
  } finally {
    await fleet.stop();
  }
}

/** A valid request is answered while malformed ones arrive. */
export async function answers(fleet: TestFleet): Promise<void> {
  await fleet.until(
    'the learner to answer',
    async () =>
      (await fleet.bus.request(subjects.policyInfo(RUN), { runId: RUN }, 10_000, PolicyInfoReply)).ok,
    120_000,
  );
}

async function anotherRun(fleet: TestFleet): Promise<string> {
  const log = await fleet.createRun('after');
  await fleet.completes(log, 240_000);
  await log.stop();
  return `${log.steps.length} steps, ${log.trajectories.length} trajectories`;
}

export function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
