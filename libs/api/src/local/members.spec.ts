import { membersOf } from './members';

const names = (...of: Parameters<typeof membersOf>) => membersOf(...of).map(({ name }) => name);
const ports = (port: string) =>
  membersOf('actor', { actor: 3 }, { AGENTS_PORT: port, A: 'b' }).map(({ env }) => env.AGENTS_PORT);

test('a service is as many processes as are asked for, each with a name and a log of its own', () => {
  expect(names('actor', { actor: 3 }, {})).toEqual(['actor-1', 'actor-2', 'actor-3']);
  expect(names('env', { actor: 3, env: 1 }, {})).toEqual(['env']);
  expect(names('learner', { actor: 3 }, {})).toEqual(['learner']);
  expect(names('sampler', { actor: 3 }, {})).toEqual([]);
  expect(names('sampler', { sampler: 2 }, {})).toEqual(['sampler-1', 'sampler-2']);
});

test('no two of them take the same port', () => {
  expect(ports('8200')).toEqual(['8200', '8201', '8202']);
  expect(ports('0')).toEqual(['0', '0', '0']);
  expect(membersOf('env', { env: 2 }, { AGENTS_PORT: '8200', A: 'b' })[1].env).toEqual({
    AGENTS_PORT: '8200',
    A: 'b',
  });
});
