import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { ParquetEpisodeWriter } from './parquet-writer';

let dir: string;
beforeAll(async () => void (dir = await mkdtemp(join(tmpdir(), 'parquet-'))));
afterAll(() => rm(dir, { recursive: true }));

const HASH = 'ab'.repeat(32);
const turn = makeTurn({
  text: '{"action":"type","text":"größer"}',
  actions: [{ action: 'type', text: 'größer' }],
  screenshot: HASH,
  promptImages: [HASH],
  promptTokenIds: [5, 70_000, 9],
  tokenIds: [3, 4],
  logprobs: [-0.5, -0.25],
});
const textOnly = makeTurn({
  index: 1,
  screenshot: HASH,
  promptImages: [],
  screenText: 'Wi-Fi: on',
  outcome: 'typed',
});
const success = makeTrajectory({
  request: makeRollout({ rolloutId: 'a', task: makeTask({ id: 'wifi', description: 'Turn on Wi-Fi' }) }),
  turns: [turn, textOnly],
  success: true,
  reward: 0.5,
});
const unknown = makeTrajectory({
  request: makeRollout({ rolloutId: 'b' }),
  turns: [turn],
  success: undefined,
});

async function written(episodes: readonly (typeof success)[], png: Uint8Array): Promise<Buffer> {
  const out = join(dir, `${episodes.length}-${png.length}.parquet`);
  const writer = await ParquetEpisodeWriter.create(out, () => Promise.resolve(png));
  for (const episode of episodes) await writer.write(episode);
  await writer.finish();
  const bytes = await readFile(out);
  expect(writer.bytes).toBe(bytes.length);
  return bytes;
}

const bufferOf = (bytes: Buffer) => new Uint8Array(bytes).buffer;

it('writes a row per turn', async () => {
  const png = Uint8Array.from([137, 80, 78, 71, 0, 255]);
  const file = bufferOf(await written([success, unknown], png));
  const rows = await parquetReadObjects({ file, utf8: false });
  expect(rows).toHaveLength(3);
  expect(rows[0]).toMatchObject({
    ...{ rollout_id: 'a', task: 'wifi', goal: 'Turn on Wi-Fi', status: 'completed', success: true },
    ...{ reward: 0.5, turn: 0, turns: 2, answer: turn.text, outcome: 'ok', screen_text: null },
    ...{ prompt_token_ids: [5, 70_000, 9], token_ids: [3, 4], logprobs: [-0.5, -0.25] },
    screenshot: { bytes: png, path: `${HASH}.png` },
  });
  expect(rows[1]).toMatchObject({
    ...{ turn: 1, screen_text: 'Wi-Fi: on', outcome: 'typed' },
  });
  expect(rows[1].screenshot ?? null).toBeNull();
  expect(rows[2]).toMatchObject({ rollout_id: 'b', success: null });
  expect(JSON.parse(rows[0].actions as string)).toEqual(turn.actions);
});

it('describes its columns to Hugging Face datasets', async () => {
  const { key_value_metadata: pairs, schema } = parquetMetadata(
    bufferOf(await written([success], new Uint8Array(3))),
  );
  const { info } = JSON.parse(pairs!.find(({ key }) => key === 'huggingface')!.value!) as {
    info: { features: Record<string, object> };
  };
  expect(info.features.screenshot).toEqual({ _type: 'Image' });
  const { num_children: columns } = schema[0];
  expect(Object.keys(info.features)).toHaveLength(columns!);
});

it('begins a row group before screenshots of many episodes fill the memory', async () => {
  const png = new Uint8Array(9 * 2 ** 20).fill(7);
  const { row_groups: groups } = parquetMetadata(bufferOf(await written(Array(6).fill(unknown), png)));
  expect(groups.map(({ num_rows: rows }) => Number(rows))).toEqual([4, 2]);
});

it('leaves no file if it is discarded', async () => {
  const before = await readdir(dir);
  const writer = await ParquetEpisodeWriter.create(join(dir, 'never.parquet'), () =>
    Promise.resolve(new Uint8Array(1)),
  );
  await writer.write(success);
  await writer.discard();
  expect(await readdir(dir)).toEqual(before);
});
