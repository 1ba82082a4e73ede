import { DeviceError, type CommandReply } from '@ui-rl/plugin-kit';
import { AdbSocket, type AdbAddress } from './adb-socket';

/** A device as listed by an adb server. */
export interface AdbDevice {
  serial: string;
  /** `device` if it is usable; otherwise `offline`, `unauthorized` … */
  state: string;
}

/** Packet ids of adb's shell protocol. */
const PACKET = { stdout: 1, stderr: 2, exit: 3 };
const PACKET_HEADER = 5;
/** Maximum output of a command; more than an 8K screenshot as PNG. A device that keeps sending is disconnected. */
const MAX_OUTPUT = 64 * 2 ** 20;

/**
 * A client of an adb server (`adb start-server`), using its smart-socket protocol. Every call uses its own connection
 * and ends with its signal. Source: android.googlesource.com/platform/packages/modules/adb, docs/dev/services.md,
 * docs/dev/overview.md, shell_protocol.h.
 */
export class AdbServer {
  constructor(readonly address: AdbAddress) {}

  async devices(signal: AbortSignal): Promise<AdbDevice[]> {
    const list = await this.ask('host:devices', 'the list of devices', signal);
    return list
      .split('\n')
      .filter((line) => line.includes('\t'))
      .map((line) => {
        const [serial, state] = line.split('\t');
        return { serial, state };
      });
  }

  /** Connects the server to a network device, `host:port`; does nothing if it is already connected. */
  async connect(serial: string, signal: AbortSignal): Promise<void> {
    const reply = await this.ask(`host:connect:${serial}`, `adb connect ${serial}`, signal);
    if (/^(already )?connected to/.test(reply)) return;
    throw new DeviceError('crashed', `adb connect ${serial}: ${reply.trim()}`);
  }

  /** Runs a command in the device's shell. Exit code and output are separate. */
  async shell(serial: string, command: string, signal: AbortSignal): Promise<CommandReply> {
    const { exitCode, stdout, stderr } = await this.shellBytes(serial, command, signal);
    return { exitCode, stdout: Buffer.concat([stdout, stderr]).toString('utf8') };
  }

  /** The same, with the output as bytes. */
  async shellBytes(
    serial: string,
    command: string,
    signal: AbortSignal,
  ): Promise<{ exitCode: number; stdout: Buffer; stderr: Buffer }> {
    const socket = await this.open(serial, command, signal);
    try {
      await socket.request(`shell,v2,raw:${command}`);
      return await readShell(socket, `${serial}: ${command}`);
    } finally {
      socket.close();
    }
  }

  private async open(serial: string, command: string, signal: AbortSignal): Promise<AdbSocket> {
    const socket = await AdbSocket.open(this.address, `${serial}: ${command}`, signal);
    try {
      await socket.request(`host:transport:${serial}`);
      return socket;
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  private async ask(service: string, what: string, signal: AbortSignal): Promise<string> {
    const socket = await AdbSocket.open(this.address, what, signal);
    try {
      await socket.request(service);
      return await socket.text();
    } finally {
      socket.close();
    }
  }
}

async function readShell(
  socket: AdbSocket,
  what: string,
): Promise<{ exitCode: number; stdout: Buffer; stderr: Buffer }> {
  const output: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
  let size = 0;
  for (;;) {
    const header = await socket.exactlyOrEnd(PACKET_HEADER);
    if (header === null) {
      throw new DeviceError('crashed', `${what}: the device was gone before the command ended`);
    }
    const length = header.readUInt32LE(1);
    size += length;
    if (size > MAX_OUTPUT) {
      throw new DeviceError('crashed', `${what}: the device sends more than ${MAX_OUTPUT} bytes`);
    }
    const data = await socket.exactly(length);
    if (header[0] === PACKET.stdout) output.stdout.push(data);
    else if (header[0] === PACKET.stderr) output.stderr.push(data);
    else if (header[0] === PACKET.exit) {
      const { stdout, stderr } = output;
      return { exitCode: data[0], stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) };
    }
  }
}
