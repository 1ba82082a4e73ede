import { deviceMemory, tensor, type Tensor } from '@ui-rl/graph';
import { DeviceKvCache } from '../../src/kv-cache/device-kv-cache';
import { HostKvCache } from '../../src/kv-cache/host-kv-cache';
import type { KvCache } from '../../src/kv-cache/kv-cache';
import { KvSessions } from '../../src/kv-cache/kv-sessions';

const names = ['key.0', 'value.0', 'key.1'].map((name) => ({ past: `past_${name}`, added: `new_${name}` }));
const shape = { rows: 8, kvHeads: 2, maxLength: 64, headDim: 3 };
const memory = deviceMemory('webgpu');

/** Results of a pass, with distinct numbers. */
function added(rows: number, tokens: number, seed: number): Record<string, Tensor> {
  const size = rows * shape.kvHeads * tokens * shape.headDim;
  return Object.fromEntries(
    names.map((name, index) => {
      const numbers = Float32Array.from({ length: size }, (_, i) => Math.sin(seed + index + i));
      return [name.added, tensor('float32', numbers, [rows, shape.kvHeads, tokens, shape.headDim])];
    }),
  );
}

/** The contents of rows, as many tokens of each as it has. */
async function contents(cache: KvCache, tokens: readonly number[], first = 0): Promise<number[]> {
  const host = await memory.download(await cache.view(tokens.length, first));
  return names.flatMap(({ past }) => {
    const { data, dims } = host[past];
    const [rows, heads, capacity, width] = dims;
    if (rows !== tokens.length) throw new Error(`${rows} rows instead of ${tokens.length}`);
    return tokens.flatMap((count, row) =>
      Array.from({ length: heads }, (_, head) => {
        const begin = (row * heads + head) * capacity * width;
        return [...(data as Float32Array).subarray(begin, begin + count * width)];
      }).flat(),
    );
  });
}

async function exercise(first: KvCache): Promise<number[][]> {
  const states: number[][] = [];
  const note = async (cache: KvCache, tokens: number[]) => void states.push(await contents(cache, tokens));
  const decode = (cache: KvCache, positions: number[], seed: number) =>
    cache.extend(added(positions.length, 1, seed), positions);

  let cache = first;
  cache.ensureCapacity(5, 0);
  await cache.append(added(3, 5, 1), [5, 3, 4], 0);
  await note(cache, [5, 3, 4]);
  cache.copyRow(1, 3, 2);
  cache.ensureCapacity(6, 4);
  await decode(cache, [5, 3, 4, 2], 2);
  await note(cache, [6, 4, 5, 3]);
  cache.ensureCapacity(33, 4);
  await decode(cache, [6, 4, 5, 3], 3);
  await note(cache, [7, 5, 6, 4]);
  // The first row ends, the last one takes its slot, and two more prompts arrive.
  cache.copyRow(3, 0, 4);
  await cache.append(added(2, 7, 4), [7, 6], 3);
  await note(cache, [4, 5, 6, 7, 6]);
  cache = cache.grown(128, 5);
  cache.ensureCapacity(70, 5);
  await decode(cache, [4, 5, 6, 7, 6], 5);
  await note(cache, [5, 6, 7, 8, 7]);
  const [whole, part] = [await cache.copyOut(1, 0, 6), await cache.copyOut(2, 3, 7)];
  await note(cache, [5, 6]);
  // Continues prompts that share a prefix with another row, and with each other.
  await cache.copyIn(whole, 4, 2, 0);
  await cache.copyIn(part, 2, 2, 4);
  await cache.copyIn(whole, 5, 3, 0);
  states.push(await contents(cache, [6, 5], 2));
  await cache.append(added(2, 3, 7), [3, 2], 2, [6, 5]);
  await note(cache, [5, 6, 9, 7]);
  cache.clear();
  cache.ensureCapacity(9, 0);
  await cache.copyIn(part, 4, 0, 0);
  await cache.append(added(1, 2, 6), [2], 0, [4]);
  await note(cache, [6]);
  cache.clear();
  cache.ensureCapacity(2, 0);
  await cache.append(added(1, 2, 6), [2], 0);
  await note(cache, [2]);
  for (const segment of [whole, part]) segment.release();
  return states;
}

/** Performs the same operations on a cache on the host and on one on a device; returns the contents of both. */
export async function caches(): Promise<Record<'host' | 'device', number[][]>> {
  const sessions = new KvSessions(names, shape);
  const host = await exercise(new HostKvCache(shape, names));
  const device = await exercise(new DeviceKvCache(shape, names, sessions));
  await sessions.release();
  await memory.release();
  return { host, device };
}
