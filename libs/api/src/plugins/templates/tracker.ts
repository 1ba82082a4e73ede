import type { Template } from '../template';

export const tracker: Template = {
  type: 'TrackerComponent',
  types: { test: ['TrackerContext'] },
  options: 'metric: string;',
  description: 'Writes one metric of every step into a CSV file in the folder of the run.',
  imports: {
    component: { 'node:fs/promises': 'appendFile, readFile, writeFile', 'node:path': 'join' },
    test: {
      'node:fs': 'mkdtempSync, readFileSync, rmSync',
      'node:os': 'tmpdir',
      'node:path': 'join',
    },
  },
  members: `
  options: {
    metric: { type: 'text', default: 'env/all/reward/total', description: 'the one that is written' },
  },
  create: ({ metric }, { runDir }) => {
    const file = join(runDir, 'NAME.csv');
    return {
      // A run that goes on gives this step once more, and all that follow.
      async resume(step) {
        const lines = (await readFile(file, 'utf8').catch(() => '')).split('\\n');
        const kept = lines.filter((line) => line !== '' && Number(line.split(',')[0]) < step);
        await writeFile(file, kept.map((line) => line + '\\n').join(''));
      },
      async step({ step, metrics }) {
        await appendFile(file, step + ',' + (metrics[metric] ?? '') + '\\n');
      },
      async close() {},
    };
  },`,
  test: `
const at = new Date().toISOString();

test('writes a line per step, and goes on where a run goes on', async () => {
  const runDir = mkdtempSync(join(tmpdir(), 'NAME-'));
  const context/*ts : TrackerContext*/ = { runId: 'run', runDir, config: {}, environment: {}, log: () => undefined };
  const tracker = await component.create({ metric: 'optim/loss' }, context);
  for (const step of [1, 2, 3]) await tracker.step({ step, at, metrics: { 'optim/loss': step / 2 } });
  await tracker.resume?.(2);
  await tracker.step({ step: 2, at, metrics: { 'optim/loss': 7 } });
  await tracker.step({ step: 3, at, metrics: {} });
  await tracker.close();
  assert.equal(readFileSync(join(runDir, 'NAME.csv'), 'utf8'), '1,0.5\\n2,7\\n3,\\n');
  rmSync(runDir, { recursive: true });
});`,
  choice: 'logging: { trackers: [jsonl, { name: NAME, metric: optim/loss }] }',
};
