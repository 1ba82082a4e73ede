import { parentPort, workerData } from 'node:worker_threads';
import { loadPromptFolder } from '@ui-rl/models';
import { PageRenderer } from '@ui-rl/page-generator';
import { actBatch } from '../acting/batches';
import { pointBatch } from '../answering/batches';
import { readBatch } from '../reading/batches';
import type { SupplyOptions } from './supplier';

const port = parentPort!;
const { stage, modelDir, seed, from, chromium } = workerData as SupplyOptions;
const BATCHES = { read: readBatch, point: pointBatch, act: actBatch };

async function main(): Promise<void> {
  const folder = await loadPromptFolder(modelDir);
  const renderer = await PageRenderer.launch({ chromium });
  let step = from;
  let last = Promise.resolve();
  const supply = async (message: 'next' | 'stop') => {
    if (message === 'stop') {
      await renderer.close();
      port.close();
      return;
    }
    port.postMessage({ step, screens: await BATCHES[stage](renderer, folder, seed, step) });
    step++;
  };
  port.on('message', (message: 'next' | 'stop') => {
    // A failure ends the thread, and thereby the training.
    last = last.then(() => supply(message));
  });
}

void main();
