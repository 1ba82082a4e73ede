import type { SamplerReport } from '@ui-rl/contracts';
import { Processes, type SamplerProcess } from './processes';

const lost: string[] = [];
let processes: Processes;

beforeEach(() => {
  lost.length = 0;
  processes = new Processes(({ instance }) => void lost.push(instance));
});
afterEach(() => {
  jest.useRealTimers();
  processes.stop();
});

function report(instance: string, holds: string[], changes: Partial<SamplerReport> = {}): void {
  processes.note({ instance, host: 'here', device: 'cpu', rows: 4, holds, failed: [], ...changes });
}

const none: ReadonlySet<string> = new Set();

/** Starts a request for an answer, which stays in progress. */
function ask(weights: string, episode?: string, avoided = none): SamplerProcess | undefined {
  const found = processes.pick(weights, episode, avoided);
  if (found !== undefined) {
    found.inFlight += 1;
    found.taken += 1;
  }
  return found;
}

it('asks the least busy one for its size, of those that have the weights', () => {
  report('small', ['w1'], { rows: 2 });
  report('large', ['w1'], { rows: 6 });
  report('other', ['w2']);
  const asked = Array.from({ length: 8 }, () => ask('w1')!.instance);
  expect(asked.filter((name) => name === 'large')).toHaveLength(6);
  expect(asked.filter((name) => name === 'small')).toHaveLength(2);
  expect(ask('w3')).toBeUndefined();
});

it('keeps an episode where its prefix is, however busy, until the weights are others', () => {
  report('a', ['w1', 'w2']);
  report('b', ['w1', 'w2']);
  const home = ask('w1', 'episode')!;
  expect([ask('w1', 'episode'), ask('w1', 'episode')]).toEqual([home, home]);
  const next = ask('w2', 'episode')!;
  expect(next).not.toBe(home);
  expect(ask('w2', 'episode')).toBe(next);
});

it('goes elsewhere with an episode whose process has failed, and back to it where there is no other', () => {
  report('a', ['w1']);
  report('b', ['w1']);
  const home = ask('w1', 'episode')!;
  const other = ask('w1', 'episode', new Set([home.instance]))!;
  expect(other).not.toBe(home);
  processes.lose(other, 'is gone');
  expect(ask('w1', 'episode', new Set([home.instance]))).toBe(home);
  expect(lost).toEqual([other.instance]);
  expect(other.lost.reason).toMatchObject({ message: `sampler ${other.instance} on here is gone` });
});

it('leaves out who says nothing, unless this process could not listen', () => {
  jest.useFakeTimers({ doNotFake: ['nextTick'] });
  processes.stop();
  processes = new Processes(({ instance }) => void lost.push(instance));
  report('quiet', ['w1']);
  report('heard', ['w1']);
  for (let second = 0; second < 7; second += 1) {
    jest.advanceTimersByTime(1_000);
    processes.touch('heard');
  }
  expect(lost).toEqual(['quiet']);
  // As after a minute of suspension: the next checks are late, and only silence after that counts.
  const now = performance.now();
  const later = jest.spyOn(performance, 'now').mockImplementation(() => now + 60_000);
  jest.advanceTimersByTime(1_000);
  expect(lost).toEqual(['quiet']);
  later.mockRestore();
});

it('reports every change at once', () => {
  report('a', []);
  const before = processes.change;
  report('a', []);
  expect(before.aborted).toBe(false);
  report('a', ['w1']);
  expect(before.aborted).toBe(true);
  const loaded = processes.change;
  report('a', ['w1'], { failed: [{ digest: 'w2', message: 'no room' }] });
  expect(loaded.aborted).toBe(true);
});
