import { createServer } from 'node:net';
import { portsOf, type Member, type MemberPort } from './members';

/**
 * Rejects ports in use: a service whose port is taken would exit and restart forever.
 *
 * @throws Error that names the variable, the port and the process that needs it
 */
export async function refuseTakenPorts(members: readonly Member[]): Promise<void> {
  const wanted = members.flatMap(portsOf);
  for (const [index, port] of wanted.entries()) {
    const other = wanted.slice(0, index).find((each) => each.port === port.port);
    if (other !== undefined) throw new Error(`${inWords(port)}, and ${inWords(other)}: ${MEND}`);
  }
  for (const port of wanted) await refuseTaken(port);
}

const MEND = 'choose another port, or 0 for any that is free';

async function refuseTaken(wanted: MemberPort): Promise<void> {
  const { host, port } = wanted;
  const problem = await tryListening(host, port);
  if (problem === undefined) return;
  const why =
    problem.code === 'EADDRINUSE'
      ? `another program listens on ${host}:${port}`
      : `nothing can listen on ${host}:${port} (${problem.code ?? problem.message})`;
  throw new Error(`${inWords(wanted)}, but ${why}: ${MEND}`);
}

function inWords({ variable, port, member }: MemberPort): string {
  return `${variable} gives port ${port} to the ${member} service`;
}

/** The error that prevents listening; undefined if the port is free. */
function tryListening(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    try {
      server.listen(port, host, () => server.close(() => resolve(undefined)));
    } catch (error) {
      resolve(error as NodeJS.ErrnoException);
    }
  });
}
