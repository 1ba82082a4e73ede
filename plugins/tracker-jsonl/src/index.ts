import type { TrackerComponent } from '@ui-rl/plugin-kit';
import { RunLines } from './run-lines';

const jsonl: TrackerComponent = {
  kind: 'tracker',
  name: 'jsonl',
  description:
    'Writes metrics.jsonl into the folder of the run, one line per step, and checkpoints.jsonl, one per checkpoint that stays.',
  create: (_options, { runDir }) => new RunLines(runDir),
};

export default jsonl;
