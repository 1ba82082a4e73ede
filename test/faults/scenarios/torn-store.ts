import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Scenario } from '../scenario';

/** Bytes of the last write that may be torn by a power failure. */
const TORN_BYTES = 40;

export const tornStore: Scenario = {
  name: 'torn-store',
  shows:
    "the broker dies and the last message of each stream, and every consumer's state, are cut off in the middle: the run ends as others do",
  async play(lab) {
    const { fleet } = lab;
    await lab.beginRun('torn');
    await lab.trained(1);
    await lab.playing(1);
    // An event that was not read before the failure is lost with the store.
    const announced = () => lab.log.events('checkpoint').some(({ step }) => step === 1);
    await fleet.until('the checkpoint of step 1', announced, 60_000);
    await fleet.nats.kill();
    for (const file of newestFiles(fleet.nats.storeDir)) {
      truncateSync(file, Math.max(0, statSync(file).size - TORN_BYTES));
    }
    await fleet.nats.launch();
  },
};

/** The most recent file of each stream, and the states of all consumers. */
function newestFiles(storeDir: string): string[] {
  const streams = join(storeDir, 'jetstream', '$G', 'streams');
  const files = (folder: string, ending: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(ending))
      .map((name) => join(folder, name));
  return readdirSync(streams).flatMap((stream) => {
    const blocks = files(join(streams, stream), '.blk').toSorted((a, b) => numberOf(a) - numberOf(b));
    return [...blocks.slice(-1), ...files(join(streams, stream), 'o.dat')].filter(
      (file) => statSync(file).size > 0,
    );
  });
}

function numberOf(block: string): number {
  return Number(/(\d+)\.blk$/.exec(block)?.[1]);
}
