import { connect, createServer } from 'node:net';
import { mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  ENVIRONMENT_VARIABLES,
  keptSecret,
  LOCAL_CONTEXT,
  writePrivateFile,
  type NatsContext,
} from '@ui-rl/settings';
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

const USER = 'ui-rl';

/** A private nats-server, and how to reach it. */
export interface LocalNats {
  /** Without the credential. */
  url: string;
  /** What to connect with. */
  connection: { servers: string[]; user: string; password: string };
  /** Address and credential as a file of mode 0600, for `NATS_CONTEXT` and for `nats --context`. */
  contextFile: string;
  /** What programs that are to reach it have to be told by their environment, and not to be told. */
  env: Readonly<Record<string, string | undefined>>;
  process: ManagedProcess;
  /** Ends it, and takes the context file away. */
  stop(): Promise<void>;
}

/**
 * A private nats-server on loopback. Its configuration, its JetStream store and the generated password that it requires are kept in
 * `dir`.
 * @param usualPort is taken where it is free; else any that is
 */
export async function startLocalNats(
  binary: string,
  dir: string,
  logFile: string,
  onWarning: (message: string) => void,
  usualPort?: number,
): Promise<LocalNats> {
  const port = await freePort(usualPort);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const url = `nats://127.0.0.1:${port}`;
  // The same at every start, so that who is connected finds back to a broker that is started again.
  const credential: Credential = { user: USER, password: keptSecret(join(dir, 'password')) };
  const config = join(dir, 'nats.conf');
  writePrivateFile(config, configuration(port, jetstreamStore(binary, join(dir, 'jetstream')), credential));
  const contextFile = join(dir, basename(LOCAL_CONTEXT));
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
  const context: NatsContext = { url, ...credential };
  writePrivateFile(contextFile, `${JSON.stringify({ description: 'ui-rl', ...context }, null, 2)}\n`);
  const stop = async (): Promise<void> => {
    rmSync(contextFile, { force: true });
    await natsProcess.stop();
  };
  return {
    url,
    connection: { servers: [url], ...credential },
    contextFile,
    env: { ...NO_OTHER_BROKER, NATS_CONTEXT: contextFile },
    process: natsProcess,
    stop,
  };
}

/** What the environment says of other brokers, and must not be told to a private one. */
const NO_OTHER_BROKER = Object.fromEntries(
  Object.keys(ENVIRONMENT_VARIABLES)
    .filter((name) => /^NATS_(?!SERVER_BIN)/.test(name))
    .map((name) => [name, undefined]),
);

interface Credential {
  user: string;
  password: string;
}

function configuration(port: number, store: string, { user, password }: Credential): string {
  return [
    `listen: "127.0.0.1:${port}"`,
    `max_payload: ${MAX_PAYLOAD_BYTES}`,
    `max_pending: ${4 * MAX_PAYLOAD_BYTES}`,
    store,
    `authorization { user: ${JSON.stringify(user)}, password: ${JSON.stringify(password)} }`,
    '',
  ].join('\n');
}
