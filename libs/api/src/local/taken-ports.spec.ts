import { createServer, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@ui-rl/testkit';
import { Fleet } from './fleet';
import { fleetMembers } from './members';
import { refuseTakenPorts } from './taken-ports';

let taken: Server;
let port: number;

beforeAll(async () => {
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  ({ port } = taken.address() as AddressInfo);
});
afterAll(() => taken.close());

const refuse = (services: Parameters<typeof fleetMembers>[0], env: Record<string, string>, copies = {}) =>
  refuseTakenPorts(fleetMembers(services, copies, env));

test.each([
  ['HEALTH_PORT', 'task-loader'],
  ['POLICY_PORT', 'learner'],
  ['AGENTS_PORT', 'actor'],
  ['ENVIRONMENTS_PORT', 'env'],
] as const)('%s of a port that is taken is refused by name', async (variable, service) => {
  await expect(refuse([service], { [variable]: String(port) })).rejects.toThrow(
    `${variable} gives port ${port} to the ${service} service, but another program listens on 127.0.0.1:${port}: choose another port, or 0 for any that is free`,
  );
});

test('so is the second port of several, one that two services would take, and a host that is not here', async () => {
  const second = refuse(['monitor', 'learner'], { HEALTH_PORT: String(port - 1) });
  await expect(second).rejects.toThrow(
    new RegExp(`HEALTH_PORT gives port ${port - 1}|to the learner service, but another program listens`),
  );
  const free = await freePort();
  const same = refuse(['learner', 'env'], { POLICY_PORT: String(free), ENVIRONMENTS_PORT: String(free) });
  await expect(same).rejects.toThrow(
    `ENVIRONMENTS_PORT gives port ${free} to the env service, and POLICY_PORT gives port ${free} to the learner service`,
  );
  const elsewhere = refuse(['learner'], { POLICY_PORT: String(free), POLICY_HOST: '192.0.2.1' });
  await expect(elsewhere).rejects.toThrow('nothing can listen on 192.0.2.1');
  await expect(refuse(['learner'], { POLICY_PORT: '99999' })).rejects.toThrow(
    /POLICY_PORT gives port 99999.*ERR_SOCKET_BAD_PORT/,
  );
});

test('accepts free ports and ports without a listener', async () => {
  const free = refuse(['learner'], { POLICY_PORT: String(await freePort()), AGENTS_PORT: String(port) });
  await expect(free).resolves.toBeUndefined();
  const any = refuse(['learner', 'env'], { POLICY_PORT: '0', HEALTH_PORT: '0' });
  await expect(any).resolves.toBeUndefined();
});

test('a fleet starts nothing where a port is taken', async () => {
  const workDir = mkdtempSync(join(tmpdir(), 'ui-rl-ports-'));
  const env = { POLICY_PORT: String(port) };
  const started = Fleet.start({ natsServer: 'none', workDir, env, onWarning: () => undefined });
  await expect(started).rejects.toThrow('POLICY_PORT');
  expect(existsSync(join(workDir, 'nats'))).toBe(false);
  rmSync(workDir, { recursive: true });
});
