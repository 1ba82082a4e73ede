import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { PolicyInfoReply, subjects } from '@ui-rl/contracts';
import { Random } from '@ui-rl/random';
import { SERVICES, TestFleet } from '../e2e/support/fleet';
import { messageTargets } from './message-targets';
import { Mutator } from './mutate';
import { seedOf, type Target } from './target';

const RUN = 'fuzzed';
/** Inputs between two looks at the services. */
const ROUND = 500;
/** Requests that are sent at a time. */
const AT_ONCE = 50;

/** A subject that services of a run listen to, and what is made of messages for it. */
interface Way {
  subject: string;
  target: string;
  request: boolean;
}

const WAYS: readonly Way[] = [
  { subject: subjects.task(RUN), target: 'message/task', request: false },
  { subject: subjects.rollout(RUN, 'train'), target: 'message/rollout', request: false },
  { subject: subjects.trajectory(RUN, 'train'), target: 'message/trajectory', request: false },
  { subject: subjects.trajectory(RUN, 'baseline'), target: 'message/trajectory', request: false },
  ...['phase', 'train_step', 'warning', 'checkpoint'].map((type) => ({
    subject: subjects.event(RUN, type),
    target: 'message/event',
    request: false,
  })),
  { subject: subjects.envOpen('browser'), target: 'request/env_open', request: true },
  { subject: subjects.policyAct(RUN), target: 'request/policy_act', request: true },
  { subject: subjects.policyInfo(RUN), target: 'request/policy_info', request: true },
  { subject: subjects.monitorPage(), target: 'request/policy_info', request: true },
];

export interface SubjectsReport {
  sent: number;
  /** Services that ended meanwhile, and how. */
  ended: string[];
  /** Service → resident bytes after the first tenth of the inputs and at the end. */
  memory: Record<string, [number, number]>;
  /** What a run on the same processes came to afterwards. */
  afterwards: string;
}

/** Sends wrong messages to the services of a run that goes on, and looks whether they serve another one afterwards. */
export async function fuzzSubjects(
  inputs: number,
  seed: number,
  say: (line: string) => void,
): Promise<SubjectsReport> {
  const fleet = await TestFleet.start();
  try {
    const fuzzed = await fleet.createRun(RUN, { training: { max_steps: 100_000 } });
    await fleet.reaches(RUN, 'training');
    const memory: SubjectsReport['memory'] = {};
    let sent = 0;
    for (; sent < inputs; sent += ROUND) {
      for (let first = sent; first < sent + ROUND; first += AT_ONCE) {
        await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => send(fleet, seed, first + index)));
      }
      await answers(fleet);
      for (const name of SERVICES) {
        const bytes = residentBytes(fleet.pidOf(name));
        if (memory[name] === undefined || sent < inputs / 10) memory[name] = [bytes, bytes];
        else memory[name][1] = bytes;
      }
      say(`${sent + ROUND} sent, ${fleet.unexpectedEnds.length} services ended`);
    }
    await fleet.bus.runs.changePhase(RUN, 'stopped');
    await fuzzed.stop();
    return { sent, ended: fleet.unexpectedEnds, memory, afterwards: await anotherRun(fleet) };
  } finally {
    await fleet.stop();
  }
}

async function send(fleet: TestFleet, seed: number, at: number): Promise<void> {
  const random = new Random(seedOf(seed, at));
  const way = random.pick(WAYS);
  const input = targetOf(way).input(new Mutator(random));
  // Valid ones are another test's: they would train on what nobody played.
  if (targetOf(way).feed(input) === true) return;
  const { connection } = fleet.bus;
  if (input.byteLength > (connection.info?.max_payload ?? 0)) return;
  if (way.request) await connection.request(way.subject, input, { timeout: 20_000 });
  else connection.publish(way.subject, input);
}

const targetOf = ({ target }: Way): Target => messageTargets.find(({ name }) => name === target)!;

/** A right request is answered while the wrong ones come in. */
async function answers(fleet: TestFleet): Promise<void> {
  await fleet.bus.connection.flush();
  await fleet.until(
    'the learner to answer',
    async () =>
      (await fleet.bus.request(subjects.policyInfo(RUN), { runId: RUN }, 10_000, PolicyInfoReply)).ok,
    60_000,
  );
}

async function anotherRun(fleet: TestFleet): Promise<string> {
  const log = await fleet.createRun('after');
  await fleet.reaches('after', 'finished', 180_000);
  await log.ends();
  await delay(100);
  await log.stop();
  return `${log.steps.length} steps, ${log.trajectories.length} trajectories`;
}

function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
