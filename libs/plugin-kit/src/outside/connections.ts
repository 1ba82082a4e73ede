import { PluginError } from '../errors';
import { readAddresses, readServerKeys, serverAddress } from './addresses';
import type { ServerConnection } from './server';

/** What a run file and a machine say of servers outside of the project. */
export interface OutsideChoice {
  /** Addresses of the run file; none: those of the machine. */
  named: readonly string[];
  /** Values of the machine's variables; undefined where they are not set. */
  variables: Readonly<Record<string, string>>;
  /** The variable that lists the servers that runs may name, and the one with their keys. */
  serversVariable: string;
  keysVariable: string;
  maxBytes: number;
}

/**
 * Servers that an environment may ask. The run file names them, or the machine does; where the machine does, a run file may name no
 * others. Keys are the machine's, and each goes to its own origin only.
 *
 * @throws PluginError that names the option or the variable
 */
export function connectionsOf(choice: OutsideChoice, option: string): ServerConnection[] {
  const { variables, serversVariable, keysVariable, maxBytes } = choice;
  const { addresses: allowed, wrong } = readAddresses(variables[serversVariable]);
  if (wrong.length > 0) {
    const found = wrong.map((address) => `"${address}"`).join(', ');
    throw new PluginError('option', `${serversVariable} has ${found}, expected http://host:port, …`);
  }
  const keys = readServerKeys(variables[keysVariable]);
  if (keys === null) throw new PluginError('option', `${keysVariable}: expected http://host:port=key, …`);
  const named = choice.named.map(serverAddress);
  const refused = allowed.length === 0 ? [] : named.filter((address) => !isWithin(address, allowed));
  if (refused.length > 0) {
    const list = `${serversVariable} of this machine allows ${allowed.join(', ')}`;
    throw new PluginError('option', `${option}: ${refused.join(', ')} may not be asked here: ${list}`);
  }
  const addresses = named.length > 0 ? named : allowed;
  if (addresses.length === 0) {
    throw new PluginError(
      'option',
      `${option} names no server, and ${serversVariable} is not set on this machine`,
    );
  }
  return addresses.map((address) => ({
    address,
    key: keys[new URL(address).origin],
    isTrusted: allowed.length > 0,
    maxBytes,
  }));
}

/** A server that is allowed is so with everything below its address. */
function isWithin(address: string, allowed: readonly string[]): boolean {
  return allowed.some((each) => address === each || address.startsWith(`${each}/`));
}
