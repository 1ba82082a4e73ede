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

/** A port that is currently free; the preferred one if possible. */
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

/** Requests carry screenshots: a history of a few full-screen PNGs must fit. */
const MAX_PAYLOAD_BYTES = 32 * 1024 * 1024;

const OPENS_WITHIN_MS = 15_000;

const USER = 'ui-rl';

/** A private nats-server and its connection details. */
export interface LocalNats {
  /** Without the credential. */
  url: string;
  /** Connection options for clients. */
  connection: { servers: string[]; user: string; password: string };
  /** File of mode 0600 with address and credential, for `NATS_CONTEXT` and `nats --context`. */
  contextFile: string;
  /** Environment for programs that connect to it; undefined removes a variable. */
  env: Readonly<Record<string, string | undefined>>;
  process: ManagedProcess;
  /** Stops the server and removes the context file. */
  stop(): Promise<void>;
}

export interface LocalNatsOptions {
  /** Preferred port. Default: any free port. */
  usualPort?: number | undefined;
  /** Folder to remove if this process is killed. */
  temporaryDir?: string | undefined;
}

/**
 * Starts a private nats-server on loopback. `dir` holds its configuration, its JetStream store and the generated
 * password that it requires.
 * It stops with this process, even if this process is killed.
 * @throws Error if another process runs a server over that store, or if the server does not start
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
  // The same at every start, so that clients can reconnect to a restarted broker.
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

/** Resolves to the process once it listens; undefined if another nats-server has taken the port meanwhile. */
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

/** Removes variables that point to other brokers from the environment of programs that use a private one. */
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
