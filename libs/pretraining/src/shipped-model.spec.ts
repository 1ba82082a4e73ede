import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { jsonDialect } from '@ui-rl/actions';
import { loadModelFolder, type ModelFolder } from '@ui-rl/models';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import { projectRoot } from '@ui-rl/settings';

const dir = join(projectRoot, 'deploy/local/model');
let folder: ModelFolder;

beforeAll(async () => {
  folder = await loadModelFolder(dir);
});

test('the shipped model is a small folder of the Qwen3-VL family', () => {
  const bytes = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  expect(bytes).toBeLessThan(12_000_000);
  expect(folder.family.shape.modelType).toBe('qwen3_vl');
});

test('an answer is a handful of tokens, and so is every goal', async () => {
  const screenshot = { width: 160, height: 224 };
  const sizes = { screenshot, modelImage: folder.imageProcessor.shownSize(screenshot) };
  const length = (text: string) => folder.tokenizer.encode(text).length;
  expect(length(jsonDialect.format([{ action: 'click', x: 83, y: 41 }], sizes))).toBe(7);
  expect(length(jsonDialect.format([{ action: 'finish', success: true }], sizes))).toBe(3);
  const registry = await loadComponents();
  for (const sourceType of ['demo_training', 'demo_eval']) {
    for (const { description } of await loadTasks(registry, [{ source_type: sourceType }])) {
      const words = description.split(' ').length;
      const numbers = description.match(/ \d/g)?.length ?? 0;
      // A number is one token including its space.
      expect({ description, tokens: length(description) }).toEqual({ description, tokens: words + numbers });
    }
  }
});
