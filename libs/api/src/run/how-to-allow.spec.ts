import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents } from '@ui-rl/plugin-kit';
import { loadRunFile, parseRunFile } from '@ui-rl/settings';
import { howToAllow } from './how-to-allow';

const REWARD = `exports.default = { kind: 'reward', name: 'short', create: () => ({ score: () => 0 }) };`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'how to allow-'));
  writeFileSync(join(folder, 'short.js'), REWARD);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The error of a service that was started without the module. */
async function refusal(config: object): Promise<string> {
  const known = await loadComponents({ service: 'actor' });
  try {
    parseRunFile(config, known, 'run x');
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the run file was accepted');
}

it('a service names what it lacks and who has to allow it, and the command line the line to type', async () => {
  const { run, registry } = await loadRunFile({
    options: {
      model: { name: 'small' },
      tasks: 'demo_training',
      training: { max_steps: 1 },
      rewards: ['short'],
      plugins: [join(folder, 'short.js')],
    },
  });
  const { plugins: _plugins, ...announced } = run;
  const said = await refusal(announced);
  expect(said).toMatch(
    /no reward is named "short" in the actor service on \S+ .*npx ui-rl up --plugins MODULE/,
  );
  expect(said).not.toContain(folder);
  expect(howToAllow(said, registry)).toBe(
    `allow it where the services are started: npx ui-rl up --plugins '${join(folder, 'short.js')}'`,
  );
  expect(howToAllow('no reward is named "other" in the actor service', registry)).toBeUndefined();
  expect(howToAllow('no reward is named "task-success"', registry)).toBeUndefined();
});
