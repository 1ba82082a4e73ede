import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadFamily, loadImageProcessor, type ImageProcessor } from '@ui-rl/models';
import { ImageStore } from './image-store';

/** A model that shows an image alone otherwise than several. */
const golden = join(__dirname, '../../../test/golden/fixtures/llava-onevision-c');
const pngs = ['0.png', '1.png'].map((name) => readFileSync(join(golden, 'images', name)));
const hashes = pngs.map((png) => createHash('sha256').update(png).digest('hex'));

let processor: ImageProcessor;
let fetched: string[];

beforeAll(async () => {
  const dir = join(golden, 'model');
  processor = await loadImageProcessor(dir, await loadFamily(dir));
});

beforeEach(() => {
  fetched = [];
});

function newStore(bytes = 2 ** 30): ImageStore {
  const fetchImage = async (sha256: string): Promise<Uint8Array | null> => {
    fetched.push(sha256);
    return pngs[hashes.indexOf(sha256)] ?? null;
  };
  return new ImageStore(processor, fetchImage, bytes);
}

describe('the images of a prompt', () => {
  it('come back in the form in which it showed them, without being fetched', async () => {
    const store = newStore();
    const [first, second] = await Promise.all(pngs.map((png) => processor.process(png)));
    const alone = store.keep(first);
    const together = [first, second].map((image) => store.keep(image.amongOthers!));
    expect(await store.ofPrompt([hashes[0]])).toEqual([alone]);
    expect(await store.ofPrompt(hashes)).toEqual(together);
    expect(alone.tokens).not.toBe(together[0].tokens);
    expect(fetched).toEqual([]);
  });

  it('are prepared again where they were forgotten, in the same form', async () => {
    const [one] = await newStore().ofPrompt([hashes[1]]);
    const several = await newStore().ofPrompt(hashes);
    expect(fetched).toEqual([hashes[1], ...hashes]);
    expect(one.key).toBe(processor.keyOf(hashes[1], 1));
    expect(several.map(({ key }) => key)).toEqual(hashes.map((sha256) => processor.keyOf(sha256, 2)));
    expect(several[1].tokens).not.toBe(one.tokens);
  });

  it('lie in shared memory, the least recently used out first', async () => {
    const image = await processor.process(pngs[0]);
    const store = newStore(1);
    expect(store.keep(image).patches.buffer).toBeInstanceOf(SharedArrayBuffer);
    store.keep(await processor.process(pngs[1]));
    await store.ofPrompt([hashes[0]]);
    expect(fetched).toEqual([hashes[0]]);
  });

  it('are refused where nobody has one', async () => {
    await expect(newStore().ofPrompt(['0'.repeat(64)])).rejects.toThrow(/neither in memory nor among/);
  });
});
