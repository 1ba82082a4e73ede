import { readFile } from 'node:fs/promises';
import type { Screen, Viewport } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import { FIRST_HELD_OUT_SEED } from '../curriculum';
import { decodeScreen, type RecordedScreen, recordedScreens } from './record';
import { type ScreenSource, VIEWPORT } from './source';

/** Screens of a record. Each is decoded when it is first needed, and then kept. */
export class RecordedScreens implements ScreenSource {
  private readonly byKey = new Map<string, RecordedScreen>();
  private readonly training: RecordedScreen[];
  private readonly trainingBySize = new Map<string, RecordedScreen[]>();
  private readonly decoded = new Map<RecordedScreen, Promise<Screen>>();

  private constructor(
    private readonly file: string,
    recorded: readonly RecordedScreen[],
  ) {
    for (const each of recorded) this.byKey.set(`${each.seed} ${sizeOf(each)}`, each);
    this.training = [...this.byKey.values()].filter(({ seed }) => seed < FIRST_HELD_OUT_SEED);
    for (const each of this.training) {
      const size = sizeOf(each);
      this.trainingBySize.set(size, [...(this.trainingBySize.get(size) ?? []), each]);
    }
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
    const suitable = viewport === undefined ? this.training : this.trainingBySize.get(sizeOf(viewport));
    if (suitable === undefined || suitable.length === 0) {
      const size = viewport === undefined ? '' : ` of ${sizeOf(viewport)}`;
      throw new Error(`${this.file} has no training screens${size}: record more screens`);
    }
    return Promise.all(Array.from({ length: count }, () => this.decode(random.pick(suitable))));
  }

  async close(): Promise<void> {
    this.decoded.clear();
  }

  private decode(recorded: RecordedScreen): Promise<Screen> {
    const screen = this.decoded.get(recorded) ?? decodeScreen(recorded);
    this.decoded.set(recorded, screen);
    return screen;
  }
}

function sizeOf({ width, height }: Viewport): string {
  return `${width}×${height}`;
}
