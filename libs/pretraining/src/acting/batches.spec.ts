import type { ModelFolder } from '@ui-rl/models';
import { tinyModel } from '../../test/tiny-model';
import { Answerer, answeringWeights } from '../answering/answerer';
import { LiveScreens } from '../supply/live-screens';
import { actBatch } from './batches';

let folder: ModelFolder;
let source: LiveScreens;

beforeAll(async () => {
  folder = await tinyModel();
  source = await LiveScreens.launch();
});
afterAll(() => source.close());

test('a batch has screens of tasks and of other pages, the same for the same step', async () => {
  const [first, again] = [
    await actBatch(source, folder, { seed: 3, step: 1, batch: 1 }),
    await actBatch(source, folder, { seed: 3, step: 1, batch: 1 }),
  ];
  expect(first.length).toBe(12);
  const answers = (batch: typeof first) =>
    batch.map(({ rows }) =>
      rows.map(({ targets, answer }) => folder.tokenizer.decode(Array.from(targets).slice(answer.first))),
    );
  expect(answers(again)).toEqual(answers(first));
  expect(first.map(({ rows }) => rows.length).slice(9, 11)).toEqual([3, 3]);
  const copies = answers(first).at(-1)!;
  expect(copies.length).toBeGreaterThan(8);
  for (const copy of copies) expect(copy).toMatch(/^\{"action":"type"/);
  for (const answer of answers(first).flat()) expect(answer).toMatch(/^\{"action":"\w+"/);
  const trained = await answeringWeights(folder);
  const answerer = new Answerer(folder, trained);
  const { total } = await answerer.accumulate(first, new Map());
  expect(total).toBeGreaterThan(1);
  await answerer.release();
}, 300_000);
