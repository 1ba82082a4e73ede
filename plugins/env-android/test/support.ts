import {
  completeOptions,
  type Action,
  type Environment,
  type EnvironmentSession,
  type Reply,
  type Task,
} from '@ui-rl/plugin-kit';
import { FakePhone } from '@ui-rl/testkit';
import { AndroidEnvironment } from '../src/environment';
import { AndroidOptions } from '../src/options';

/** A phone that lists its input method among its settings, as Android does. */
export class Phone extends FakePhone {
  /** Prefix of the commands that currently fail. */
  failing: string | null = null;

  override async run(command: string) {
    if (this.failing !== null && command.startsWith(this.failing)) {
      return { exitCode: 20, stdout: Buffer.from("Can't find service"), stderr: Buffer.alloc(0) };
    }
    this.settings.set('secure default_input_method', this.keyboard);
    return super.run(command);
  }
}

/** Options as parsed from a run file. */
export function options(given: Partial<AndroidOptions> = {}): AndroidOptions {
  const { options: made, problems } = completeOptions(
    AndroidOptions,
    { delay_ms: 0, ...given },
    { where: 'test' },
  );
  if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('\n'));
  return made;
}

export const warnings: string[] = [];

export async function environment(
  variables: Record<string, string>,
  given: Partial<AndroidOptions> = {},
): Promise<AndroidEnvironment> {
  const log = (level: string, message: string) => {
    if (level === 'warn') warnings.push(message);
  };
  return AndroidEnvironment.create(options(given), {
    pages: {},
    maxSessions: 4,
    programs: {},
    variables,
    log,
  });
}

export function within(ms: number) {
  return { deadlineAt: Date.now() + ms, signal: AbortSignal.timeout(ms) };
}

export function task(options: Record<string, unknown> = {}): Task {
  return { id: 'a', description: 'A task', environment: { kind: 'android', options } };
}

export function value<T>(reply: Reply<T>): T {
  if (reply.ok) return reply.value;
  throw new Error(`${reply.error.code}: ${reply.error.message}`);
}

export function code(reply: Reply<unknown>): string {
  return reply.ok ? 'ok' : reply.error.code;
}

export async function open(
  environment: Environment,
  options: Record<string, unknown> = {},
  ms = 10_000,
): Promise<EnvironmentSession> {
  return value(await environment.open({ task: task(options), seed: 1 }, within(ms)));
}

/** The outcome of one action. */
export async function act(session: EnvironmentSession, action: Action): Promise<string> {
  return value(await session.step(action, within(10_000))).outcome;
}
