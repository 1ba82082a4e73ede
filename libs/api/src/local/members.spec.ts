import { fleetMembers, portsOf, SERVICES } from './members';

const names = (...[service, ...rest]: [Parameters<typeof fleetMembers>[0][number], object, object]) =>
  fleetMembers([service], ...(rest as [object, Record<string, string>])).map(({ name }) => name);
const ports = (port: string) =>
  fleetMembers(['actor'], { actor: 3 }, { AGENTS_PORT: port, A: 'b' }).map(({ env }) => env.AGENTS_PORT);

test('a service is as many processes as requested, each with its own name and log', () => {
  expect(names('actor', { actor: 3 }, {})).toEqual(['actor-1', 'actor-2', 'actor-3']);
  expect(names('env', { actor: 3, env: 1 }, {})).toEqual(['env']);
  expect(names('learner', { actor: 3 }, {})).toEqual(['learner']);
  expect(names('sampler', { actor: 3 }, {})).toEqual([]);
  expect(names('sampler', { sampler: 2 }, {})).toEqual(['sampler-1', 'sampler-2']);
});

test('no two of them take the same port', () => {
  expect(ports('8200')).toEqual(['8200', '8201', '8202']);
  expect(ports('0')).toEqual(['0', '0', '0']);
  expect(fleetMembers(['env'], { env: 2 }, { AGENTS_PORT: '8200', A: 'b' })[1].env).toEqual({
    AGENTS_PORT: '8200',
    A: 'b',
  });
});

test('each process of a fleet answers for its health at its own port', () => {
  const healths = (port?: string) =>
    fleetMembers(SERVICES, { env: 2 }, { HEALTH_PORT: port }).map(({ env }) => env.HEALTH_PORT);
  expect(healths('9000')).toEqual(['9000', '9001', '9002', '9003', '9004', '9005', '9006']);
  expect(new Set(healths('0'))).toEqual(new Set(['0']));
  expect(new Set(healths())).toEqual(new Set([undefined]));
});

test('a port is asked for by those services alone that listen there', () => {
  const env = { POLICY_PORT: '8000', POLICY_HOST: '0.0.0.0', AGENTS_PORT: '8100', ENVIRONMENTS_PORT: '0' };
  const found = fleetMembers(SERVICES, { actor: 2 }, env).flatMap(portsOf);
  expect(found).toEqual([
    { member: 'learner', variable: 'POLICY_PORT', host: '0.0.0.0', port: 8000 },
    { member: 'actor-1', variable: 'AGENTS_PORT', host: '127.0.0.1', port: 8100 },
    { member: 'actor-2', variable: 'AGENTS_PORT', host: '127.0.0.1', port: 8101 },
  ]);
});
