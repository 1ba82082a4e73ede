import type { ModelFolder } from '@ui-rl/models';
import { PageRenderer } from '@ui-rl/page-generator';
import { tinyModel } from '../../test/tiny-model';
import { Answerer, answeringWeights } from '../answering/answerer';
import { actBatch } from './batches';

let folder: ModelFolder;
let renderer: PageRenderer;

beforeAll(async () => {
  folder = await tinyModel();
  renderer = await PageRenderer.launch();
});
afterAll(() => renderer.close());

test('a batch shows screens of tasks with their next actions, the same for the same step', async () => {
  const [first, again] = [
    await actBatch(renderer, folder, { seed: 3, step: 1, batch: 1 }),
    await actBatch(renderer, folder, { seed: 3, step: 1, batch: 1 }),
  ];
  expect(first.length).toBe(8);
  const answers = (batch: typeof first) =>
    batch.map(({ rows }) =>
      rows.map(({ targets, answer }) => folder.tokenizer.decode(Array.from(targets).slice(answer.first))),
    );
  expect(answers(again)).toEqual(answers(first));
  for (const [answer] of answers(first)) expect(answer).toMatch(/^\{"action":"\w+"/);
  const trained = await answeringWeights(folder, 'trained');
  const answerer = new Answerer(folder, trained, 'trained');
  const { total } = await answerer.accumulate(first, new Map());
  expect(total).toBeGreaterThan(1);
  await answerer.release();
}, 300_000);
