import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { fillWithRuns } from './many-runs';
import { openPage } from './open-page';
import { BusyTab, UPDATES_PER_HOUR } from './tab-memory';

/** Prints the memory of a tab that follows a run that trains: `node libs/testkit/run-ts.cjs THIS [--updates 1800]`. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { updates: { type: 'string' } } });
  const updates = Number(values.updates ?? UPDATES_PER_HOUR);
  const opened = await openPage(fillWithRuns);
  try {
    const tab = await BusyTab.open(opened);
    console.log('updates  heap MB  DOM nodes  listeners');
    const parts = 6;
    for (let part = 0; part <= parts; part += 1) {
      if (part > 0) await tab.follow(Math.round(updates / parts));
      const { heapBytes, nodes, listeners } = await tab.memory();
      const columns = [
        Math.round(updates / parts) * part,
        (heapBytes / 1e6).toFixed(2),
        nodes,
        listeners,
      ] as const;
      console.log(columns.map((each, index) => String(each).padStart([7, 8, 10, 10][index])).join(' '));
    }
  } finally {
    await opened.close();
  }
}

void main();
