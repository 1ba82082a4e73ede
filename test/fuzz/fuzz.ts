import { fork } from 'node:child_process';
import { join } from 'node:path';
import { availableParallelism } from 'node:os';
import type { Report } from './target';

const root = join(__dirname, '../..');
/** An input that is not read in this time is one that hangs. */
const HANG_MS = 20_000;
/** Of V8's heap, and of arrays outside it. */
const HEAP_MEGABYTES = 512;
/** What caches may still take in the second half of the inputs. */
const MOST_GROWTH = 16e6;

export interface Result {
  target: string;
  fed: number;
  accepted: number;
  seconds: number;
  /** Bytes that were taken between the first fifth of the inputs and the last. */
  growth: number;
  /** What went wrong, and with which input. */
  failure?: string;
}

export interface FuzzOptions {
  seed: number;
  /** Inputs of each target: numbers `from` up to `to`. */
  from: number;
  to: number;
  onResult?: (result: Result) => void;
}

/** Feeds each target, as many at a time as there are cores. */
export async function fuzz(names: readonly string[], options: FuzzOptions): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = [...names];
  const worker = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const result = await feed(name, options);
      results.push(result);
      options.onResult?.(result);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return results;
}

function feed(target: string, { seed, from, to }: FuzzOptions): Promise<Result> {
  const began = Date.now();
  const result: Result = { target, fed: 0, accepted: 0, seconds: 0, growth: 0 };
  const again = (at: number) => `--target ${target} --seed ${seed} --at ${at}`;
  return new Promise((resolve) => {
    const child = fork(
      join(root, 'libs/testkit/run-ts.cjs'),
      [join(__dirname, 'run-target.ts'), target, ...[seed, from, to].map(String)],
      {
        execArgv: ['--expose-gc', `--max-old-space-size=${HEAP_MEGABYTES}`],
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      },
    );
    let [said, firstBytes] = ['', 0];
    child.stderr?.on('data', (text: Buffer) => (said = (said + text.toString()).slice(-4_000)));
    const hang = () => {
      result.failure ??= `no input was read for ${HANG_MS / 1000} s, near ${again(from + result.fed)}`;
      child.kill('SIGKILL');
    };
    let timer = setTimeout(hang, 3 * HANG_MS);
    child.on('message', (report: Report) => {
      clearTimeout(timer);
      timer = setTimeout(hang, HANG_MS);
      if (report.type === 'failed') {
        result.failure = `${again(report.at)}\n${report.message}`;
        return;
      }
      Object.assign(result, { fed: report.fed, accepted: report.accepted });
      if (report.type !== 'memory') return;
      if (firstBytes === 0) firstBytes = report.bytes;
      result.growth = report.bytes - firstBytes;
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      result.seconds = (Date.now() - began) / 1000;
      if (code !== 0)
        result.failure ??= `it ended with ${signal ?? code}, near ${again(from + result.fed)}\n${said}`;
      if (result.growth > MOST_GROWTH)
        result.failure ??= `it takes ${Math.round(result.growth / 1e6)} MB more at the end`;
      resolve(result);
    });
  });
}
