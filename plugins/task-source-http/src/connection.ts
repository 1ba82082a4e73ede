import { isIP } from 'node:net';
import { PluginError, readAddresses, readServerKeys, type ServerConnection } from '@ui-rl/plugin-kit';

/** Environment variables of the machine: allowed servers, and their keys. */
export const VARIABLES = { servers: 'TASK_SERVERS', keys: 'TASK_SERVER_KEYS' } as const;

/** The task servers that this machine allows, with their credentials. */
export class TaskServers {
  private readonly allowed: readonly string[];
  private readonly keys: Readonly<Record<string, string>>;

  /** @throws PluginError `option` that names the variable */
  constructor(variables: Readonly<Record<string, string>>) {
    const { addresses, wrong } = readAddresses(variables[VARIABLES.servers]);
    if (wrong.length > 0) {
      const found = wrong.map((address) => `"${address}"`).join(', ');
      throw refused(`${VARIABLES.servers} has ${found}, expected http://host:port, …`);
    }
    const keys = readServerKeys(variables[VARIABLES.keys]);
    if (keys === null) throw refused(`${VARIABLES.keys}: expected http://host:port=key, …`);
    this.allowed = addresses;
    this.keys = keys;
  }

  hasKey({ origin }: URL): boolean {
    return Object.hasOwn(this.keys, origin);
  }

  /**
   * Anyone who may announce runs can write a run file, so it can use only servers that this machine lists.
   *
   * @throws PluginError `option` for an address that is not allowed
   */
  connection(url: URL): ServerConnection {
    this.refuseOthers(url);
    // The code that writes the answer limits its size.
    return { address: url.origin, key: this.keys[url.origin], isTrusted: true, maxBytes: Infinity };
  }

  /** @throws PluginError `option` */
  refuseOthers(url: URL): void {
    const { origin, pathname } = url;
    if (this.allowed.length === 0) {
      if (isLoopback(url.hostname)) return;
      throw refused(
        `${origin} may not be asked: ${VARIABLES.servers} is not set, so that only servers of this machine itself may be (127.0.0.1, [::1], localhost); ` +
          `set ${VARIABLES.servers}=${origin} where the task-loader, the evaluator and the command line run`,
      );
    }
    const address = origin + pathname;
    if (this.allowed.some((each) => address === each || address.startsWith(`${each}/`))) return;
    throw refused(
      `${address} may not be asked: ${VARIABLES.servers} of this machine allows ${this.allowed.join(', ')}`,
    );
  }
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === '::1' || host === 'localhost';
}

function refused(message: string): PluginError {
  return new PluginError('option', `tasks: ${message}`);
}
