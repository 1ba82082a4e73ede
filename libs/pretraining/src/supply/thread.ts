import { parentPort, workerData } from 'node:worker_threads';
import { loadPromptFolder, type PromptFolder } from '@ui-rl/models';
import { actBatch } from '../acting/batches';
import { pointBatch } from '../answering/batches';
import { readBatch } from '../reading/batches';
import { openScreens } from './draw';
import type { ScreenSource } from './source';
import type { Batch, StageName, StepOfSupply, ThreadOptions } from './supplier';

const port = parentPort!;
const { stage, modelDir, seed, from, every, batch, screens, chromium } = workerData as ThreadOptions;

const BATCHES: Record<
  StageName,
  (source: ScreenSource, folder: PromptFolder, of: StepOfSupply) => Promise<Batch<StageName>['screens']>
> = { read: readBatch, point: pointBatch, act: actBatch };

async function main(): Promise<void> {
  const folder = await loadPromptFolder(modelDir);
  const source = await openScreens({ screens, chromium });
  let step = from;
  let last = Promise.resolve();
  const supply = async (message: 'next' | 'stop') => {
    if (message === 'stop') {
      await source.close();
      port.close();
      return;
    }
    const prepared = await BATCHES[stage](source, folder, { seed, step, batch });
    port.postMessage({ step, screens: prepared });
    step += every;
  };
  port.on('message', (message: 'next' | 'stop') => {
    // A failure ends the thread, and thereby the training.
    last = last.then(() => supply(message));
  });
}

void main();
