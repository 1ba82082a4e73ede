import 'reflect-metadata';
import { inspect } from 'node:util';
import { Random } from '@ui-rl/random';
import { Mutator } from './mutate';
import { seedOf, type Counts, type Report, type Target } from './target';
import { targets } from './targets';

/** Feeds one target in a process of its own: what overflows its memory or never returns ends nothing else. */

const PROGRESS_MS = 250;
/** Memory is compared over parts of this size; the first lets caches fill. */
const PARTS = 5;

const [name, seed, from, to] = process.argv.slice(2);

function report(message: Report): void {
  process.send?.(message);
}

function memoryBytes(): number {
  // Twice: finalizers of the first free what the second finds.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function feedOne(target: Target, at: number): Promise<boolean> {
  const input = target.input(new Mutator(new Random(seedOf(Number(seed), at))));
  try {
    return await target.feed(input);
  } catch (error) {
    if (target.isRefusal?.(error) === true) return false;
    throw error;
  }
}

async function main(): Promise<void> {
  const target = targets.find((each) => each.name === name);
  if (target === undefined) throw new Error(`there is no target ${name}`);
  const [first, end] = [Number(from), Number(to)];
  const counts: Counts = { fed: 0, accepted: 0 };
  let at = first;
  const fail = (error: unknown): void => {
    report({ type: 'failed', at, message: inspect(error).slice(0, 4_000) });
    process.exitCode = 1;
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  let told = 0;
  for (; at < end; at += 1) {
    try {
      if (await feedOne(target, at)) counts.accepted += 1;
    } catch (error) {
      fail(error);
      return;
    }
    counts.fed += 1;
    if (counts.fed % Math.ceil((end - first) / PARTS) === 0)
      report({ type: 'memory', bytes: memoryBytes(), ...counts });
    if (Date.now() - told < PROGRESS_MS) continue;
    told = Date.now();
    report({ type: 'progress', ...counts });
    // Parsers that never wait would keep messages from being sent.
    await new Promise(setImmediate);
  }
  report({ type: 'memory', bytes: memoryBytes(), ...counts });
}

main().then(
  () => process.disconnect?.(),
  (error: unknown) => {
    report({ type: 'failed', at: -1, message: inspect(error) });
    process.exitCode = 1;
    process.disconnect?.();
  },
);
