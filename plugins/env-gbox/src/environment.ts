import { setTimeout as sleep } from 'node:timers/promises';
import {
  asDeviceReply,
  startDevice,
  type Deadline,
  type Environment,
  type EnvironmentContext,
  type EnvironmentSession,
  type OpenOptions,
  type Reply,
} from '@ui-rl/plugin-kit';
import type { Box } from './box';
import { Boxes } from './boxes';
import { GboxApi } from './gbox-api';
import { accountOf } from './machine';
import type { GboxOptions } from './options';
import { GboxSession, readState } from './session';
import { readGboxTask, type GboxTask } from './task-spec';

/** Boxes of GBox: a phone or a desktop for each episode. */
export class GboxEnvironment implements Environment {
  private constructor(
    private readonly boxes: Boxes,
    private readonly options: GboxOptions,
  ) {}

  /**
   * Terminates boxes left by processes of this host. Throws `PluginError` without an API key, `DeviceError` if GBox
   * rejects the key or is unreachable.
   */
  static async create(
    options: GboxOptions,
    { variables = {}, log }: EnvironmentContext,
  ): Promise<GboxEnvironment> {
    const boxes = new Boxes(new GboxApi(accountOf(variables)), options, log);
    await boxes.sweep();
    return new GboxEnvironment(boxes, options);
  }

  async open({ task }: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>> {
    return asDeviceReply(async () => {
      const spec = readGboxTask(task, this.options.box_type);
      const box = await this.boxes.take(deadline.signal);
      try {
        return await this.start(box, spec, deadline);
      } catch (error) {
        await this.boxes.end(box);
        throw error;
      }
    });
  }

  /** Terminates every box, including those that were never used. */
  async close(): Promise<void> {
    await this.boxes.close();
  }

  private async start(box: Box, { start, checks }: GboxTask, { signal }: Deadline): Promise<GboxSession> {
    const { box_type: type, delay_ms: delayMs } = this.options;
    if (start !== null) {
      await startDevice(start, (command) => box.command(command, signal));
      await sleep(delayMs);
    }
    const screenshot = await box.screenshot(signal);
    const state = await readState({ box, type, checks }, signal);
    const giveBack = (used: Box, healthy: boolean) => this.boxes.giveBack(used, healthy);
    return new GboxSession({ box, type, checks, screenshot, state, delayMs, giveBack });
  }
}
