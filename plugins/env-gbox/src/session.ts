import {
  asDeviceReply,
  keystrokesOf,
  pauseForDevice,
  validatedState,
  type Action,
  type Deadline,
  type DeviceCheck,
  type EnvironmentSession,
  type Reply,
  type Screenshot,
  type StepOutcome,
} from '@ui-rl/plugin-kit';
import { LONG_PRESS_SECONDS, pointsOf, requestsOf } from './actions';
import type { Box } from './box';

type State = Record<string, unknown>;

export interface SessionParts {
  box: Box;
  type: 'android' | 'linux';
  checks: readonly DeviceCheck[];
  /** The first screenshot. */
  screenshot: Screenshot;
  state: State;
  /** Pause between an action and its screenshot. */
  delayMs: number;
  giveBack: (box: Box, healthy: boolean) => Promise<void>;
}

/** Time kept from the deadline for the screenshot after an action. */
const RESERVE_MS = 5_000;

/** One episode in a box. */
export class GboxSession implements EnvironmentSession {
  readonly screenshot: Screenshot;
  readonly state: State;
  private screen: { width: number; height: number };
  private over = false;

  constructor(private readonly parts: SessionParts) {
    this.screenshot = parts.screenshot;
    this.state = parts.state;
    this.screen = parts.screenshot;
  }

  async step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>> {
    return asDeviceReply(() => this.play(action, deadline));
  }

  async inspect({ signal }: Deadline): Promise<Reply<State>> {
    return asDeviceReply(() => readState(this.parts, signal));
  }

  async close({ signal }: Deadline): Promise<Reply<State>> {
    const reply = await asDeviceReply(() => readState(this.parts, signal));
    await this.end(reply.ok);
    return reply;
  }

  async discard(): Promise<void> {
    await this.end(false);
  }

  private async play(action: Action, deadline: Deadline): Promise<StepOutcome> {
    const { box, delayMs } = this.parts;
    const outcome = await this.perform(action, deadline);
    const done = action.action === 'finish';
    if (!done) await pauseForDevice(delayMs, deadline.signal);
    const screenshot = await box.screenshot(deadline.signal);
    this.screen = screenshot;
    return { screenshot, outcome, done };
  }

  /** Returns the problem, or `ok`. An invalid action has no effect; one that runs out of time is partly performed. */
  private async perform(action: Action, deadline: Deadline): Promise<string> {
    const { width, height } = this.screen;
    const isOutside = pointsOf(action).some(([x, y]) => x < 0 || y < 0 || x >= width || y >= height);
    if (isOutside) return 'outside_viewport';
    if (action.action === 'wait') {
      return cut(action.seconds, deadline, (seconds) => pauseForDevice(seconds * 1000, deadline.signal));
    }
    if (action.action === 'long_press') {
      return cut(action.seconds ?? LONG_PRESS_SECONDS, deadline, (seconds) =>
        this.ask({ ...action, seconds }, deadline),
      );
    }
    return this.ask(action, deadline);
  }

  /** Sends as many requests as time allows, at least the first. */
  private async ask(action: Action, { signal, deadlineAt }: Deadline): Promise<string> {
    const { box, type } = this.parts;
    const requests = requestsOf(action, type, this.screen);
    if (requests === null) return 'unsupported_action';
    for (const [index, request] of requests.entries()) {
      if (index > 0 && Date.now() > deadlineAt - RESERVE_MS) return 'cut_short';
      await box.act(request, signal);
    }
    return action.action === 'type' && keystrokesOf(action.text).untypable > 0
      ? 'unsupported_character'
      : 'ok';
  }

  private async end(healthy: boolean): Promise<void> {
    if (this.over) return;
    this.over = true;
    await this.parts.giveBack(this.parts.box, healthy);
  }
}

/** Limits a requested duration to the deadline: an overlong request is not an infrastructure failure. */
async function cut(
  seconds: number,
  { deadlineAt }: Deadline,
  work: (seconds: number) => Promise<unknown>,
): Promise<string> {
  const allowed = Math.max(0, Math.min(seconds, (deadlineAt - Date.now() - RESERVE_MS) / 1000));
  await work(allowed);
  return allowed < seconds ? 'wait_cut_short' : 'ok';
}

/** The state for verifiers: the focused window on Android, and the box's results of the task's checks. */
export async function readState(
  { box, type, checks }: Pick<SessionParts, 'box' | 'type' | 'checks'>,
  signal: AbortSignal,
): Promise<State> {
  const focus = type === 'android' ? { focus: await box.focus(signal) } : {};
  return validatedState({ box: box.id, ...focus }, checks, (command) => box.command(command, signal));
}
