import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadFamily, loadModelFolder, saveModelFolder, type ModelFolder } from '../folder';
import { readSafetensors, writeSafetensors, type FloatTensor } from './safetensors';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
const HEAD = 'lm_head.weight';

type Json = Record<string, unknown>;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-head-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** The two positions of `tie_word_embeddings`; undefined if it is omitted. */
interface Flags {
  outer?: boolean | undefined;
  text?: boolean | undefined;
}

/** A copy of a model with these values in config.json. */
function copyOf(name: string, { outer, text }: Flags): void {
  cpSync(join(fixtures, name, 'model'), dir, { recursive: true });
  const file = join(dir, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as { text_config: Json } & Json;
  const parts: [Json, boolean | undefined][] = [
    [config, outer],
    [config.text_config, text],
  ];
  for (const [part, flag] of parts) {
    delete part.tie_word_embeddings;
    if (flag !== undefined) part.tie_word_embeddings = flag;
  }
  writeFileSync(file, JSON.stringify(config));
}

const outputOf = ({ family }: ModelFolder): string =>
  family.parameters().some(({ name }) => name === HEAD) ? 'own' : 'embeddings';

const saysTied: Flags[] = [{ outer: true }, { text: true }, { outer: false, text: true }];
const names = readdirSync(fixtures);
function isTied(name: string): boolean {
  const file = join(fixtures, name, 'model/config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as { text_config?: Json } & Json;
  return [config, config.text_config].some((part) => part?.tie_word_embeddings === true);
}
/** Families whose output layer is the embeddings unless config.json denies it. */
const tiedByDefault = ['gemma3-a', 'gemma3-b'];
const own = names.filter((name) => !isTied(name));
const tied = names.filter(isTied);

describe.each(own)('%s, whose files hold an output layer', (name) => {
  test.each([...saysTied, {}])('computes with it where config.json says %j', async (flags) => {
    copyOf(name, flags);
    const folder = await loadModelFolder(dir);
    expect(outputOf(folder)).toBe('own');
    const stored = await (await loadModelFolder(join(fixtures, name, 'model'))).weights.read(HEAD);
    expect(await folder.weights.read(HEAD)).toEqual(stored);
    expect((await loadFamily(dir)).parameters()).toEqual(folder.family.parameters());
  });
});

describe.each(tied)('%s, whose files hold none', (name) => {
  test.each(saysTied)('computes with the embeddings where config.json says %j', async (flags) => {
    copyOf(name, flags);
    expect(outputOf(await loadModelFolder(dir))).toBe('embeddings');
  });

  test.each([{ outer: false }, { outer: false, text: false }, ...(tiedByDefault.includes(name) ? [] : [{}])])(
    'is refused where config.json does not say that they are the output layer: %j',
    async (flags) => {
      copyOf(name, flags);
      await expect(loadModelFolder(dir)).rejects.toThrow(
        /lm_head\.weight" is missing; if .* set "tie_word_embeddings": true in config\.json/,
      );
    },
  );
});

test.each(tiedByDefault)(
  '%s: nothing is needed to say that the output layer is the embeddings',
  async (name) => {
    copyOf(name, {});
    expect(outputOf(await loadModelFolder(dir))).toBe('embeddings');
  },
);

test('an output layer in the files counts where config.json ties it by saying nothing', async () => {
  copyOf('gemma3-a', {});
  await rewriteHead((tensors, _, input) => {
    const { shape, data } = tensors.get(input)!;
    tensors.set(HEAD, { shape, data: data.map((value) => value + 1) });
  });
  expect(outputOf(await loadModelFolder(dir))).toBe('own');
});

const single = own.filter((name) => readdirSync(join(fixtures, name, 'model')).includes('model.safetensors'));

/** Moves the output layer of a single file to separate shards, or changes it. */
async function rewriteHead(change: (tensors: Map<string, FloatTensor>, head: string, input: string) => void) {
  const file = join(dir, 'model.safetensors');
  const tensors = await readSafetensors(file);
  const find = (end: string): string => [...tensors.keys()].find((name) => name.endsWith(end)) ?? '';
  change(tensors, find(HEAD), find('embed_tokens.weight'));
  await writeSafetensors(file, tensors);
}

test.each(single)(
  '%s: an output layer equal to the embeddings is tied, as config.json says',
  async (name) => {
    copyOf(name, { outer: true });
    await rewriteHead((tensors, head, input) => tensors.set(head, tensors.get(input)!));
    expect(outputOf(await loadModelFolder(dir))).toBe('embeddings');
  },
);

test.each(single)('%s: one different number makes it a separate layer', async (name) => {
  copyOf(name, { outer: true });
  await rewriteHead((tensors, head, input) => {
    const { shape, data } = tensors.get(input)!;
    const changed = data.slice();
    changed[changed.length - 1] += 1;
    tensors.set(head, { shape, data: changed });
  });
  expect(outputOf(await loadModelFolder(dir))).toBe('own');
});

test('an output layer in another shard counts', async () => {
  copyOf('qwen3-vl-b', { outer: true });
  const file = join(dir, 'model.safetensors.index.json');
  const index = JSON.parse(readFileSync(file, 'utf8')) as { weight_map: Record<string, string> };
  const shape = (await loadModelFolder(dir)).family.shape;
  const data = new Float32Array(shape.vocabSize * shape.hiddenSize).fill(0.5);
  const head = new Map([[HEAD, { shape: [shape.vocabSize, shape.hiddenSize], data }]]);
  await writeSafetensors(join(dir, 'model-head.safetensors'), head, { dtype: 'BF16' });
  index.weight_map[HEAD] = 'model-head.safetensors';
  writeFileSync(file, JSON.stringify(index));
  const folder = await loadModelFolder(dir);
  expect(outputOf(folder)).toBe('own');
  expect((await folder.weights.read(HEAD))[0]).toBe(0.5);
});

test('an output layer of another size than the embeddings is refused by name', async () => {
  copyOf('qwen2-5-vl-a', { outer: true });
  await rewriteHead((tensors, head) => tensors.set(head, { shape: [2, 2], data: new Float32Array(4) }));
  await expect(loadModelFolder(dir)).rejects.toThrow(/"lm_head\.weight" has shape \[2, 2\]/);
});

test('a saved model says that its output layer is its own', async () => {
  copyOf('qwen2-5-vl-a', { outer: true, text: true });
  const { family, weights } = await loadModelFolder(dir);
  const tensors = new Map<string, FloatTensor>();
  for (const { name, shape } of family.parameters())
    tensors.set(name, { shape, data: await weights.read(name) });
  const saved = join(dir, 'saved');
  await saveModelFolder(saved, { tensors, filesFrom: dir });
  const config = JSON.parse(readFileSync(join(saved, 'config.json'), 'utf8')) as Json & { text_config: Json };
  expect([config.tie_word_embeddings, config.text_config.tie_word_embeddings]).toEqual([false, false]);
  expect(outputOf(await loadModelFolder(saved))).toBe('own');
});
