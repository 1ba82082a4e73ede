import { isIP } from 'node:net';
import { PluginError, readAddresses, readServerKeys, type ServerConnection } from '@ui-rl/plugin-kit';

/** Variables of the machine: which servers may be asked, and what is shown to them. */
export const VARIABLES = { servers: 'TASK_SERVERS', keys: 'TASK_SERVER_KEYS' } as const;

/** Which addresses this machine allows, and how they are asked. */
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
   * A run file may come from anybody who may announce runs, so that it leads to no server but those that this machine names.
   *
   * @throws PluginError `option` for an address that may not be asked
   */
  connection(url: URL): ServerConnection {
    this.refuseOthers(url);
    // How much is taken of an answer is bounded where it is written.
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
