import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveTinker, type ServeTinkerOptions } from '../src/serve/tinker';
import { TrainingClient } from './tinker-client';

/** A server of the bundled model with its own folder, and a client of it. */
export interface Served {
  client: TrainingClient;
  url: string;
  dir: string;
  /** Also removes the folder. */
  stop(): Promise<void>;
}

export async function serveSmall(limits: Partial<ServeTinkerOptions> = {}): Promise<Served> {
  const dir = mkdtempSync(join(tmpdir(), 'serve-tinker-'));
  const served = await serveTinker({
    ...{ model: 'small', dir, device: 'cpu', threads: 2, rows: 4, maxSequence: 256, deterministic: true },
    ...limits,
  });
  const stop = async () => {
    await served.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return { client: await TrainingClient.begin(served.url), url: served.url, dir, stop };
}
