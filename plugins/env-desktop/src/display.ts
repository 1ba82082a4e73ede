import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ScreenSize } from './desktop-spec';
import { DesktopError } from './errors';
import type { DesktopPrograms } from './find-programs';
import { OPENBOX_CONFIG } from './openbox-config';
import type { Program } from './program';
import type { Seat } from './seat';
import { XConnection } from './x-connection';

const COOKIE = 'MIT-MAGIC-COOKIE-1';
const POLL_MS = 5;

/** An X server with a window manager. */
export interface Display {
  x: XConnection;
  server: Program;
  manager: Program;
  /** Variables through which programs find it. */
  environment: Readonly<Record<string, string>>;
}

export interface DisplayOptions {
  programs: DesktopPrograms;
  screen: ScreenSize;
  memoryMb: number;
}

/** Starts an X server that accepts only clients with its cookie, over a local socket, and a window manager on it. */
export async function startDisplay(seat: Seat, options: DisplayOptions): Promise<Display> {
  const { programs, memoryMb } = options;
  const cookie = randomBytes(16);
  const authority = seat.write('authority', authorityOf(cookie));
  seat.own(authority);
  const server = startServer(seat, authority, options);
  const x = await connect(server, seat.number, cookie);
  const environment = { DISPLAY: `:${seat.number}`, XAUTHORITY: authority };
  const config = seat.write('openbox.xml', OPENBOX_CONFIG);
  seat.own(config);
  const command = [programs.openbox, '--sm-disable', '--config-file', config];
  const manager = seat.start(command, { environment, network: true, memoryMb });
  try {
    while (!(await x.hasManager())) {
      if (manager.ending !== null) throw new DesktopError('no_desktop', manager.howEnded);
      await sleep(POLL_MS);
    }
  } catch (error) {
    x.close();
    throw error;
  }
  return { x, server, manager, environment };
}

function startServer(seat: Seat, authority: string, { programs, screen, memoryMb }: DisplayOptions): Program {
  const command = [
    programs.xvfb,
    `:${seat.number}`,
    '-screen',
    '0',
    `${screen.width}x${screen.height}x24`,
    '-auth',
    authority,
    '-nolisten',
    'tcp',
    '-noreset',
    '-s',
    '0',
  ];
  return seat.start(command, { network: true, memoryMb });
}

/** Polls the socket, since an X server that reports its readiness (`-displayfd`) does not create a lock file. */
async function connect(server: Program, number: number, cookie: Buffer): Promise<XConnection> {
  for (;;) {
    if (server.ending !== null) throw new DesktopError('no_desktop', server.howEnded);
    try {
      if (existsSync(`/tmp/.X11-unix/X${number}`)) return await XConnection.open(number, cookie);
    } catch {
      // The socket exists a moment before the server accepts connections.
    }
    await sleep(POLL_MS);
  }
}

/** A file in the format of `xauth`, with one entry for any address and display number. */
function authorityOf(cookie: Buffer): Buffer {
  const anyAddress = Buffer.from([0xff, 0xff]);
  const field = (value: Buffer) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(value.length);
    return Buffer.concat([length, value]);
  };
  const none = Buffer.alloc(0);
  return Buffer.concat([anyAddress, ...[none, none, Buffer.from(COOKIE), cookie].map(field)]);
}
