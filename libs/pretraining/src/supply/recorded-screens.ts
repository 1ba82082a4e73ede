import { readFile } from 'node:fs/promises';
import { FIRST_HELD_OUT_SEED, type Screen, type Viewport } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import type { TaskScreen } from '../acting/walks';
import { decodeScreen, decodeTask, type RecordedScreen, recordedScreens } from './record';
import { type ScreenSource, VIEWPORT } from './source';

type BySize = ReadonlyMap<string, readonly RecordedScreen[]>;

/** Screens of a record. Each is decoded when it is first needed, and then kept. */
export class RecordedScreens implements ScreenSource {
  private readonly byKey = new Map<string, RecordedScreen>();
  private readonly training: readonly RecordedScreen[];
  private readonly trainingBySize: BySize;
  private readonly tasksBySize: BySize;
  private readonly heldOut: readonly RecordedScreen[];
  private readonly decoded = new Map<RecordedScreen, Promise<Screen>>();

  private constructor(
    private readonly file: string,
    recorded: readonly RecordedScreen[],
  ) {
    const tasks = recorded.filter(hasTasks);
    for (const each of recorded) if (!hasTasks(each)) this.byKey.set(`${each.seed} ${sizeOf(each)}`, each);
    this.training = [...this.byKey.values()].filter(isForTraining);
    this.trainingBySize = bySize(this.training);
    this.tasksBySize = bySize(tasks.filter(isForTraining));
    this.heldOut = tasks.filter((each) => !isForTraining(each));
  }

  /** Throws if the file is not a complete record. */
  static async open(file: string): Promise<RecordedScreens> {
    return new RecordedScreens(file, recordedScreens(await readFile(file), file));
  }

  /** Throws if a screen is not in the record. */
  async bySeed(seeds: readonly number[], viewport: Viewport = VIEWPORT): Promise<Screen[]> {
    const size = sizeOf(viewport);
    return Promise.all(
      seeds.map((seed) => {
        const found = this.byKey.get(`${seed} ${size}`);
        if (found !== undefined) return this.decode(found);
        throw new Error(`${this.file} lacks the screen of seed ${seed}, ${size}: record screens again`);
      }),
    );
  }

  /** Throws if the record has no training screen of that size. */
  async any(random: Random, count: number, viewport?: Viewport): Promise<Screen[]> {
    const suitable =
      viewport === undefined ? this.training : (this.trainingBySize.get(sizeOf(viewport)) ?? []);
    if (suitable.length === 0) throw this.lacks('training screens', viewport);
    return Promise.all(Array.from({ length: count }, () => this.decode(random.pick(suitable))));
  }

  /** Throws if the record has no tasks on screens of that size. */
  async tasks(random: Random, count: number, viewport: Viewport): Promise<TaskScreen[]> {
    const suitable = this.tasksBySize.get(sizeOf(viewport)) ?? [];
    if (suitable.length === 0) throw this.lacks('tasks on screens', viewport);
    return Promise.all(Array.from({ length: count }, () => decodeTask(random.pick(suitable))));
  }

  /** Throws if the record has no held-out tasks. */
  async heldOutTasks(): Promise<TaskScreen[]> {
    if (this.heldOut.length === 0) throw this.lacks('held-out tasks');
    return Promise.all(this.heldOut.map(decodeTask));
  }

  async close(): Promise<void> {
    this.decoded.clear();
  }

  private lacks(what: string, viewport?: Viewport): Error {
    const size = viewport === undefined ? '' : ` of ${sizeOf(viewport)}`;
    return new Error(`${this.file} has no ${what}${size}: record more`);
  }

  private decode(recorded: RecordedScreen): Promise<Screen> {
    const screen = this.decoded.get(recorded) ?? decodeScreen(recorded);
    this.decoded.set(recorded, screen);
    return screen;
  }
}

function hasTasks({ questions }: RecordedScreen): boolean {
  return questions.length > 0;
}

function isForTraining({ seed }: RecordedScreen): boolean {
  return seed < FIRST_HELD_OUT_SEED;
}

function bySize(screens: readonly RecordedScreen[]): BySize {
  const groups = new Map<string, RecordedScreen[]>();
  for (const each of screens) {
    const group = groups.get(sizeOf(each));
    if (group === undefined) groups.set(sizeOf(each), [each]);
    else group.push(each);
  }
  return groups;
}

function sizeOf({ width, height }: Viewport): string {
  return `${width}×${height}`;
}
