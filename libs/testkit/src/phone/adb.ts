import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort, Launched } from '../processes';
import { findAdb } from '../tools';

/** The real adb server, with its own home folder for its key. */
export class Adb {
  private constructor(
    private readonly server: Launched,
    private readonly home: string,
    readonly port: number,
  ) {}

  static async start(port?: number): Promise<Adb> {
    const home = mkdtempSync(join(tmpdir(), 'ui-rl-adb-'));
    const listen = port ?? (await freePort());
    const server = Launched.start(findAdb(), ['-P', String(listen), 'nodaemon', 'server'], {
      env: { PATH: process.env.PATH, HOME: home, ADB_MDNS: '0' },
    });
    const adb = new Adb(server, home, listen);
    await eventually('the adb server to listen', () => answers(listen));
    return adb;
  }

  /** Environment variables that point an environment to it. */
  get variables(): Record<string, string> {
    return { ANDROID_ADB_SERVER_ADDRESS: '127.0.0.1', ANDROID_ADB_SERVER_PORT: String(this.port) };
  }

  /**
   * Announces an emulator to the server, as an emulator does at its start: its device listens at `port`, its console
   * at the port before it.
   */
  async addEmulator(port: number): Promise<void> {
    const service = `host:emulator:${port}`;
    const socket = connect(this.port, '127.0.0.1');
    socket.end(`${service.length.toString(16).padStart(4, '0')}${service}`);
    await new Promise<void>((resolve) => socket.resume().once('close', () => resolve()));
  }

  /** Runs the real client: `devices`, `-s SERIAL exec-out screencap -p` … */
  async client(...words: string[]): Promise<{ exitCode: number; stdout: Buffer }> {
    const options = {
      env: { PATH: process.env.PATH, HOME: this.home },
      encoding: 'buffer',
      maxBuffer: 2 ** 26,
      timeout: 20_000,
    } as const;
    return new Promise((resolve) => {
      execFile(findAdb(), ['-P', String(this.port), ...words], options, (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : Number(error.code ?? 255);
        resolve({ exitCode, stdout: exitCode === 0 ? stdout : Buffer.concat([stdout, stderr]) });
      });
    });
  }

  async stop(): Promise<void> {
    await this.server.kill();
    rmSync(this.home, { recursive: true, force: true });
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}
