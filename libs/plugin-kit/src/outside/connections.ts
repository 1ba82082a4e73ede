import { PluginError } from '../errors';
import { readAddresses, readServerKeys, serverAddress } from './addresses';
import type { ServerConnection } from './server';

/** Settings of a run file and of a machine for servers outside of the project. */
export interface OutsideChoice {
  /** Addresses in the run file; empty: those of the machine. */
  named: readonly string[];
  /** Values of the machine's variables; unset ones are undefined. */
  variables: Readonly<Record<string, string>>;
  /** The variable with the servers that runs may name, and the one with their keys. */
  serversVariable: string;
  keysVariable: string;
  maxBytes: number;
}

/**
 * The servers that an environment may use, named by the run file or by the machine. If the machine names any, a run
 * file may not name others. Keys come from the machine, and each is sent only to its own origin.
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

/** An allowed address includes everything below it. */
function isWithin(address: string, allowed: readonly string[]): boolean {
  return allowed.some((each) => address === each || address.startsWith(`${each}/`));
}
