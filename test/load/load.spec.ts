import { measure } from './measure';
import { plot } from './plot';
import { type Reading, type Setting, table } from './report';

const setting: Setting = {
  ...{ actors: 4, seconds: 2, slow: 'none' },
  ...{ answerMs: 50, trainMs: 20, openMs: 20, stepMs: 20, turns: 2, screenshotBytes: 4_000 },
};

test('a small fleet plays, and the report says what it did', async () => {
  const readings: Reading[] = [];
  const row = await measure(setting, {
    onProgress: () => undefined,
    onReading: (reading) => readings.push(reading),
    bareSeconds: 0.2,
  });
  expect(row).toMatchObject({ ...setting, invalid: 0, redelivered: 0, slowConsumers: 0 });
  expect(row.episodes).toBeGreaterThan(3);
  expect(row.steps).toBeGreaterThan(0);
  expect(row.trajectoriesPerSecond).toBeCloseTo(row.episodes / row.measured);
  expect(row.trajectoriesPerSecond).toBeLessThan(row.idealPerSecond);
  // Each turn sends a screenshot to the actor and to the store.
  const shot = setting.screenshotBytes / 1e6;
  expect(row.megabytesPerSecond.in).toBeGreaterThan(row.trajectoriesPerSecond * setting.turns * 2 * shot);
  expect(row.turnOverheadMs.median).toBeGreaterThan(0);
  expect(row.turnOverheadMs.median).toBeLessThanOrEqual(row.turnOverheadMs.p95);
  for (const part of [
    'actors',
    'learner',
    'env',
    'monitor',
    'task-loader',
    'evaluator',
    'broker',
    'database',
  ]) {
    expect(row.memory[part].begin).toBeGreaterThan(0);
    expect(row.cpu[part]).toBeGreaterThanOrEqual(0);
  }
  expect(row.recordedAfterSeconds).not.toBeNull();
  expect(row.bare).toMatchObject({ seconds: expect.any(Number), messagesPerSecond: expect.any(Number) });
  expect(row.bare!.fleetMsPerThousand).toBeGreaterThan(0);
  expect(readings.at(-1)!.at).toBeGreaterThanOrEqual(setting.seconds);
  const measured = { ...row, commit: 'test' };
  expect(table([measured]).split('\n')).toHaveLength(3);
  expect(plot([measured])).toMatch(/^<svg[\s\S]*<circle[\s\S]*<\/svg>\n$/);
}, 180_000);
