import 'reflect-metadata';
import { inspect } from 'node:util';
import { Random } from '@ui-rl/random';
import { Mutator } from './mutate';
import { Place } from './place';
import { type Memory, type Order, type Report, seedOf, type Slowest, type Target } from './target';

/** Feeds targets in a separate process, so that a memory overflow or an endless loop affects nothing else. */

/** Maximum memory measurements per order, and minimum inputs between two: each collects garbage for 0.1 s. */
const LOOKS = 10;
const BETWEEN_LOOKS = 100;
/** Synchronous parsers would otherwise keep reports from being sent. */
const BREATHE_MS = 250;

const [placeFile, targetsModule] = process.argv.slice(2);
const { targets } = require(targetsModule) as { targets: readonly Target[] };
const place = new Place(placeFile, 'w+');
let orders = 0;

function report(message: Report): void {
  process.send?.(message);
}

function memory(): Memory {
  // Twice: finalizers of the first collection free what the second finds.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { rss, retained: heapUsed + external };
}

async function feedOne(target: Target, seed: number, at: number): Promise<boolean> {
  const input = target.input(new Mutator(new Random(seedOf(seed, at))));
  try {
    return await target.feed(input);
  } catch (error) {
    if (target.isRefusal?.(error) === true) return false;
    throw error;
  }
}

async function feed({ target: name, seed, from, to }: Order): Promise<void> {
  const target = targets.find((each) => each.name === name);
  if (target === undefined) throw new Error(`there is no target ${name}`);
  orders += 1;
  const between = Math.max(BETWEEN_LOOKS, Math.ceil((to - from) / LOOKS));
  const slowest: Slowest = { at: from, ms: 0 };
  let [accepted, breathed] = [0, Date.now()];
  for (let at = from; at < to; at += 1) {
    place.write(orders, at);
    const before = process.cpuUsage();
    if (await feedOne(target, seed, at)) accepted += 1;
    const { user, system } = process.cpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms > slowest.ms) Object.assign(slowest, { at, ms });
    if (ms > (target.mostMs ?? Infinity)) throw new Error(`took ${Math.round(ms)} ms of processor time`);
    const fed = at - from + 1;
    if (fed % between === 0 || at + 1 === to) report({ type: 'memory', fed, ...memory() });
    if (Date.now() - breathed < BREATHE_MS) continue;
    await new Promise(setImmediate);
    breathed = Date.now();
  }
  report({ type: 'done', accepted, slowest });
}

function fail(error: unknown): void {
  report({ type: 'failed', message: inspect(error).slice(0, 4_000) });
}

process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);
process.on('message', (order: Order) => void feed(order).catch(fail));
process.on('disconnect', () => process.exit());
report({ type: 'ready' });
