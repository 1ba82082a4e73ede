import { TaskOrder } from './task-order';

const tasks = ['a', 'b', 'c', 'd', 'e', 'f'];
const take = (order: TaskOrder<string>, from: number, count: number) =>
  Array.from({ length: count }, (_, index) => order.at(from + index));

describe('the order of tasks', () => {
  it('brings every task once per epoch', () => {
    const order = new TaskOrder(tasks, 3);
    for (const epoch of [0, 1, 2, 7]) expect(take(order, epoch * 6, 6).toSorted()).toEqual(tasks);
  });

  it('shuffles every epoch anew', () => {
    const order = new TaskOrder(tasks, 3);
    const epochs = Array.from({ length: 8 }, (_, epoch) => take(order, epoch * 6, 6).join(''));
    expect(new Set(epochs).size).toBeGreaterThan(5);
    expect(epochs).not.toEqual(epochs.map(() => tasks.join('')));
  });

  it('depends on the seed and the number of the group alone', () => {
    const whole = take(new TaskOrder(tasks, 1), 0, 20);
    expect(take(new TaskOrder(tasks, 1), 13, 7)).toEqual(whole.slice(13));
    expect(take(new TaskOrder(tasks, 2), 0, 20)).not.toEqual(whole);
  });

  it('gives the place of a task that is left out to the one that follows it', () => {
    const order = new TaskOrder(tasks, 3);
    const [first, second, third, fourth, fifth, last] = take(order, 0, 6);
    const without = (out: string) =>
      Array.from({ length: 6 }, (_, index) => order.at(index, (task) => task === out));
    expect(without(third)).toEqual([first, second, fourth, fourth, fifth, last]);
    expect(without(last)).toEqual([first, second, third, fourth, fifth, first]);
    expect(order.at(5, () => true)).toBe(last);
  });

  it('comes back to an earlier epoch', () => {
    const order = new TaskOrder(tasks, 5);
    const first = order.at(0);
    order.at(40);
    expect(order.at(0)).toBe(first);
  });
});
