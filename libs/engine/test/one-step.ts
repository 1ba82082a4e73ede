// Child process of a spec: an engine scores a golden conversation and takes a training step; where it is to do everything, it takes
// another one, goes back to a checkpoint and answers several prompts at once. Results as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Device } from '@ui-rl/graph';
import type { Datum, Engine } from '@ui-rl/plugin-kit';
import { adapter, fixtures, type Prompt, scores, TestModel, train } from './test-model';

interface Golden {
  prompt_ids: number[];
  response_ids: number[];
}

async function main([fixture, device, gradientCheckpointing, scope, folder]: string[]): Promise<void> {
  const golden = JSON.parse(readFileSync(join(fixtures, fixture, 'expected.json'), 'utf8')) as Golden;
  const model = await TestModel.of(fixture, ['0.png', '1.png', '2.png']);
  const prompt = { tokenIds: golden.prompt_ids, images: [...model.images] };
  const data = [model.datum(prompt, golden.response_ids, 1 / golden.response_ids.length)];
  const engine = await model.start({
    device: device as Device,
    models: [adapter()],
    maxSequence: golden.prompt_ids.length + golden.response_ids.length + 8,
    gradientCheckpointing: gradientCheckpointing as 'on' | 'off',
  });
  const before = await scores(engine, data);
  const { loss, gradNorm } = await train(engine, data);
  const after = await scores(engine, data);
  const rest =
    scope === 'everything'
      ? await goOn(engine, model, prompt, data, join(folder, `checkpoint-${device}`))
      : {};
  await engine.stop();
  const result = { before, loss, gradNorm, after, ...rest };
  writeFileSync(join(folder, `${device}-${gradientCheckpointing}.json`), JSON.stringify(result));
}

async function goOn(engine: Engine, model: TestModel, prompt: Prompt, data: readonly Datum[], dir: string) {
  await engine.saveState({ model: 'policy', dir });
  await train(engine, data);
  const twice = await scores(engine, data);
  await engine.loadState({ model: 'policy', dir, optimizer: true });
  await train(engine, data);
  const again = await scores(engine, data);
  // Two samples of one prompt, a shorter prompt, and one more than there are rows.
  const texts = [
    [5, 6, 7],
    [8, 9],
  ].map((tokenIds) => ({ tokenIds, images: [] }));
  const answers = await Promise.all(
    [prompt, prompt, ...texts, prompt].map(async (each, index) => {
      const request = model.request(each, { maxTokens: 3 + index, temperature: 0 });
      return (await engine.sample(request)).tokens;
    }),
  );
  return { twice, again, answers };
}

void main(process.argv.slice(2));
