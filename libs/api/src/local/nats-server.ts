import { connect, createServer } from 'node:net';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamStore } from './jetstream-store';
import { ManagedProcess } from './managed-process';

/** A port nobody listens on at this moment: the usual one where it is free. */
export async function freePort(usual = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => (usual === 0 ? reject(error) : resolve(freePort())));
    server.listen(usual, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Screenshots travel in requests: a history of a few full-screen PNGs must fit. */
const MAX_PAYLOAD_BYTES = 32 * 1024 * 1024;

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

export interface LocalNats {
  url: string;
  process: ManagedProcess;
}

/**
 * A private nats-server on loopback, its JetStream store in `storeDir`.
 * @param usualPort is taken where it is free; else any that is
 */
export async function startLocalNats(
  binary: string,
  storeDir: string,
  logFile: string,
  onWarning: (message: string) => void,
  usualPort?: number,
): Promise<LocalNats> {
  const port = await freePort(usualPort);
  mkdirSync(storeDir, { recursive: true });
  const config = join(storeDir, 'nats.conf');
  writeFileSync(
    config,
    `listen: "127.0.0.1:${port}"\nmax_payload: ${MAX_PAYLOAD_BYTES}\nmax_pending: ${4 * MAX_PAYLOAD_BYTES}\n` +
      `${jetstreamStore(binary, join(storeDir, 'jetstream'))}\n`,
  );
  const natsProcess = new ManagedProcess(
    { name: 'nats-server', command: binary, args: ['-c', config], logFile, restart: true },
    onWarning,
  );
  natsProcess.start();
  const deadline = Date.now() + 15_000;
  while (!(await canConnect(port))) {
    if (Date.now() > deadline) {
      await natsProcess.stop();
      throw new Error(`nats-server (${binary}) did not open port ${port} within 15 s; its log: ${logFile}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { url: `nats://127.0.0.1:${port}`, process: natsProcess };
}
