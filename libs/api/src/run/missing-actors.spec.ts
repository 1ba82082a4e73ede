import type { RunEvent } from '@ui-rl/contracts';
import { missingActors } from './missing-actors';

const ready = (service: string, instance: string) =>
  ({ type: 'service_ready', service, instance }) as RunEvent;
const STEP = { type: 'train_step' } as RunEvent;

function warningsOf(wanted: number, ...events: RunEvent[]): string[] {
  const warnings: string[] = [];
  const watch = missingActors(wanted, (message) => warnings.push(message));
  events.forEach(watch);
  return warnings;
}

test('reports once that a run has fewer actors than it wants, when it trains', () => {
  const two = [ready('actor', 'a'), ready('env', 'b'), ready('actor', 'c'), ready('actor', 'a')];
  expect(warningsOf(3, ...two)).toEqual([]);
  expect(warningsOf(3, ...two, STEP, STEP)).toEqual([
    'num_actors is 3, and 2 serve this run: start more, on one machine by ui-rl up --actors 3',
  ]);
  expect(warningsOf(2, ...two, STEP)).toEqual([]);
});
