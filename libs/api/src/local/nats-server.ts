import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ENVIRONMENT_VARIABLES,
  keptSecret,
  LOCAL_CONTEXT,
  writePrivateFile,
  type NatsContext,
} from '@ui-rl/settings';
import { BrokerGuard } from './broker-guard';
import { claimStore, CONFIGURATION, PROCESS, serverName } from './claim-store';
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

const OPENS_WITHIN_MS = 15_000;

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

export interface LocalNatsOptions {
  /** Taken where it is free; else any port that is. */
  usualPort?: number | undefined;
  /** Folder that goes with the server where this process is killed. */
  temporaryDir?: string | undefined;
}

/**
 * A private nats-server on loopback. Its configuration, its JetStream store and the generated password that it requires are kept in
 * `dir`. It ends with this process, also where that is killed.
 * @throws Error where another process has a server over that store, or the server does not start
 */
export async function startLocalNats(
  binary: string,
  dir: string,
  logFile: string,
  onWarning: (message: string) => void,
  { usualPort, temporaryDir }: LocalNatsOptions = {},
): Promise<LocalNats> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const release = await claimStore(dir, onWarning);
  const contextFile = join(dir, basename(LOCAL_CONTEXT));
  const guard = new BrokerGuard({ configFile: join(dir, CONFIGURATION), contextFile, temporaryDir });
  const end = async (): Promise<void> => {
    guard.dismiss();
    await release();
  };
  try {
    return await launchOver({ binary, dir, logFile, onWarning, contextFile, guard, usualPort }, end);
  } catch (error) {
    await end();
    throw error;
  }
}

interface Claimed {
  binary: string;
  /** Claimed for this server. */
  dir: string;
  logFile: string;
  onWarning: (message: string) => void;
  contextFile: string;
  guard: BrokerGuard;
  usualPort: number | undefined;
}

async function launchOver(
  { usualPort, contextFile, ...where }: Claimed,
  end: () => Promise<void>,
): Promise<LocalNats> {
  const { dir } = where;
  // The same at every start, so that who is connected finds back to a broker that is started again.
  const credential: Credential = { user: USER, password: keptSecret(join(dir, 'password')) };
  const launch = { ...where, credential };
  let port = await freePort(usualPort);
  let natsProcess = await launchAt(port, launch);
  while (natsProcess === undefined) {
    port = await freePort();
    natsProcess = await launchAt(port, launch);
  }
  const url = `nats://127.0.0.1:${port}`;
  const context: NatsContext = { url, ...credential };
  writePrivateFile(contextFile, `${JSON.stringify({ description: 'ui-rl', ...context }, null, 2)}\n`);
  const launched = natsProcess;
  const stop = async (): Promise<void> => {
    rmSync(contextFile, { force: true });
    await launched.stop();
    await end();
  };
  return {
    url,
    connection: { servers: [url], ...credential },
    contextFile,
    env: { ...NO_OTHER_BROKER, NATS_CONTEXT: contextFile },
    process: launched,
    stop,
  };
}

interface Launch extends Omit<Claimed, 'contextFile' | 'usualPort'> {
  credential: Credential;
}

/** The process, once it listens; nothing where another nats-server has taken the port since it was found to be free. */
async function launchAt(
  port: number,
  { binary, dir, logFile, onWarning, guard, credential }: Launch,
): Promise<ManagedProcess | undefined> {
  const config = join(dir, CONFIGURATION);
  const name = `ui-rl-${randomUUID()}`;
  const store = jetstreamStore(binary, join(dir, 'jetstream'));
  writePrivateFile(config, configuration({ name, port, store, credential, pidFile: join(dir, PROCESS) }));
  const natsProcess = new ManagedProcess(
    {
      ...{ name: 'nats-server', command: binary, args: ['-c', config], logFile, restart: true },
      onStart: (pid) => guard.watch(pid),
    },
    onWarning,
  );
  natsProcess.start();
  const deadline = Date.now() + OPENS_WITHIN_MS;
  let found = await serverName(port);
  while (found === undefined && Date.now() < deadline) {
    await sleep(50);
    found = await serverName(port);
  }
  if (found === name) return natsProcess;
  await natsProcess.stop();
  if (found !== undefined) return undefined;
  throw new Error(
    `nats-server (${binary}) did not open port ${port} within ${OPENS_WITHIN_MS / 1000} s; its log: ${logFile}`,
  );
}

/** What the environment says of other brokers, and must not be told to a private one. */
const NO_OTHER_BROKER = Object.fromEntries(
  Object.keys(ENVIRONMENT_VARIABLES)
    .filter((name) => /^NATS_(?!SERVER_BIN)/.test(name))
    .flatMap((name) => [name, `${name}_FILE`].map((variable) => [variable, undefined])),
);

interface Credential {
  user: string;
  password: string;
}

interface Configuration {
  name: string;
  port: number;
  store: string;
  credential: Credential;
  pidFile: string;
}

function configuration({
  name,
  port,
  store,
  credential: { user, password },
  pidFile,
}: Configuration): string {
  return [
    `server_name: ${name}`,
    `listen: "127.0.0.1:${port}"`,
    `pid_file: ${JSON.stringify(pidFile)}`,
    `max_payload: ${MAX_PAYLOAD_BYTES}`,
    `max_pending: ${4 * MAX_PAYLOAD_BYTES}`,
    store,
    `authorization { user: ${JSON.stringify(user)}, password: ${JSON.stringify(password)} }`,
    '',
  ].join('\n');
}
