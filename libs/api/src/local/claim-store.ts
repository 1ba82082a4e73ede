import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEADLINES } from '@ui-rl/retry';
import { FolderInUseError, lockFolder } from '@ui-rl/settings';

/** Configuration of a private nats-server, beside its store. */
export const CONFIGURATION = 'nats.conf';
/** File in which the server writes its process id. */
export const PROCESS = 'nats.pid';

const POLL_MS = 50;

/**
 * Claims the store of a private nats-server: two servers over one store would corrupt it. Stops a server that
 * outlived its owner, for example after SIGKILL. Returns a function that releases the store.
 *
 * @param dir folder of the server's files
 * @throws Error that names the process that uses the store
 */
export async function claimStore(
  dir: string,
  onWarning: (message: string) => void,
): Promise<() => Promise<void>> {
  const release = await lockFolder(dir).catch((error: unknown) => {
    if (!(error instanceof FolderInUseError)) throw error;
    throw new Error(
      `there is a broker already over the streams in ${dir}: ${error.message}. Or give this one its own folder: UIRL_RUNS_DIR`,
      { cause: error },
    );
  });
  try {
    await endWhatWasLeft(dir, onWarning);
  } catch (error) {
    await release();
    throw error;
  }
  return release;
}

async function endWhatWasLeft(dir: string, onWarning: (message: string) => void): Promise<void> {
  const left = readIfThere(join(dir, CONFIGURATION));
  const name = /^server_name: (\S+)$/m.exec(left)?.[1];
  const port = Number(/^listen: "127\.0\.0\.1:(\d+)"$/m.exec(left)?.[1]);
  const pid = Number(readIfThere(join(dir, PROCESS)));
  // The system may have reused the process id; the server reports its name.
  if (!(pid > 0) || name === undefined || (await serverName(port)) !== name) return;
  onWarning(`a broker that was left behind (process ${pid}) is ended`);
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + DEADLINES.stopProcess.ms;
  while (!hasEnded(pid)) {
    if (Date.now() > deadline) throw new Error(`the broker of process ${pid} does not end: kill it`);
    await sleep(POLL_MS);
  }
}

/** An unreaped child still has a process id but no longer runs. */
function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  return /^\d+ \(.*\) Z /.test(readIfThere(`/proc/${pid}/stat`));
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Name of the nats-server that listens on a port. The server sends it to every client before authentication. */
export function serverName(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (name?: string): void => {
      socket.destroy();
      resolve(name);
    };
    let text = '';
    socket.setTimeout(2_000, () => answer());
    socket.on('error', () => answer());
    socket.on('close', () => answer());
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (text.includes('\n') || text.length > 65_536) answer(/"server_name":"([^"]*)"/.exec(text)?.[1]);
    });
  });
}
