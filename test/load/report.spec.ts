import { plot } from './plot';
import { episodeMs, figuresOf, isOf, loadBetween, partOf, type Reading, type Setting, table } from './report';

const setting: Setting = {
  ...{ actors: 10, seconds: 10, slow: 'none' },
  ...{ answerMs: 1_000, trainMs: 500, openMs: 300, stepMs: 100, turns: 5, screenshotBytes: 20_000 },
};

function reading(at: number, changes: { memory?: number; waiting?: number } = {}): Reading {
  const { memory = 100, waiting = 0 } = changes;
  return {
    at,
    usage: { broker: { cpu: at / 2, memory }, learner: { cpu: at, memory } },
    broker: {
      counters: {
        ...{ inMessages: 1_000 * at, outMessages: 2_000 * at, inBytes: 5e6 * at, outBytes: 1e7 * at },
        ...{ connections: 10, slowConsumers: 0 },
      },
      streams: { TRAJECTORIES: { stored: 10 * at, messages: 10 * at, bytes: 20_000 * at } },
      lags: { 'TRAJECTORIES monitor-trajectories': { waiting, unacknowledged: 1, redelivered: 0 } },
    },
  };
}

const readings = [reading(0), reading(5, { memory: 150, waiting: 70 }), reading(10, { memory: 120 })];
const episodes = [1, 2, 3, 4].map((number) => ({
  status: number === 4 ? 'invalid' : 'completed',
  overheads: [number * 10],
}));

test('rates are those between the first and the last reading', () => {
  const figures = figuresOf(setting, readings, episodes);
  expect(figures).toMatchObject({
    ...{ measured: 10, episodes: 4, invalid: 1, trajectoriesPerSecond: 0.4 },
    messagesPerSecond: { in: 1_000, out: 2_000 },
    megabytesPerSecond: { in: 5, out: 10 },
    turnOverheadMs: { median: 20, p95: 30, most: 40 },
    cpu: { broker: 0.5, learner: 1 },
    memory: { learner: { begin: 100, most: 150, end: 120 } },
    waiting: { 'TRAJECTORIES monitor-trajectories': { begin: 0, most: 70, end: 0 } },
  });
  expect(episodeMs(setting)).toBe(300 + 5 * 1_100 + 50);
  expect(figures.idealPerSecond).toBeCloseTo(10 / 5.85);
});

test('the bare client sends as many messages and bytes as the fleet did', () => {
  const load = loadBetween(readings[0], readings[2]);
  // The reader of each stored message sends an acknowledgement.
  expect(load.stored).toEqual({ messages: 100, bytes: 200_000 });
  expect(load.passed).toEqual({ messages: 10_000 - 200, bytes: 5e7 - 200_000 });
  expect(partOf(load, 0.1).stored).toEqual({ messages: 10, bytes: 20_000 });
});

test('sizes are measured once by setting, and drawn by size', () => {
  const row = {
    ...figuresOf(setting, readings, episodes),
    ...{ commit: 'c', steps: 3, bare: null, recordedAfterSeconds: 1 },
  };
  expect(isOf(row, setting)).toBe(true);
  expect(isOf(row, { ...setting, slow: 'database' })).toBe(false);
  expect(isOf(row, { ...setting, actors: 100 })).toBe(false);
  const larger = { ...row, actors: 1_000, trajectoriesPerSecond: 40 };
  expect(table([row, larger])).toContain('| 1000 | 10 | 40.0 of 1.7 |');
  const drawn = plot([larger, row, { ...row, slow: 'learner', actors: 7 }]);
  expect(drawn).toContain('>1000</text>');
  expect(drawn).not.toContain('>7</text>');
});
