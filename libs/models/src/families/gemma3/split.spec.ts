import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Session, zeros } from '@ui-rl/graph';
import { loadModelFolder, type ModelFolder } from '../../folder';
import type { ProcessedImage } from '../../image';
import { Parameters } from '../../nn/parameters';
import type { Feeds, SamplerForward } from '../base';

const fixtures = join(__dirname, '../../../../../test/golden/fixtures');
const session = { threads: 1, spinning: false };

/** A prompt of a fixture, the features of its images, and the sessions that read it. */
class Split {
  private constructor(
    readonly folder: ModelFolder,
    readonly tokenIds: readonly number[],
    private readonly images: readonly ProcessedImage[],
    private readonly features: Feeds,
    private readonly forward: SamplerForward,
    private readonly whole: Session,
    private readonly continuation: Session,
  ) {}

  static async of(name: string): Promise<Split> {
    const dir = join(fixtures, name);
    const folder = await loadModelFolder(join(dir, 'model'));
    const golden = JSON.parse(readFileSync(join(dir, 'expected.json'), 'utf8')) as {
      prompt_ids: number[];
      images: { file: string }[];
    };
    const { family, weights } = folder;
    await weights.holdAsFloat32();
    const images = await Promise.all(
      golden.images.map(({ file }) => folder.imageProcessor.process(readFileSync(join(dir, file)))),
    );
    const parameters = (): Parameters => new Parameters({ weights });
    const tower = await Session.create(
      family.buildForward({ kind: 'vision', parameters: parameters() }).graph,
      session,
    );
    const { feeds } = family.visionFeeds(images);
    const features = await tower.run(feeds);
    await tower.release();
    const build = (pass: 'prompt' | 'continuation'): SamplerForward =>
      family.buildForward({ kind: 'sampler', parameters: parameters(), pass, images: true });
    const forward = build('continuation');
    return new Split(
      folder,
      golden.prompt_ids,
      images,
      features,
      forward,
      await Session.create(build('prompt').graph, session),
      await Session.create(forward.graph, session),
    );
  }

  /** The places inside images. */
  get inside(): number[] {
    const { imageTokenId } = this.folder.family.shape;
    return this.tokenIds.flatMap((id, place) =>
      id === imageTokenId && this.tokenIds[place - 1] === imageTokenId ? [place] : [],
    );
  }

  /** Logits after the prompt, read in parts that end at these places and at its end. */
  async logits(...ends: number[]): Promise<Float32Array> {
    const { length } = this.tokenIds;
    const caches = this.caches(length);
    let cached = 0;
    let last: Feeds = {};
    for (const until of [...ends, length]) {
      last = await this.read(cached, until, caches);
      this.keep(last, caches, cached);
      cached = until;
    }
    return last.logits.data as Float32Array;
  }

  async release(): Promise<void> {
    await this.whole.release();
    await this.continuation.release();
  }

  private caches(capacity: number): Feeds {
    const { kvHeads, headDim } = this.folder.family.shape;
    const ports = this.forward.kv.flatMap(({ key, value }) => [key, value]);
    return Object.fromEntries(
      ports.map(({ past }) => [past, zeros('float32', [1, kvHeads, capacity, headDim])]),
    );
  }

  private async read(cached: number, until: number, caches: Feeds): Promise<Feeds> {
    const { family } = this.folder;
    const firstRows = family.visionFeeds(this.images).firstRows;
    const images = this.images.map((image, n) => ({ ...image, firstRow: firstRows[n] }));
    const row = { tokenIds: this.tokenIds, images, cached, until };
    const capacity = cached === 0 ? undefined : this.tokenIds.length;
    const feeds = family.prefillFeeds([row], this.features.image_features.dims[0], capacity);
    const past = cached === 0 ? {} : caches;
    return (cached === 0 ? this.whole : this.continuation).run({ ...feeds, ...this.features, ...past });
  }

  private keep(outputs: Feeds, caches: Feeds, cached: number): void {
    for (const { past, added } of this.forward.kv.flatMap(({ key, value }) => [key, value])) {
      const [, heads, count, width] = outputs[added].dims;
      const capacity = this.tokenIds.length;
      for (let head = 0; head < heads; head++) {
        const own = (outputs[added].data as Float32Array).subarray(
          head * count * width,
          (head + 1) * count * width,
        );
        (caches[past].data as Float32Array).set(own, (head * capacity + cached) * width);
      }
    }
  }
}

function largestGap(a: Float32Array, b: Float32Array): number {
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
}

describe.each(['gemma3-a', 'gemma3-b'])('a prompt of %s', (name) => {
  let split: Split;
  beforeAll(async () => (split = await Split.of(name)));
  afterAll(() => split.release());

  test('gives the same logits wherever it is split between two passes, outside images', async () => {
    const whole = await split.logits();
    const places = split.tokenIds.map((_, place) => place).slice(1);
    for (const place of places.filter((each) => !split.inside.includes(each))) {
      const gap = largestGap(await split.logits(place), whole);
      expect([place, gap < 1e-4]).toEqual([place, true]);
    }
  });

  test('is never read up to the middle of an image, or from there on', async () => {
    expect(split.inside.length).toBeGreaterThan(5);
    for (const place of split.inside) {
      await expect(split.logits(place)).rejects.toThrow(
        /row 0: tokens 0 to \d+ include a part of the image at tokens \d+ to \d+; expected all of it or none/,
      );
    }
  });

  test('gives the same logits in as many parts as there may be', async () => {
    const places = split.tokenIds.map((_, place) => place).slice(1);
    const all = places.filter((place) => !split.inside.includes(place));
    expect(largestGap(await split.logits(...all), await split.logits())).toBeLessThan(1e-4);
  });
});
