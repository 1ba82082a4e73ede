import { createHash } from 'node:crypto';
import {
  DeviceError,
  FOCUS_COMMAND,
  focusOf,
  show,
  type CommandReply,
  type Screenshot,
} from '@ui-rl/plugin-kit';
import type { BoxRequest } from './actions';
import type { GboxApi } from './gbox-api';

type Json = Record<string, unknown>;

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const [WIDTH_AT, HEIGHT_AT, HEADER_END] = [16, 20, 24];
/** Time limit of a command on a box, in GBox's format. */
const COMMAND_TIMEOUT = '30s';

/** One box of GBox. All methods throw `DeviceError`. */
export class Box {
  readonly id: string;
  /** Milliseconds since the epoch, as last reported by GBox. */
  expiresAt: number;

  /** @param made GBox's description of it @param expiresAt used if the description has no expiry */
  constructor(
    private readonly api: GboxApi,
    made: Json,
    expiresAt: number,
  ) {
    if (typeof made.id !== 'string' || made.id === '') {
      throw new DeviceError('crashed', `GBox made a box without an id: ${show(made)}`);
    }
    this.id = made.id;
    this.expiresAt = expiryOf(made) ?? expiresAt;
  }

  async status(signal: AbortSignal): Promise<string> {
    const told = await this.api.repeat({ method: 'GET', path: this.path('') }, signal);
    const { status, reason } = told;
    this.expiresAt = expiryOf(told) ?? this.expiresAt;
    return status === 'error' && typeof reason === 'string' ? `error: ${reason}` : String(status);
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.api.repeat({ method: 'POST', path: this.path('/start'), body: { wait: true } }, signal);
  }

  async stop(signal: AbortSignal): Promise<void> {
    await this.api.repeat({ method: 'POST', path: this.path('/stop'), body: { wait: true } }, signal);
  }

  /** Performs an action, without retries. */
  async act({ action, body }: BoxRequest, signal: AbortSignal): Promise<void> {
    await this.api.once({ method: 'POST', path: this.path(`/actions/${action}`), body }, signal);
  }

  /** Runs a command, without retries. */
  async command(command: string, signal: AbortSignal): Promise<CommandReply> {
    const body = { command, timeout: COMMAND_TIMEOUT };
    const reply = await this.api.once({ method: 'POST', path: this.path('/commands'), body }, signal);
    const { exitCode, stdout, stderr = '' } = reply;
    if (typeof exitCode !== 'number' || typeof stdout !== 'string') {
      throw new DeviceError(
        'crashed',
        `box ${this.id}: ${command}: expected {exitCode, stdout, stderr}, found ${show(reply)}`,
      );
    }
    return { exitCode, stdout: stdout + String(stderr) };
  }

  /** The focused window on Android: `package/activity`, or a system window. */
  async focus(signal: AbortSignal): Promise<string> {
    const { exitCode, stdout } = await this.command(FOCUS_COMMAND, signal);
    if (exitCode === 0) return focusOf(stdout);
    throw new DeviceError(
      'crashed',
      `box ${this.id}: ${FOCUS_COMMAND} ended with ${exitCode}, and said ${show(stdout.trim())}`,
    );
  }

  async screenshot(signal: AbortSignal): Promise<Screenshot> {
    const body = { outputFormat: 'base64' };
    const { uri } = await this.api.repeat(
      { method: 'POST', path: this.path('/actions/screenshot'), body },
      signal,
    );
    const [, base64] = typeof uri === 'string' ? (/^data:image\/png;base64,(.+)$/s.exec(uri) ?? []) : [];
    const png = new Uint8Array(Buffer.from(base64 ?? '', 'base64'));
    const header = Buffer.from(png.buffer);
    if (header.length < HEADER_END || !header.subarray(0, PNG.length).equals(PNG)) {
      throw new DeviceError(
        'crashed',
        `box ${this.id}: expected a screenshot as data:image/png, found ${show(uri)}`,
      );
    }
    const [width, height] = [header.readUInt32BE(WIDTH_AT), header.readUInt32BE(HEIGHT_AT)];
    return { png, sha256: createHash('sha256').update(png).digest('hex'), width, height };
  }

  private path(rest: string): string {
    return `boxes/${encodeURIComponent(this.id)}${rest}`;
  }
}

function expiryOf({ expiresAt }: Json): number | undefined {
  const told = typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.NaN;
  return Number.isNaN(told) ? undefined : told;
}
