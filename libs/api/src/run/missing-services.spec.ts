import type { RunEvent } from '@ui-rl/contracts';
import { missingServices } from './missing-services';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const NATS = { service: 'cli', servers: ['nats://me:secret@broker:4222'] };
const event = (type: string) => ({ type }) as RunEvent;

function watched(act: (watch: ReturnType<typeof missingServices>) => void): string[] {
  const warnings: string[] = [];
  const watch = missingServices(NATS, (message) => warnings.push(message), 10_000);
  act(watch);
  jest.advanceTimersByTime(60_000);
  return warnings;
}

test('reports once that no service takes a run, with the command that starts services at its broker', () => {
  expect(watched(() => undefined)).toEqual([
    'no service has taken up the run after 10 s; start them: NATS_URL=nats://broker:4222 npx ui-rl up',
  ]);
  expect(watched((watch) => watch.onEvent(event('phase')))).toHaveLength(1);
});

test('reports nothing of a run that a service has taken, or that is followed no more', () => {
  expect(watched((watch) => watch.onEvent(event('service_ready')))).toEqual([]);
  expect(watched((watch) => watch.stop())).toEqual([]);
});
