import type { SampleClass } from '@ui-rl/plugin-kit';
import { FairQueue, FairShares, SHARES } from './fair-queue';

interface Item {
  of: SampleClass;
  cost: number;
  id: number;
}

let next = 0;
const items = (of: SampleClass, count: number, cost = 1): Item[] =>
  Array.from({ length: count }, () => ({ of, cost, id: next++ }));

const makeQueue = (shares = new FairShares()): FairQueue<Item> =>
  new FairQueue(
    shares,
    ({ of }) => of,
    ({ cost }) => cost,
  );

function pushed(...all: Item[][]): FairQueue<Item> {
  const queue = makeQueue();
  for (const item of all.flat()) queue.push(item);
  return queue;
}

/** Each class's share of the cost of the first items. */
function shareOf(order: readonly Item[], of: SampleClass): number {
  const sum = (some: readonly Item[]): number => some.reduce((total, { cost }) => total + cost, 0);
  return sum(order.filter((item) => item.of === of)) / sum(order);
}

describe('the queue of the device', () => {
  it('is taken in the order it came, where there is one class', () => {
    const mine = items('training', 5);
    expect(pushed(mine).inOrder()).toEqual(mine);
  });

  it('is shared by weight, in any order and with requests of any size', () => {
    const many = pushed(items('training', 400), items('evaluation', 100, 3), items('outside', 400));
    const order = many.inOrder().slice(0, 200);
    const all = SHARES.training + SHARES.evaluation + SHARES.outside;
    for (const name of ['training', 'evaluation', 'outside'] as const) {
      expect(shareOf(order, name)).toBeCloseTo(SHARES[name] / all, 1);
    }
  });

  it('gives all to those that want something', () => {
    const order = pushed(items('outside', 10), items('evaluation', 10)).inOrder();
    expect(order).toHaveLength(20);
    expect(shareOf(order.slice(0, 10), 'outside')).toBeCloseTo(0.5, 1);
  });

  it('lets no class save up time while it has no requests', () => {
    const queue = makeQueue();
    const first = items('training', 100);
    first.forEach((item) => queue.push(item));
    queue.take(first);
    [...items('training', 100), ...items('evaluation', 100)].forEach((item) => queue.push(item));
    const order = queue.inOrder().slice(0, 30);
    expect(shareOf(order, 'training')).toBeGreaterThan(0.5);
    expect(shareOf(order, 'evaluation')).toBeGreaterThan(0.25);
  });

  it('takes out what is asked for, once', () => {
    const mine = items('training', 3);
    const queue = pushed(mine);
    expect(queue.remove(mine[1])).toBe(true);
    expect(queue.remove(mine[1])).toBe(false);
    queue.take([mine[0]]);
    expect(queue.length).toBe(1);
    expect(queue.clear()).toEqual([mine[2]]);
    expect(queue.inOrder()).toEqual([]);
  });
});
