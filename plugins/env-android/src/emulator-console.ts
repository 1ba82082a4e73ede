import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { DeviceError } from '@ui-rl/plugin-kit';

export interface EmulatorCommand {
  host: string;
  /** For example `emulator-5554`; the number is its console port. */
  serial: string;
  tokenFile: string;
  command: string;
}

/**
 * Sends a command to the console of an emulator, as `adb emu` does: `avd snapshot load clean`. Throws `DeviceError`
 * `crashed` with the console's message if it fails. Source: developer.android.com/studio/run/emulator-console
 */
export async function tellEmulator(
  { host, serial, tokenFile, command }: EmulatorCommand,
  signal: AbortSignal,
): Promise<void> {
  const port = Number(serial.replace('emulator-', ''));
  const socket = connect({ host, port, signal });
  const what = `console of ${serial} at ${host}:${port}`;
  try {
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
    const greeting = await answer(lines, what);
    if (/authentication required/i.test(greeting)) {
      socket.write(`auth ${await token(tokenFile, what)}\n`);
      await answer(lines, what);
    }
    socket.write(`${command}\n`);
    await answer(lines, `${what}: ${command}`);
  } catch (error) {
    if (error instanceof DeviceError) throw error;
    const code = signal.aborted ? 'deadline' : 'crashed';
    throw new DeviceError(code, `${what}: ${(error as Error).message}`, { cause: error });
  } finally {
    // Already reported, or caused by destroying the socket.
    socket.on('error', () => undefined);
    socket.destroy();
  }
}

/** Reads up to a line `OK`. */
async function answer(lines: AsyncIterator<string>, what: string): Promise<string> {
  const said: string[] = [];
  for (;;) {
    const { done, value } = await lines.next();
    if (done === true) throw new DeviceError('crashed', `${what}: the connection ended`);
    const line = value.trim();
    if (line === 'OK') return said.join('\n');
    if (line.startsWith('KO')) throw new DeviceError('crashed', `${what}: ${line}`);
    said.push(line);
  }
}

async function token(file: string, what: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new DeviceError(
      'crashed',
      `${what} asks for a token, which cannot be read: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}
