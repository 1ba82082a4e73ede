import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * Starts a thread of the project: the compiled module, or, if there is none (tests run the sources), a loader that
 * compiles it.
 * @param entry path of the module without its extension
 */
export function startThread(entry: string, { workerData, ...options }: WorkerOptions = {}): Worker {
  const compiled = `${entry}.js`;
  if (existsSync(compiled)) return new Worker(compiled, { ...options, workerData: workerData as unknown });
  const source = { ...(workerData as object | undefined), entry: `${entry}.ts` };
  return new Worker(join(__dirname, 'from-source.cjs'), { ...options, workerData: source });
}
