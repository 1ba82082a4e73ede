import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { programWith, withOwnFlags } from './program';

const root = join(__dirname, '../../..');

test('the version is that of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(programWith('runs').version()).toBe(version);
});

test('suggests the options of the command itself for a misspelt flag', () => {
  const said = (verb: string, message: string) => withOwnFlags(message, programWith(verb));
  expect(said('quickstart', 'unknown option --minuts. Did you mean --training.max_minutes?')).toBe(
    'unknown option --minuts. Did you mean --minutes or --training.max_minutes?',
  );
  expect(said('train', 'unknown option --detahc. See --help for all')).toBe(
    'unknown option --detahc. Did you mean --detach?',
  );
  expect(said('train', 'unknown option --zzzzzzzzz. See --help for all')).toContain('See --help for all');
});

test.each([
  [['page', '--taks', 'Buy apples'], 'unknown option --taks. Did you mean --task?'],
  [['page', '--tsak=Buy apples'], 'unknown option --tsak. Did you mean --task?'],
  [['page'], /^option --task is missing/],
  [['page', '--tasks', 'Buy apples'], /^option --task is missing.*--tasks is that of a run file$/],
])('try %j says which option is meant', async (words, message) => {
  await expect(programWith('try').parseAsync(['try', ...words], { from: 'user' })).rejects.toThrow(message);
});
