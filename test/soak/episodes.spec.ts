import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { growths, type Occupied } from './play';

const ROOT = join(__dirname, '../..');
const STEADY: Occupied = {
  memory: 150,
  memoryOfOthers: 400,
  processes: 9,
  renderers: 4,
  openFiles: 300,
  files: 12,
};

/** A thousand episodes with twenty readings. */
function readings(change: (round: number) => Partial<Occupied>) {
  return Array.from({ length: 20 }, (_, round): [number, Occupied] => [
    50 * (round + 1),
    { ...STEADY, ...change(round) },
  ]);
}

function growing(change: (round: number) => Partial<Occupied>): string[] {
  const found = Object.entries(growths({ readings: readings(change) }));
  return found.filter(([, { grows }]) => grows).map(([name]) => name);
}

it('tells what grows from what goes up and down', () => {
  const saw = (round: number) => ((round * 37) % 40) - 20;
  expect(growing((round) => ({ memory: 150 + saw(round), files: 12 + (round % 3) }))).toEqual([]);
  expect(growing((round) => ({ memory: 150 + saw(round) / 4 + 2 * round }))).toEqual(['memory']);
  expect(growing((round) => ({ processes: 9 + Math.floor(round / 5), files: 12 + round }))).toEqual([
    'processes',
    'files',
  ]);
});

// In a separate process: all of its child processes and files are measured.
it.each(['browser', 'android'])('episodes played at random on %s leave nothing behind', async (name) => {
  const main = [join(ROOT, 'libs/testkit/run-ts.cjs'), join(__dirname, 'episodes.main.ts')];
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...main,
    ...[name, '--episodes', '20', '--steps', '3', '--at-once', '2'],
  ]);
  const [, episodes, actions] = /(\d+) episodes, (\d+) actions/.exec(stdout) ?? [];
  expect([Number(episodes), Number(actions) > 40]).toEqual([20, true]);
  expect(stdout).toMatch(/left behind: nothing/);
  expect(Number(/(\d+) × played/.exec(stdout)?.[1])).toBeGreaterThan(10);
});
