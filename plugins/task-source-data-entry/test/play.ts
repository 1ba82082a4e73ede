import {
  verify,
  type Action,
  type ComponentRegistry,
  type Environment,
  type EnvironmentSession,
  type Reply,
  type Task,
} from '@ui-rl/plugin-kit';
import { findChromium } from '@ui-rl/testkit';
import { nextAction, type Progress } from '../src/oracle';

const STEP_MS = 60_000;
const OPEN_MS = 120_000;

export interface Played {
  success: boolean | null;
  /** The final state. */
  state: Progress;
  actions: number;
  openMs: number;
  closeMs: number;
  /** Duration of each action, including its screenshot. */
  actionMs: number[];
}

/** Plays a task with the oracle, which reads the state but changes it only through actions. */
export async function playByOracle(registry: ComponentRegistry, task: Task): Promise<Played> {
  const environment = await environmentOf(registry, task);
  try {
    const opening = performance.now();
    const session = valueOf(await environment.open({ task, seed: 0 }, within(OPEN_MS)));
    const openMs = performance.now() - opening;
    const actionMs = await playSession(session, task);
    const closing = performance.now();
    const state = valueOf(await session.close(within(STEP_MS))) as unknown as Progress;
    const closeMs = performance.now() - closing;
    return {
      success: verify(task.checks, state),
      state,
      actions: actionMs.length,
      openMs,
      closeMs,
      actionMs,
    };
  } finally {
    await environment.close();
  }
}

async function playSession(session: EnvironmentSession, task: Task): Promise<number[]> {
  const actionMs: number[] = [];
  for (let turn = 0; turn < task.maxSteps!; turn++) {
    const action = nextAction(task, await stateOf(session));
    if (action.action === 'finish') break;
    actionMs.push(await act(session, action));
  }
  return actionMs;
}

async function act(session: EnvironmentSession, action: Action): Promise<number> {
  const began = performance.now();
  const { outcome } = valueOf(await session.step(action, within(STEP_MS)));
  if (outcome !== 'ok') throw new Error(`${JSON.stringify(action)}: ${outcome}`);
  return performance.now() - began;
}

async function stateOf(session: EnvironmentSession): Promise<Progress> {
  if (session.inspect === undefined) throw new Error('the environment tells no state in between');
  return valueOf(await session.inspect(within(STEP_MS))) as unknown as Progress;
}

function environmentOf(registry: ComponentRegistry, { environment }: Task): Promise<Environment> {
  return registry.create(
    'environment',
    { name: environment!.kind },
    {
      pages: registry.pages,
      scripts: registry.scripts,
      maxSessions: 1,
      programs: { chromium: findChromium() },
      log: (level, message) => {
        if (level === 'error') console.error(message);
      },
    },
  );
}

function within(milliseconds: number) {
  return { deadlineAt: Date.now() + milliseconds, signal: AbortSignal.timeout(milliseconds) };
}

function valueOf<T>(reply: Reply<T>): T {
  if (reply.ok) return reply.value;
  throw new Error(`${reply.error.code}: ${reply.error.message}`);
}
