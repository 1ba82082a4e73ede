import { join } from 'node:path';
import type { TrackerComponent } from '@ui-rl/plugin-kit';
import { EventFiles } from './event-files';

const tensorboard: TrackerComponent = {
  kind: 'tracker',
  name: 'tensorboard',
  description:
    'Writes event files for TensorBoard into the folder "tensorboard" of the run: one scalar per metric.',
  create: (_options, { runDir }) => new EventFiles(join(runDir, 'tensorboard')),
};

export default tensorboard;
