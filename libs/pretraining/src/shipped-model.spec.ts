import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Action, jsonDialect } from '@ui-rl/actions';
import { loadModelFolder, type ModelFolder } from '@ui-rl/models';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import { projectRoot, readRunFile } from '@ui-rl/settings';

const dir = join(projectRoot, 'deploy/local/model');
const screenshot = { width: 160, height: 224 };
let folder: ModelFolder;

beforeAll(async () => {
  folder = await loadModelFolder(dir);
});

/** Tokens of a text, or of an action in the format that the model was trained on. */
function length(said: string | Action): number {
  const sizes = { screenshot, modelImage: folder.imageProcessor.shownSize(screenshot) };
  return folder.tokenizer.encode(typeof said === 'string' ? said : jsonDialect.format([said], sizes)).length;
}

test('the shipped model is a small folder of the Qwen3-VL family', () => {
  const bytes = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  expect(bytes).toBeLessThan(20_000_000);
  expect(folder.family.shape.modelType).toBe('qwen3_vl');
});

test('the ledger of its pre-training ends with its weights', () => {
  const last = readFileSync(join(projectRoot, 'libs/pretraining/ledger.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .at(-1)!;
  const weights = readFileSync(join(dir, 'model.safetensors'));
  expect(JSON.parse(last)).toMatchObject({
    stage: 'act',
    event: 'end',
    sha256: createHash('sha256').update(weights).digest('hex'),
  });
});

test('a screenshot of the phone is 140 tokens, seen at its own size', () => {
  expect(folder.imageProcessor.shownSize(screenshot)).toEqual(screenshot);
  expect(folder.imageProcessor.tokensOf(screenshot)).toBe(140);
});

test.each<[Action, number]>([
  [{ action: 'click', x: 83, y: 41 }, 3],
  [{ action: 'click', x: 511, y: 0 }, 3],
  [{ action: 'double_click', x: 159, y: 223 }, 3],
  [{ action: 'scroll', direction: 'down', amount: 3 }, 2],
  [{ action: 'type', text: 'milk' }, 6],
  [{ action: 'finish', success: true }, 1],
  [{ action: 'finish', success: false }, 1],
])('the answer %j is %i tokens', (action, tokens) => {
  expect(length(action)).toBe(tokens);
});

test('any text is spelled byte by byte, and every text that a goal of the quickstart quotes can be typed', async () => {
  const registry = await loadComponents();
  const { rollout, tasks, eval_tasks } = readRunFile(
    { file: join(projectRoot, 'deploy/config/quickstart.yaml') },
    registry,
  );
  const goals = (await loadTasks(registry, [...tasks, ...eval_tasks])).map(({ description }) => description);
  expect(goals.length).toBeGreaterThan(70);
  for (const text of [...goals, 'Grüße, 你好 42']) {
    expect({ text, tokens: length(text) }).toEqual({ text, tokens: Buffer.byteLength(text) });
    expect(folder.tokenizer.decode(folder.tokenizer.encode(text))).toBe(text);
  }
  const quoted = goals.flatMap((goal) => [...goal.matchAll(/"([^"]+)"/g)].map(([, text]) => text));
  expect(quoted.length).toBeGreaterThan(5);
  for (const text of quoted) {
    expect({ text, tokens: length({ action: 'type', text }) }).toEqual({
      text,
      tokens: Buffer.byteLength(text) + 2,
    });
    expect(Buffer.byteLength(text) + 2).toBeLessThan(rollout.max_tokens);
  }
});
