import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TrackerComponent } from '@ui-rl/plugin-kit';

interface Options {
  metric: string;
}

const component: TrackerComponent<Options> = {
  kind: 'tracker',
  name: 'my-component',
  description: 'Writes one metric of every step into a CSV file in the folder of the run.',
  options: {
    metric: { type: 'text', default: 'env/all/reward/total', description: 'metric to write' },
  },
  create: ({ metric }, { runDir }) => {
    const file = join(runDir, 'my-component.csv');
    return {
      // A resumed run reports this step and all later ones again.
      async resume(step) {
        const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
        const kept = lines.filter((line) => line !== '' && Number(line.split(',')[0]) < step);
        await writeFile(file, kept.map((line) => line + '\n').join(''));
      },
      async step({ step, metrics }) {
        await appendFile(file, step + ',' + (metrics[metric] ?? '') + '\n');
      },
      async close() {},
    };
  },
};

export default component;
