import { SamplerError } from './errors';
import { faultOf, type Scores } from './probe';
import type { Protocol } from './protocol';
import type { Server } from './servers';
import type { Version } from './version';

/** The values to compare a server with. */
export interface Known {
  probes: readonly (readonly number[])[];
  /** The engine's scores of the base model. */
  base: Scores;
  tolerance: number;
}

/**
 * Lets a server score the probes with an adapter. Throws a `SamplerError` `adapter` if it does not sample that
 * adapter.
 */
export async function prove(
  protocol: Protocol,
  server: Server,
  version: Version,
  known: Known,
): Promise<void> {
  const scores = async (adapter?: string): Promise<number[]> => {
    const all: number[] = [];
    for (const tokens of known.probes)
      all.push(...(await protocol.score(server.connection, adapter, tokens)));
    return all;
  };
  const servedBase = server.base ?? (await scores());
  server.base = servedBase;
  const served = await scores(version.isBase ? undefined : version.name);
  const fault = faultOf({
    adapter: version,
    served,
    base: { scores: known.base, served: servedBase },
    before: server.newest,
    tolerance: known.tolerance,
  });
  if (fault !== undefined) {
    throw new SamplerError('adapter', `${server.address} does not sample ${version.name}: ${fault}`);
  }
  server.proven.add(version.name);
  if (!version.isBase) server.newest = { name: version.name, scores: version.scores, served };
}
