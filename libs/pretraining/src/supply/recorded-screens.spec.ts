import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FIRST_HELD_OUT_SEED, type Screen } from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import type { TaskScreen } from '../acting/walks';
import { LiveScreens } from './live-screens';
import { ScreenRecorder } from './record';
import { RecordedScreens } from './recorded-screens';
import { VIEWPORT } from './source';

const dir = mkdtempSync(join(tmpdir(), 'recorded-screens-'));
const file = join(dir, 'screens.bin');
const WIDE = { width: 224, height: 160 };
let portrait: Screen[];
let wide: Screen[];
let walked: TaskScreen[];
let heldOut: TaskScreen[];

beforeAll(async () => {
  const live = await LiveScreens.launch();
  portrait = await live.bySeed([3, 4, FIRST_HELD_OUT_SEED]);
  wide = await live.bySeed([3], WIDE);
  const random = new Random(5);
  walked = [];
  for (let seed = 1; walked.length === 0; seed++) walked = await live.walk(random, { seed, viewport: WIDE });
  heldOut = walked.map(({ screen, questions }) => ({
    screen: { ...screen, seed: FIRST_HELD_OUT_SEED },
    questions,
  }));
  await live.close();
  const recorder = await ScreenRecorder.create(file);
  await recorder.add(portrait);
  await recorder.add(wide);
  await Promise.all([recorder.addTasks(walked), recorder.addTasks(heldOut)]);
  await recorder.close();
}, 60_000);
afterAll(() => rmSync(dir, { recursive: true }));

test('a record returns the same pixels and the same truth', async () => {
  const recorded = await RecordedScreens.open(file);
  expect(portrait[0].truth.characters.length).toBeGreaterThan(0);
  expect(await recorded.bySeed([4, FIRST_HELD_OUT_SEED, 3])).toEqual([portrait[1], portrait[2], portrait[0]]);
  expect(await recorded.bySeed([3], WIDE)).toEqual(wide);
});

test('a record returns tasks with their next actions, and never as other screens', async () => {
  const recorded = await RecordedScreens.open(file);
  for (const { questions } of walked) expect(questions[0].goal).toBe(walked[0].questions[0].goal);
  expect(walked.map(({ questions }) => questions[0].past!.length)).toEqual(walked.map((_, index) => index));
  const tasks = await recorded.tasks(new Random(1), 20, WIDE);
  for (const task of tasks) expect(walked).toContainEqual(task);
  expect(await recorded.heldOutTasks()).toEqual(heldOut);
  expect(await recorded.any(new Random(1), 5, WIDE)).toEqual(wide.concat(wide, wide, wide, wide));
  await expect(recorded.tasks(new Random(1), 1, VIEWPORT)).rejects.toThrow('no tasks on screens of 160×208');
});

test('a screen that is not in the record is an error', async () => {
  const recorded = await RecordedScreens.open(file);
  await expect(recorded.bySeed([3, 5])).rejects.toThrow(`${file} lacks the screen of seed 5, 160×208`);
  await expect(recorded.bySeed([4], WIDE)).rejects.toThrow('lacks the screen of seed 4, 224×160');
  const tall = { width: 160, height: 224 };
  await expect(recorded.any(new Random(1), 1, tall)).rejects.toThrow('no training screens of 160×224');
});

test('random screens have the requested size, and are never held out', async () => {
  const recorded = await RecordedScreens.open(file);
  const seedsOf = (screens: Screen[]) => new Set(screens.map(({ seed, width }) => `${seed} ${width}`));
  expect(seedsOf(await recorded.any(new Random(1), 30, VIEWPORT))).toEqual(new Set(['3 160', '4 160']));
  expect(seedsOf(await recorded.any(new Random(1), 30))).toEqual(new Set(['3 160', '4 160', '3 224']));
  expect(await recorded.any(new Random(2), 5)).toEqual(await recorded.any(new Random(2), 5));
});

test('an incomplete record is an error', async () => {
  const cut = join(dir, 'cut.bin');
  writeFileSync(cut, readFileSync(file).subarray(0, -1));
  await expect(RecordedScreens.open(cut)).rejects.toThrow(
    `cut.bin ends within screen ${4 + 2 * walked.length}`,
  );
  writeFileSync(cut, 'something else');
  await expect(RecordedScreens.open(cut)).rejects.toThrow('is not a record of screens');
});
