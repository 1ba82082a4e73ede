import { orderOf, TaskOrder, WeightedOrder } from './task-order';

const COUNT = 6;
type Order = Pick<TaskOrder, 'at'>;
const take = (order: Order, from: number, count: number) =>
  Array.from({ length: count }, (_, index) => order.at(from + index));
const sorted = (places: number[]) => places.toSorted((a, b) => a - b);
const all = (count: number) => Array.from({ length: count }, (_, place) => place);

describe('the order of tasks', () => {
  it('brings every task once per epoch', () => {
    const order = new TaskOrder(COUNT, 3);
    for (const epoch of [0, 1, 2, 7]) expect(sorted(take(order, epoch * COUNT, COUNT))).toEqual(all(COUNT));
  });

  it('shuffles every epoch anew', () => {
    const order = new TaskOrder(COUNT, 3);
    const epochs = Array.from({ length: 8 }, (_, epoch) => take(order, epoch * COUNT, COUNT).join(''));
    expect(new Set(epochs).size).toBeGreaterThan(5);
    expect(epochs).not.toEqual(epochs.map(() => all(COUNT).join('')));
  });

  it('depends on the seed and the number of the group alone', () => {
    const whole = take(new TaskOrder(COUNT, 1), 0, 20);
    expect(take(new TaskOrder(COUNT, 1), 13, 7)).toEqual(whole.slice(13));
    expect(take(new TaskOrder(COUNT, 2), 0, 20)).not.toEqual(whole);
    // Repeated runs with the same seed depend on it.
    expect(take(new TaskOrder(COUNT, 3), 0, COUNT)).toEqual([3, 2, 0, 1, 5, 4]);
  });

  it('gives the place of a task that is left out to the one that follows it', () => {
    const order = new TaskOrder(COUNT, 3);
    const [first, second, third, fourth, fifth, last] = take(order, 0, COUNT);
    const without = (out: number) => all(COUNT).map((index) => order.at(index, (place) => place === out));
    expect(without(third)).toEqual([first, second, fourth, fourth, fifth, last]);
    expect(without(last)).toEqual([first, second, third, fourth, fifth, first]);
    expect(order.at(5, () => true)).toBe(last);
  });

  it('comes back to an earlier epoch', () => {
    const order = new TaskOrder(COUNT, 5);
    const first = order.at(0);
    order.at(40);
    expect(order.at(0)).toBe(first);
  });

  it('is computed place by place where there are many', () => {
    const count = 12_345;
    const order = new TaskOrder(count, 7);
    const epoch = take(order, 0, count);
    expect(sorted(epoch)).toEqual(all(count));
    expect(take(order, count, 50)).not.toEqual(epoch.slice(0, 50));
    // Spread out: neither the file's order nor a contiguous part of it.
    const steps = epoch.slice(1, 1000).map((place, index) => Math.abs(place - epoch[index]));
    expect(steps.reduce((sum, step) => sum + step, 0) / steps.length / count).toBeCloseTo(1 / 3, 1);
    const million = new TaskOrder(1_000_000, 7);
    expect(new Set(take(million, 999_000, 1000)).size).toBe(1000);
  });
});

describe('the order of sources with weights', () => {
  const part = (first: number, length: number, weight?: number) => ({
    sourceType: 's',
    first,
    length,
    weight,
  });

  it('gives each its share of every stretch of groups, and each of its tasks the same share', () => {
    const order = orderOf([part(0, 4, 3), part(4, 2), part(6, 0, 5)], 9);
    expect(order).toBeInstanceOf(WeightedOrder);
    const places = take(order, 0, 400);
    for (const from of [0, 100, 200, 300]) {
      const share = places.slice(from, from + 100).filter((place) => place < 4).length;
      expect(Math.abs(share - 75)).toBeLessThanOrEqual(2);
    }
    const counts = all(6).map((place) => places.filter((each) => each === place).length);
    for (const place of [0, 1, 2, 3]) expect(Math.abs(counts[place] - 75)).toBeLessThanOrEqual(1);
    for (const place of [4, 5]) expect(Math.abs(counts[place] - 50)).toBeLessThanOrEqual(1);
  });

  it('gives the place of a source of which every task is left out to the others', () => {
    const parts = [part(0, 2, 6), part(2, 2, 1), part(4, 3, 1)];
    const order = orderOf(parts, 9);
    const whole = take(order, 0, 400);
    const without = all(400).map((index) => order.at(index, (place) => place < 2));
    expect(without.filter((place) => place < 2)).toEqual([]);
    // Groups of the others are unchanged, and the free ones are shared among their tasks.
    without.forEach((place, index) => expect(whole[index] < 2 || whole[index] === place).toBe(true));
    const counts = [2, 3, 4, 5, 6].map((place) => without.filter((each) => each === place).length);
    expect(Math.min(...counts)).toBeGreaterThan(400 / 5 / 2);
    // If nothing is left, the order is unchanged.
    expect(all(20).map((index) => order.at(index, () => true))).toEqual(whole.slice(0, 20));
  });

  it('depends on the number of the group alone', () => {
    const parts = [part(0, 5, 2), part(5, 5, 1)];
    const whole = take(orderOf(parts, 4), 0, 60);
    const order = orderOf(parts, 4);
    expect([59, 3, 30].map((index) => order.at(index))).toEqual([59, 3, 30].map((index) => whole[index]));
  });
});
