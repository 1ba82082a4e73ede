import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeRandomModel } from '@ui-rl/models';
import type { Datum, Engine, TrainedModel } from '@ui-rl/plugin-kit';
import { adapter, fixtures, scratchFolder, step, TestModel, train } from '../test/test-model';

/**
 * Most of the model consists of three such matrices in each of three layers: far more than the activations of a pass
 * over a few tokens.
 */
const SIZE = { hidden_size: 1024, intermediate_size: 4096 };
const FIXTURE = join(fixtures, 'qwen3-vl-a/model');
const scratch = scratchFolder('critic-memory');

const policy = adapter({ targets: 'attention' });
const critic: TrainedModel = { ...adapter({ targets: 'attention' }, 'critic'), role: 'critic' };

let model: TestModel;
let weightBytes: number;

beforeAll(async () => {
  const config = JSON.parse(readFileSync(join(FIXTURE, 'config.json'), 'utf8')) as Record<string, object>;
  const out = join(scratch, 'model');
  ({ weightBytes } = await writeRandomModel({
    config: {
      ...config,
      text_config: { ...config.text_config, ...SIZE },
      vision_config: { ...config.vision_config, out_hidden_size: SIZE.hidden_size },
    },
    ...{ out, source: FIXTURE, filesFrom: FIXTURE, tokenizerFrom: FIXTURE },
    ...{ seed: 1, dtype: 'F32', maxShardBytes: 2 ** 30 },
  }));
  model = await TestModel.in(out, []);
});
afterAll(() => model.stop());

/** Private, anonymous memory of this process in bytes. */
function privateBytes(): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  return 1024 * Number(/^RssAnon:\s+(\d+)/m.exec(status)![1]);
}

function lessons(): Datum[] {
  return [0, 1, 2].map((index) => model.datum(model.prompt(index, 0), [20, 30, 40]));
}

async function trainCritic(engine: Engine): Promise<void> {
  const data = lessons().map((datum) => {
    const length = datum.targetTokens.length;
    return { ...datum, lossInputs: { values: new Float32Array(length), returns: new Float32Array(length) } };
  });
  await engine.forward({ model: 'critic', data });
  await engine.forwardBackward({ model: 'critic', data, loss: { name: 'value' } });
  await step(engine, { model: 'critic' });
}

it('a critic is trained without another copy of the frozen weights', async () => {
  const engine = await model.start({ models: [policy, critic], threads: 1 });
  for (let round = 0; round < 2; round += 1) await train(engine, lessons());
  const before = privateBytes();
  for (let round = 0; round < 2; round += 1) await trainCritic(engine);
  const added = privateBytes() - before;
  expect(weightBytes).toBeGreaterThan(100e6);
  expect(added).toBeLessThan(weightBytes / 3);
});
