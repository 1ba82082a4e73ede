import { join } from 'node:path';
import type { TrackerComponent } from '@ui-rl/plugin-kit';
import { MetricsFile } from './metrics-file';

const jsonl: TrackerComponent = {
  kind: 'tracker',
  name: 'jsonl',
  description: 'Writes metrics.jsonl into the folder of the run, one line per step.',
  create: (_options, { runDir }) => new MetricsFile(join(runDir, 'metrics.jsonl')),
};

export default jsonl;
