import { setTimeout as sleep } from 'node:timers/promises';
import {
  asDeviceReply,
  DeviceCommandError,
  DeviceError,
  PluginError,
  readDeviceStart,
  startDevice,
  type Deadline,
  type DeviceStart,
  type Environment,
  type EnvironmentContext,
  type EnvironmentSession,
  type OpenOptions,
  type Reply,
} from '@ui-rl/plugin-kit';
import { AdbServer } from './adb-server';
import type { Device } from './device';
import { DevicePool } from './device-pool';
import { tellEmulator } from './emulator-console';
import { adbAddress, allowedDevices, consoleTokenFile, isInNetwork } from './machine';
import type { AndroidOptions } from './options';
import { AndroidSession, readState } from './session';
import { readAndroidTask, type AndroidTask } from './task-spec';

/** Time limit of the first device list. */
const LIST_MS = 10_000;
/** How long a newly connected device may take to become usable. */
const SETTLE_MS = 3_000;
/** Interval of checking a device that boots. */
const POLL_MS = 300;

interface Parts {
  adb: AdbServer;
  pool: DevicePool;
  options: AndroidOptions;
  /** Start options that apply before those of the task. */
  reset: DeviceStart;
  tokenFile: string;
}

/** Devices and emulators of one adb server. */
export class AndroidEnvironment implements Environment {
  private constructor(private readonly parts: Parts) {}

  /**
   * Throws `PluginError` for options that this machine does not support, `DeviceError` if there is no adb server or
   * no device.
   */
  static async create(
    options: AndroidOptions,
    { variables = {}, log }: EnvironmentContext,
  ): Promise<AndroidEnvironment> {
    const { reset_settings: settings, reset_stop: stop } = options;
    const reset = readDeviceStart({ settings, stop }, 'environment android: reset');
    const adb = new AdbServer(adbAddress(variables));
    const allowed = allowedDevices(options, variables);
    const pool = new DevicePool(adb, allowed, log);
    await firstDevice(pool, AbortSignal.timeout(LIST_MS));
    if (pool.usable.length === 0) throw noDevice(adb, pool, allowed.serials);
    return new AndroidEnvironment({ adb, pool, options, reset, tokenFile: consoleTokenFile(variables) });
  }

  async open({ task }: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>> {
    return asDeviceReply(async () => this.begin(readAndroidTask(task), deadline));
  }

  async close(): Promise<void> {
    this.parts.pool.close();
  }

  /** Tries the next device if one fails: the episode has not started yet. */
  private async begin(task: AndroidTask, { signal, deadlineAt }: Deadline): Promise<EnvironmentSession> {
    const { pool } = this.parts;
    // The other half of the time is for preparing the device.
    const waiting = AbortSignal.any([
      signal,
      AbortSignal.timeout(Math.ceil(Math.max(0, deadlineAt - Date.now()) / 2)),
    ]);
    let failed: DeviceError | null = null;
    for (;;) {
      const device = await pool.acquire(waiting).catch((error: unknown) => {
        throw failed ?? error;
      });
      try {
        return await this.start(device, task, signal);
      } catch (error) {
        if (error instanceof DeviceCommandError || error instanceof PluginError) {
          pool.release(device);
          throw error;
        }
        pool.setAside(device, error instanceof Error ? error.message : String(error));
        if (!(error instanceof DeviceError) || signal.aborted) throw error;
        failed = error;
      }
    }
  }

  private async start(
    device: Device,
    { start, checks }: AndroidTask,
    signal: AbortSignal,
  ): Promise<AndroidSession> {
    const { options, pool } = this.parts;
    if (isInNetwork(device.serial)) await this.parts.adb.connect(device.serial, signal);
    await this.reset(device, start, signal);
    await sleep(options.delay_ms);
    const screenshot = await device.screenshot(signal);
    const state = await readState(device, checks, signal);
    const giveBack = (used: Device, fault: string | null) =>
      fault === null ? pool.release(used) : pool.setAside(used, fault);
    return new AndroidSession({ device, checks, screenshot, state, delayMs: options.delay_ms, giveBack });
  }

  private async reset(device: Device, start: DeviceStart, signal: AbortSignal): Promise<void> {
    const { adb, options, reset, tokenFile } = this.parts;
    if (options.snapshot !== undefined) {
      const command = `avd snapshot load ${options.snapshot}`;
      const { host } = adb.address;
      await tellEmulator({ host, serial: device.serial, tokenFile, command }, signal);
      await untilReady(device, signal);
    } else {
      await device.restoreKeyboard(signal);
    }
    const settings = { ...reset.settings, ...start.settings };
    const stop = [...new Set([...reset.stop, ...start.stop])];
    await startDevice({ ...start, settings, stop }, (command) => device.shell(command, signal));
  }
}

/** Loading a snapshot drops adb's connection, which is re-established by itself. */
async function untilReady(device: Device, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      if (await device.isReady(signal)) return;
    } catch (error) {
      if (!(error instanceof DeviceError) || signal.aborted) throw error;
    }
    await sleep(POLL_MS);
    if (signal.aborted)
      throw new DeviceError('deadline', `${device.serial} did not come back from its snapshot`);
  }
}

/** A network device needs a moment between its connection and its first command. */
async function firstDevice(pool: DevicePool, signal: AbortSignal): Promise<void> {
  const until = performance.now() + SETTLE_MS;
  for (;;) {
    await pool.list(signal);
    if (pool.usable.length > 0 || pool.unusable.size === 0 || performance.now() >= until) return;
    await sleep(POLL_MS);
  }
}

function noDevice({ address }: AdbServer, { unusable }: DevicePool, serials: readonly string[]): DeviceError {
  const states = [...unusable].map(([serial, state]) => `${serial} as ${state}`).join(', ');
  const missing = serials.length === 0 ? 'no emulator' : `none of ${serials.join(', ')}`;
  const hint = [...unusable.values()].includes('unauthorized')
    ? 'say yes to "Allow USB debugging" on its screen'
    : 'see "adb devices"; your phone takes part if ANDROID_SERIAL of the env service names it';
  const listed = unusable.size === 0 ? missing : states;
  return new DeviceError(
    'crashed',
    `the adb server at ${address.host}:${address.port} lists ${listed}: ${hint}`,
  );
}
