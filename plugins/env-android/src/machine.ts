import { homedir } from 'node:os';
import { join } from 'node:path';
import { PluginError } from '@ui-rl/plugin-kit';
import type { AdbAddress } from './adb-socket';
import type { AndroidOptions } from './options';

/** Environment variables of an env service that describe its devices; adb's own names where they exist. */
export const VARIABLES = {
  ANDROID_ADB_SERVER_ADDRESS: 'host of the adb server (127.0.0.1)',
  ANDROID_ADB_SERVER_PORT: 'its port (5037)',
  ANDROID_SERIAL:
    'devices that runs may use besides emulators, by serial, several separated by commas; host:port for one in the network',
  ANDROID_EMULATOR_TOKEN_FILE:
    'file with the token of consoles of emulators, which snapshots are loaded by (~/.emulator_console_auth_token)',
} as const;

type Variables = Readonly<Record<string, string>>;

export function adbAddress(variables: Variables): AdbAddress {
  const port = variables.ANDROID_ADB_SERVER_PORT ?? '5037';
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw new PluginError('option', `ANDROID_ADB_SERVER_PORT is "${port}", expected a port`);
  }
  return { host: variables.ANDROID_ADB_SERVER_ADDRESS ?? '127.0.0.1', port: Number(port) };
}

/** The console's auth token file of an emulator, in the home folder of the user who starts it. */
export function consoleTokenFile(variables: Variables): string {
  return variables.ANDROID_EMULATOR_TOKEN_FILE ?? join(homedir(), '.emulator_console_auth_token');
}

/** The devices that a run may use. */
export interface Allowed {
  /** Allowed serials; empty for every emulator. */
  serials: readonly string[];
}

/**
 * A physical phone connected to a machine may be personal: a run gets emulators, and devices that the machine's owner
 * lists. Throws `PluginError` `option` for others.
 */
export function allowedDevices({ serials, snapshot }: AndroidOptions, variables: Variables): Allowed {
  const named = (variables.ANDROID_SERIAL ?? '')
    .split(',')
    .map((serial) => serial.trim())
    .filter((serial) => serial !== '');
  const refused = serials.find((serial) => !isEmulator(serial) && !named.includes(serial));
  if (refused !== undefined) {
    throw new PluginError(
      'option',
      `environment android: serials names ${refused}, which this env service does not allow; its owner says so with ANDROID_SERIAL=${refused}`,
    );
  }
  const chosen = serials.length > 0 ? serials : named;
  const real = snapshot === undefined ? undefined : chosen.find((serial) => !isEmulator(serial));
  if (real !== undefined) {
    throw new PluginError(
      'option',
      `environment android: ${real} is not an emulator, and has no snapshot "${snapshot}"`,
    );
  }
  return { serials: chosen };
}

export function isEmulator(serial: string): boolean {
  return /^emulator-\d+$/.test(serial);
}

/** Whether it is a network device, to which the adb server must connect. */
export function isInNetwork(serial: string): boolean {
  return /:\d+$/.test(serial);
}
