import {
  asDeviceReply,
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
import type { Device } from './device';
import { perform } from './perform';

type State = Record<string, unknown>;

/** Returns a device with the reason why it failed; null if it did not. */
export type GiveBack = (device: Device, fault: string | null) => void;

export interface SessionParts {
  device: Device;
  checks: readonly DeviceCheck[];
  /** The first screenshot. */
  screenshot: Screenshot;
  state: State;
  /** Pause between an action and its screenshot. */
  delayMs: number;
  giveBack: GiveBack;
}

/** One episode on a device. */
export class AndroidSession implements EnvironmentSession {
  readonly screenshot: Screenshot;
  readonly state: State;
  /** Size and orientation of the last observation. */
  private screen: { width: number; height: number };
  private fault: string | null = null;
  private over = false;

  constructor(private readonly parts: SessionParts) {
    this.screenshot = parts.screenshot;
    this.state = parts.state;
    this.screen = parts.screenshot;
  }

  async step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>> {
    return this.noting(() => this.play(action, deadline));
  }

  async inspect({ signal }: Deadline): Promise<Reply<State>> {
    return this.noting(() => readState(this.parts.device, this.parts.checks, signal));
  }

  async close({ signal }: Deadline): Promise<Reply<State>> {
    const { device, checks } = this.parts;
    const reply = await this.noting(async () => {
      const state = await readState(device, checks, signal);
      await device.restoreKeyboard(signal);
      return state;
    });
    this.end();
    return reply;
  }

  async discard(): Promise<void> {
    this.end();
  }

  private async play(action: Action, deadline: Deadline): Promise<StepOutcome> {
    const { device, delayMs } = this.parts;
    const outcome = await perform(device, action, this.screen, deadline);
    const done = action.action === 'finish';
    if (!done) await pauseForDevice(delayMs, deadline.signal);
    const screenshot = await device.screenshot(deadline.signal);
    this.screen = screenshot;
    return { screenshot, outcome, done };
  }

  private async noting<T>(work: () => Promise<T>): Promise<Reply<T>> {
    const reply = await asDeviceReply(work);
    if (!reply.ok) this.fault = reply.error.message;
    return reply;
  }

  private end(): void {
    if (this.over) return;
    this.over = true;
    this.parts.giveBack(this.parts.device, this.fault);
  }
}

/** The state for verifiers: the focused window, and the device's results of the task's checks. */
export async function readState(
  device: Device,
  checks: readonly DeviceCheck[],
  signal: AbortSignal,
): Promise<State> {
  const known = { device: device.serial, focus: await device.focus(signal) };
  return validatedState(known, checks, (command) => device.shell(command, signal));
}
